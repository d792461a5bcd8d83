package wire

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"millrace/internal/sqlerr"
)

// Config is what a Server is made of. Accounts and Open are required.
type Config struct {
	// Version is the server version that clients see, such as 8.0.36-millrace.
	Version string
	// TLS, when not nil, offers TLS. GetTLS, when not nil, is asked instead at each connection, so that certificates can be
	// reloaded; it may give nil. TLS before 1.2 is never spoken.
	TLS    *tls.Config
	GetTLS func() *tls.Config
	// RequireTLS refuses logins without TLS, but through unix sockets.
	RequireTLS bool
	// RSA decrypts passwords of caching_sha2_password that come without TLS. Without a key such logins fail, unless the
	// password has been checked before.
	RSA *rsa.PrivateKey
	// MaxPacket bounds a command, a statement's long data, and a packet read; default 64 MB.
	MaxPacket int
	// LoginTimeout bounds the time until a peer has logged in; default 10 s.
	LoginTimeout time.Duration
	// WriteTimeout is how long a client may leave a full socket unread; default 60 s.
	WriteTimeout time.Duration
	// IdleTimeout closes connections that send no command for so long; 0 means never.
	IdleTimeout time.Duration
	// MaxConnections is asked at each new connection; nil or a result below 1 means no limit.
	MaxConnections func() int
	// MaxStatements bounds the prepared statements of a connection; default 16382.
	MaxStatements int
	// Accounts finds users.
	Accounts Accounts
	// Open makes the session of a user who has logged in. It is called again after COM_CHANGE_USER.
	Open func(*Conn) (Session, error)
	// Log gets panics and failed logins; nil means nowhere.
	Log *slog.Logger
	// Redact takes the secrets out of a statement before it is logged; nil logs it as it is.
	Redact func(statement string) string
}

func (cfg *Config) defaults() {
	orInt := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	orTime := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	orInt(&cfg.MaxPacket, 64<<20)
	orInt(&cfg.MaxStatements, 16382)
	orTime(&cfg.LoginTimeout, 10*time.Second)
	orTime(&cfg.WriteTimeout, time.Minute)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Redact == nil {
		cfg.Redact = func(s string) string { return s }
	}
	if cfg.MaxConnections == nil {
		cfg.MaxConnections = func() int { return 0 }
	}
	if cfg.GetTLS == nil {
		fixed := cfg.TLS
		cfg.GetTLS = func() *tls.Config { return fixed }
	}
}

// Server serves connections. Its methods may be called by any goroutine.
type Server struct {
	cfg       Config
	publicKey []byte // PEM of the RSA key
	logins    throttle
	passwords passwordCache

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[uint32]*connection
	lastID    uint32
	// busy counts commands under way. Once draining, idle is closed as soon as there are none.
	busy     int
	draining bool
	idle     chan struct{}
	// closing is closed when connections must end.
	closing chan struct{}
	closed  bool
	// running waits for the goroutines of connections.
	running sync.WaitGroup
}

// NewServer makes a server that waits for Serve.
func NewServer(cfg Config) *Server {
	cfg.defaults()
	return &Server{
		cfg:       cfg,
		publicKey: publicKeyPEM(cfg.RSA),
		listeners: map[net.Listener]struct{}{},
		conns:     map[uint32]*connection{},
		idle:      make(chan struct{}),
		closing:   make(chan struct{}),
	}
}

// Serve accepts connections until the listener fails, which is an error, or until Shutdown, which is none. It closes l. Several
// listeners may be served at once.
func (s *Server) Serve(l net.Listener) error {
	defer func() { _ = l.Close() }()
	s.mu.Lock()
	if s.draining {
		s.mu.Unlock()
		return nil
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
	}()
	const longest = time.Second
	for wait := time.Duration(0); ; {
		nc, err := l.Accept()
		if err == nil {
			wait = 0
			s.accept(nc)
			continue
		}
		if s.isDraining() {
			return nil
		}
		var t interface{ Temporary() bool }
		if !errors.As(err, &t) || !t.Temporary() {
			return err
		}
		// Out of file descriptors, most likely: they come back as connections end.
		wait = min(max(2*wait, 5*time.Millisecond), longest)
		s.cfg.Log.Warn("cannot accept connections", "error", err, "retry_in", wait)
		select {
		case <-time.After(wait):
		case <-s.idle:
		}
	}
}

func (s *Server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// accept starts a connection, or refuses it before the greeting if there are too many.
func (s *Server) accept(nc net.Conn) {
	limit := s.cfg.MaxConnections()
	s.mu.Lock()
	if s.draining {
		s.mu.Unlock()
		_ = nc.Close()
		return
	}
	if limit > 0 && len(s.conns) >= limit {
		s.mu.Unlock()
		refuse(nc, sqlerr.New(sqlerr.TooManyConns, "Too many connections"))
		return
	}
	for {
		s.lastID++
		if _, taken := s.conns[s.lastID]; !taken && s.lastID != 0 {
			break
		}
	}
	c := newConnection(s, nc, s.lastID)
	s.conns[c.id] = c
	s.running.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.running.Done()
		c.serve()
		s.mu.Lock()
		delete(s.conns, c.id)
		s.mu.Unlock()
	}()
}

// refuse sends an error in place of the greeting. A fresh socket has room for it; the deadline is for those that have none.
func refuse(nc net.Conn, e *sqlerr.Error) {
	b := appendError([]byte{0, 0, 0, 0}, e.Kind, e.Error(), false)
	b[0] = byte(len(b) - 4)
	_ = nc.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = nc.Write(b) // a peer that does not get it learns as much from the closed connection
	_ = nc.Close()
}

// enter and leave surround each command; enter says no once the server drains.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return false
	}
	s.busy++
	return true
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	if s.draining && s.busy == 0 {
		close(s.idle)
	}
}

// Conns lists the connections that have logged in.
func (s *Server) Conns() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Conn, 0, len(s.conns))
	for _, c := range s.conns {
		if facts := c.facts.Load(); facts != nil {
			list = append(list, facts)
		}
	}
	return list
}

// Kill cancels what the connection runs and closes it. It reports whether there was one with the id, and does not wait for its end.
func (s *Server) Kill(id uint32) bool {
	s.mu.Lock()
	c := s.conns[id]
	s.mu.Unlock()
	if c == nil {
		return false
	}
	c.kill()
	return true
}

// Shutdown stops the server and waits for all its goroutines. It closes the listeners and answers new commands with error 1053. It
// waits for running ones until ctx ends, then cancels them. At the end it closes the connections. The result is nil if every
// statement ended by itself, the cause of ctx's end otherwise. A session that ignores its context holds Shutdown up.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.draining {
		s.draining = true
		if s.busy == 0 {
			close(s.idle)
		}
		for l := range s.listeners {
			_ = l.Close() // Serve returns either way
		}
	}
	s.mu.Unlock()
	var err error
	select {
	case <-s.idle:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
		for _, c := range s.conns {
			c.stop()
		}
	}
	s.mu.Unlock()
	s.running.Wait()
	return err
}
