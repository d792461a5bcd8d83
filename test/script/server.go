package script

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"millrace/server"
)

// Server is a server in the process of the test, which ends with the test.
type Server struct {
	Addr, HTTP string
	// Stop drains the server and waits for its end. The end of the test calls it as well.
	Stop func() error
}

// StartServer starts a server on free ports; change may change its settings.
func StartServer(t testing.TB, change ...func(*server.Config)) *Server {
	t.Helper()
	s := &Server{}
	ready := make(chan struct{})
	cfg := server.Config{Listen: "127.0.0.1:0", HTTP: "127.0.0.1:0", DataDir: t.TempDir(), MemoryLimit: "1GiB", DrainTimeout: 10 * time.Second}
	for _, c := range change {
		c(&cfg)
	}
	cfg.Announce = func(name, address string) {
		switch name {
		case "mysql":
			s.Addr = address
		case "http":
			s.HTTP = address
		}
		if s.Addr != "" && s.HTTP != "" {
			close(ready)
		}
	}
	srv, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx) }()
	s.Stop = sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-done, srv.Close())
	})
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("the server did not end well: %v", err)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		done <- nil
		t.Fatalf("the server did not start: %v", err)
	}
	return s
}

// Login opens a client of one connection. change may change how it connects.
func (s *Server) Login(t testing.TB, user, password string, change ...func(*mysql.Config)) *sql.DB {
	t.Helper()
	db := s.Pool(t, user, password, change...)
	db.SetMaxOpenConns(1)
	return db
}

// Pool is Login with as many connections as are asked for at once.
func (s *Server) Pool(t testing.TB, user, password string, change ...func(*mysql.Config)) *sql.DB {
	t.Helper()
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.DBName, cfg.Logger = user, password, "tcp", s.Addr, "main", &mysql.NopLogger{}
	for _, c := range change {
		c(cfg)
	}
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	return db
}
