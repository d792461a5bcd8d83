package wire

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"millrace/internal/sqlerr"
)

func TestShutdownWaitsForRunningStatements(t *testing.T) {
	s := start(t, nil)
	busy, idle := login(t, s, 0), login(t, s, 0)
	busy.command(comQuery, "work")
	<-s.fake.waiting
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }()
	eventually(t, "draining", s.isDraining)
	idle.command(comQuery, "ok")
	idle.wantErr(1053, "08S01")
	idle.wantEnd()
	select {
	case err := <-done:
		t.Fatalf("ended before the statement: %v", err)
	default:
	}
	if _, err := net.Dial("tcp", s.addr); err == nil {
		t.Error("still listening")
	}
	close(s.fake.release)
	busy.wantOK()
	busy.wantEnd()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Errorf("second call: %v", err)
	}
}

func TestShutdownCancelsAtTheEnd(t *testing.T) {
	s := start(t, nil)
	working, sending, idle := login(t, s, 0), login(t, s, 0), login(t, s, 0)
	working.command(comQuery, "work")
	<-s.fake.waiting
	sending.command(comQuery, "wait")
	sending.columns(2)
	<-s.fake.waiting
	unfinished := connect(t, s)
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("enough")
	cancel(cause)
	if err := s.Shutdown(ctx); err != cause {
		t.Error(err)
	}
	for range 2 {
		if cause := <-s.fake.causes; cause != ErrShutdown {
			t.Error(cause)
		}
	}
	working.wantErr(1053, "08S01")
	sending.wantErr(1053, "08S01")
	for _, r := range []*raw{working, sending, idle, unfinished} {
		r.wantEnd()
	}
	if n := s.fake.closed; n != 3 {
		t.Errorf("%d sessions closed", n)
	}
}

func TestShutdownDoesNotWaitForClientsThatDoNotRead(t *testing.T) {
	s := start(t, func(c *Config) { c.WriteTimeout = time.Hour })
	r := login(t, s, 0)
	r.command(comQuery, "endless")
	eventually(t, "a full socket", func() bool { return stuck(s) })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	began := time.Now()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

// stuck reports whether a connection holds its writer's lock, in two looks one after the other: it waits for its client.
func stuck(s *testServer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		for range 20 {
			if c.w.mu.TryLock() {
				c.w.mu.Unlock()
				return false
			}
			time.Sleep(time.Millisecond)
		}
	}
	return true
}

func TestServeAfterShutdown(t *testing.T) {
	s := NewServer(Config{})
	if err := s.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(l); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("listener still open")
	}
}

func TestServeEndsWithTheErrorOfItsListener(t *testing.T) {
	s := NewServer(Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := s.Serve(l); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

func TestKillEndsConnectionAndStatement(t *testing.T) {
	s := start(t, nil)
	for _, statement := range []string{"wait", "work"} {
		r := login(t, s, 0)
		r.command(comQuery, statement)
		<-s.fake.waiting
		if !s.Kill(r.id) {
			t.Fatal("not found")
		}
		if cause := <-s.fake.causes; cause != ErrKilled {
			t.Error(cause)
		}
		drain(r.nc)
		eventually(t, "gone", func() bool { return !s.Kill(r.id) })
	}
	idle := login(t, s, 0)
	s.Kill(idle.id)
	idle.wantEnd()
}

func TestIdleConnectionsEnd(t *testing.T) {
	s := start(t, func(c *Config) { c.IdleTimeout = 100 * time.Millisecond })
	r := login(t, s, 0)
	r.command(comQuery, "work") // running is not idle
	<-s.fake.waiting
	began := time.Now()
	eventually(t, "idle time over", func() bool { return time.Since(began) > 200*time.Millisecond })
	s.fake.release <- struct{}{}
	r.wantOK()
	r.wantEnd()
}

func TestSlowReadersAreCutOff(t *testing.T) {
	s := start(t, func(c *Config) { c.WriteTimeout = 100 * time.Millisecond })
	r := login(t, s, 0)
	r.command(comQuery, "endless")
	if cause := <-s.fake.causes; cause != ErrClientGone {
		t.Error(cause)
	}
	eventually(t, "connection ended", func() bool { return len(s.Conns()) == 0 })
}

func TestErrorsOfEndedStatements(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	if e := errorFor(ctx, context.Canceled); e.Kind != sqlerr.Interrupted {
		t.Error(e)
	}
	if e := errorFor(ctx, errors.New("x")); e.Kind != sqlerr.Unexpected || e.Error() != "x" {
		t.Error(e)
	}
	cancel(ErrShutdown)
	if e := errorFor(ctx, errors.New("broken pipe")); e.Kind != sqlerr.ServerGone {
		t.Error(e)
	}
	if e := errorFor(ctx, sqlerr.New(sqlerr.Timeout, "x")); e.Kind != sqlerr.Timeout {
		t.Error(e)
	}
}
