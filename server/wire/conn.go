package wire

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime/debug"
	"sync/atomic"
	"time"

	"millrace/internal/sqlerr"
)

// Conn says who is at the other end of a connection. It does not change; COM_CHANGE_USER makes a new one.
type Conn struct {
	// ID is the connection id of the processlist and of KILL.
	ID uint32
	// User is the name that the client gave, Account the stored account it was matched with.
	User    string
	Account Account
	// Host is the address of the peer without port, localhost for unix sockets.
	Host string
	// Database is the one the client asked for at login, or empty.
	Database string
	// Attributes are the client's description of itself.
	Attributes map[string]string
	// Capabilities are the flags that both sides have.
	Capabilities uint32
	// Charset is the collation id that the client asked for.
	Charset byte
	// TLS is nil without TLS.
	TLS *tls.ConnectionState
}

// connection is one client. All fields belong to its goroutine, but for those of run and what says otherwise.
type connection struct {
	server *Server
	id     uint32
	// raw is the socket; others close it to end the connection. nc is raw or TLS on top of it.
	raw, nc net.Conn
	host    string
	reader  packetReader
	w       *writer
	// next gives the next payload of a login: from the socket at first, later from the goroutine that reads ahead.
	next func() payload

	capabilities uint32
	zstdLevel    int
	salt         [saltSize]byte
	inflate      *inflater

	// facts is nil until login. Others read it.
	facts   atomic.Pointer[Conn]
	session Session
	stmts   map[uint32]*Stmt
	lastID  uint32
	// db is the database that the client knows to be current.
	db string

	run running
}

func newConnection(s *Server, nc net.Conn, id uint32) *connection {
	c := &connection{server: s, id: id, raw: nc, nc: nc, host: hostOf(nc.RemoteAddr()), stmts: map[uint32]*Stmt{}}
	c.w = newWriter(nc, s.cfg.LoginTimeout)
	c.w.failed = func(error) { c.interrupt(ErrClientGone) }
	c.reader = packetReader{src: nc, max: min(loginPacket, s.cfg.MaxPacket)}
	c.next = c.reader.next
	return c
}

func hostOf(a net.Addr) string {
	if a.Network() == "unix" {
		return "localhost"
	}
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return host
}

// serve runs the connection from greeting to end.
func (c *connection) serve() {
	defer c.close()
	defer func() {
		if p := recover(); p != nil { // commands have their own: this one is for faults of this package
			c.server.cfg.Log.Error("panic in a connection", "connection", c.id, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if c.start() {
		c.serveCommands()
	}
}

// serveCommands is the command phase: it owns the goroutine that reads ahead.
func (c *connection) serveCommands() {
	in, done := newInbox(c.server.closing), make(chan struct{})
	go func() {
		defer close(done)
		c.readAhead(in)
	}()
	defer func() {
		close(in.quit)
		c.hangUp() // the reader waits for bytes or for quit
		<-done
		if c.inflate != nil {
			c.inflate.close()
		}
	}()
	c.next = in.takeUnlessClosing
	c.loop(in)
}

// start logs the client in and opens its session; it reports whether commands may follow.
func (c *connection) start() (ok bool) {
	log := c.server.cfg.Log
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic during login", "connection", c.id, "host", c.host, "panic", p, "stack", string(debug.Stack()))
			ok = false
		}
	}()
	err := c.raw.SetDeadline(time.Now().Add(c.server.cfg.LoginTimeout))
	if err == nil {
		err = c.login()
	}
	if err == nil {
		err = c.raw.SetDeadline(time.Time{})
	}
	if err != nil {
		log.Debug("login failed", "connection", c.id, "host", c.host, "error", err)
		c.refuse(err)
		return false
	}
	return true
}

// refuse sends the last error of a connection. Errors of the socket have no reader.
func (c *connection) refuse(err error) {
	var e *sqlerr.Error
	if !errors.As(err, &e) {
		return
	}
	if c.fail(e) == nil {
		_ = c.w.flush() // the connection ends either way
	}
}

// close ends the session and the connection.
func (c *connection) close() {
	if c.session != nil {
		c.endSession()
	}
	c.w.close()
	if c.w.compress != nil {
		if err := c.w.compress.close(); err != nil {
			c.server.cfg.Log.Warn("closing the compressor failed", "connection", c.id, "error", err)
		}
	}
	c.hangUp()
}

// hangUp closes the socket. TLS says goodbye first, unless the client does not read anyway.
func (c *connection) hangUp() {
	if c.w.flush() == nil {
		_ = c.nc.Close() // often closed already
	} else {
		_ = c.raw.Close()
	}
}

// endSession closes the prepared statements and the session; a panic there must not take the process down.
func (c *connection) endSession() {
	defer func() {
		if p := recover(); p != nil {
			c.server.cfg.Log.Error("panic while closing a session", "connection", c.id, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	s := c.session
	c.session = nil
	defer s.Close()
	c.closeStatements(s)
}

func (c *connection) closeStatements(s Session) {
	for id, st := range c.stmts {
		delete(c.stmts, id)
		s.CloseStmt(st)
	}
}

// readAhead reads what the client sends while a command runs, for two reasons: a client that leaves is noticed at once, and
// pipelined commands wait their turn here.
func (c *connection) readAhead(in *inbox) {
	for {
		p := c.readPayload()
		_, refused := sqlerr.As(p.err)
		// An answer to a challenge may begin with the byte of COM_QUIT, but is longer.
		if p.err != nil && !refused || len(p.data) == 1 && p.data[0] == comQuit {
			c.peerGone()
		}
		if !in.put(p) || p.err != nil {
			return
		}
	}
}

// readPayload turns a panic, which could only be one of a decompressor, into the error of a packet that cannot be read.
func (c *connection) readPayload() (p payload) {
	defer func() {
		if r := recover(); r != nil {
			c.server.cfg.Log.Error("panic while reading a packet", "connection", c.id, "panic", r, "stack", string(debug.Stack()))
			p = payload{err: sqlerr.New(sqlerr.Malformed, "packet cannot be read")}
		}
	}()
	return c.reader.next()
}

func (c *connection) loop(in *inbox) {
	idle := c.server.cfg.IdleTimeout
	for {
		if idle > 0 && c.raw.SetReadDeadline(time.Now().Add(idle)) != nil {
			return
		}
		p := in.take()
		if idle > 0 && c.raw.SetReadDeadline(time.Time{}) != nil {
			return
		}
		c.w.reply(p)
		if p.err == nil && len(p.data) == 0 {
			p.err = sqlerr.New(sqlerr.Malformed, "empty command packet")
		}
		if p.err != nil {
			c.refuse(p.err)
			if _, refused := sqlerr.As(p.err); refused {
				c.linger()
			}
			return
		}
		if p.data[0] == comQuit || !c.serveCommand(p.data) {
			return
		}
	}
}

// serveCommand runs one command and sends its answer; it reports whether the connection goes on.
func (c *connection) serveCommand(data []byte) bool {
	if !c.server.enter() {
		c.refuse(ErrShutdown)
		return false
	}
	defer c.server.leave()
	ctx, ok := c.begin()
	if !ok {
		return false
	}
	err := c.command(ctx, data)
	if err == nil {
		err = c.w.flush()
	}
	return c.finish() && err == nil
}

// linger lets the client read the last error. Closing a socket with unread bytes resets the connection, which can overtake what was
// sent before; so what the client still sends is read and dropped, within limits.
func (c *connection) linger() {
	const (
		patience = 2 * time.Second
		most     = 256 << 20
	)
	if h, ok := c.nc.(interface{ CloseWrite() error }); ok && h.CloseWrite() != nil {
		return
	}
	if c.raw.SetReadDeadline(time.Now().Add(patience)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c.nc, most) // ends by close, deadline or limit, all the same here
}

// startCompression switches both directions to compressed frames, after the OK of the login.
func (c *connection) startCompression(buffered *bufio.Reader) error {
	useZstd := c.capabilities&capCompress == 0
	d, err := newDeflater(useZstd, c.zstdLevel)
	if err != nil {
		return err
	}
	c.inflate = &inflater{src: buffered, zstd: useZstd}
	c.reader.src, c.reader.frame = bufio.NewReader(c.inflate), &c.inflate.frame
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.compress = d
	return nil
}
