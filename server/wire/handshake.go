package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"fmt"

	"millrace/internal/sqlerr"
)

const (
	saltSize = 20
	// sslRequest is the size of the packet that asks for TLS: the beginning of a login packet, up to the user name.
	sslRequest = 32
	// attributesKept bounds the connection attributes of a client.
	attributesKept = 128
)

var errBadHandshake = sqlerr.New(sqlerr.BadHandshake, "Bad handshake")

// login runs the connection phase: greeting, TLS, authentication, session, database.
func (c *connection) login() error {
	tlsConfig := secure(c.server.cfg.GetTLS())
	caps := uint32(offered)
	if tlsConfig != nil {
		caps |= capTLS
	}
	if err := c.greet(caps); err != nil {
		return err
	}
	p := c.next()
	if p.err != nil {
		return p.err
	}
	c.w.reply(p)
	if len(p.data) < 4 {
		return errBadHandshake
	}
	c.capabilities = binary.LittleEndian.Uint32(p.data) & caps
	if len(p.data) == sslRequest && c.capabilities&capTLS != 0 {
		if err := c.startTLS(tlsConfig); err != nil {
			return err
		}
		if p = c.next(); p.err != nil {
			return p.err
		}
		c.w.reply(p)
	} else if c.server.cfg.RequireTLS && c.raw.RemoteAddr().Network() != "unix" {
		return sqlerr.New(sqlerr.InsecureLogin, "connections without TLS are not allowed").
			WithHint("connect with TLS (--ssl-mode=REQUIRED, tls=true, sslMode=REQUIRED), or start the server without --require-secure-transport")
	}
	facts, plugin, response, err := c.parseLogin(p.data, caps)
	if err != nil {
		return err
	}
	if err := c.authenticate(facts, plugin, response); err != nil {
		return err
	}
	return c.enterSession(facts, true)
}

// secure makes sure that a configuration does not allow TLS before 1.2.
func secure(cfg *tls.Config) *tls.Config {
	if cfg != nil && cfg.MinVersion != 0 && cfg.MinVersion < tls.VersionTLS12 {
		cfg = cfg.Clone()
		cfg.MinVersion = tls.VersionTLS12
	}
	return cfg
}

// greet sends the first packet.
func (c *connection) greet(caps uint32) error {
	c.newSalt()
	err := c.w.packet(func(b []byte) []byte {
		const protocol = 10
		b = append(append(append(b, protocol), c.server.cfg.Version...), 0)
		b = binary.LittleEndian.AppendUint32(b, c.id)
		b = append(append(b, c.salt[:8]...), 0)
		b = binary.LittleEndian.AppendUint16(b, uint16(caps))
		b = append(b, CharsetUTF8MB4)
		b = binary.LittleEndian.AppendUint16(b, StatusAutocommit)
		b = binary.LittleEndian.AppendUint16(b, uint16(caps>>16))
		b = append(b, saltSize+1)
		b = append(b, make([]byte, 10)...)
		b = append(append(b, c.salt[8:]...), 0)
		return append(append(b, PluginSHA2...), 0)
	})
	if err != nil {
		return err
	}
	return c.w.flush()
}

// newSalt draws a challenge. Its bytes are 1 to 127: clients treat it as text.
func (c *connection) newSalt() {
	_, _ = rand.Read(c.salt[:]) // never fails
	for i := range c.salt {
		c.salt[i] = c.salt[i]&0x7f | 1
	}
}

// startTLS switches to TLS. The hello may already wait in the socket: nothing before it was read beyond its packet.
func (c *connection) startTLS(cfg *tls.Config) error {
	t := tls.Server(c.raw, cfg)
	if err := t.HandshakeContext(context.Background()); err != nil { // bounded by the deadline of the socket
		return fmt.Errorf("tls: %w", err)
	}
	c.nc, c.reader.src = t, t
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.w.conn = t
	return nil
}

func (c *connection) tlsState() *tls.ConnectionState {
	if t, ok := c.nc.(*tls.Conn); ok {
		s := t.ConnectionState()
		return &s
	}
	return nil
}

// parseLogin reads the login packet. Nothing in the result refers to its memory.
func (c *connection) parseLogin(data []byte, caps uint32) (facts *Conn, plugin string, response []byte, err error) {
	k := cursor{b: data}
	c.capabilities = uint32(k.uint(4)) & caps
	if c.capabilities&capProtocol41 == 0 || c.capabilities&capSecureConnection == 0 {
		return nil, "", nil, errBadHandshake
	}
	k.uint(4) // the client's packet limit: what is larger, it can only refuse itself
	facts = &Conn{ID: c.id, Host: c.host, Capabilities: c.capabilities, Charset: byte(k.uint(1)), TLS: c.tlsState()}
	k.bytes(23)
	facts.User = k.cstring()
	if c.capabilities&capLenencAuth != 0 {
		response = k.lenencBytes()
	} else {
		response = k.bytes(int(k.uint(1)))
	}
	if c.capabilities&capConnectWithDB != 0 {
		facts.Database = k.cstring()
	}
	plugin = PluginNative
	if c.capabilities&capPluginAuth != 0 {
		plugin = k.cstring()
	}
	if c.capabilities&capConnectAttrs != 0 && len(k.b) > 0 {
		facts.Attributes = parseAttributes(k.lenencBytes())
	}
	if c.capabilities&capZstd != 0 && len(k.b) > 0 {
		c.zstdLevel = int(k.uint(1))
	}
	if k.bad {
		return nil, "", nil, errBadHandshake
	}
	return facts, plugin, bytes.Clone(response), nil
}

func parseAttributes(b []byte) map[string]string {
	k := cursor{b: b}
	m := map[string]string{}
	for len(k.b) > 0 && len(m) < attributesKept {
		name, value := k.lenencBytes(), k.lenencBytes()
		if k.bad {
			break // what came before is fine, and nothing depends on the rest
		}
		m[string(name)] = string(value)
	}
	return m
}

// enterSession opens the session of a user who has been authenticated and sends the OK. first is false after COM_CHANGE_USER.
func (c *connection) enterSession(facts *Conn, first bool) error {
	if first {
		ctx, ok := c.begin()
		if !ok {
			return ErrShutdown
		}
		defer c.finish()
		if err := c.open(ctx, facts); err != nil {
			return err
		}
	} else if err := c.open(context.Background(), facts); err != nil {
		return err
	}
	if err := c.ok(headerOK, 0, 0, "", 0); err != nil {
		return err
	}
	if err := c.w.flush(); err != nil || !first {
		return err
	}
	return c.ready()
}

// ready gets the connection out of the limits of the login, and compresses it if that was agreed on.
func (c *connection) ready() error {
	c.w.mu.Lock()
	c.w.timeout = c.server.cfg.WriteTimeout
	c.w.mu.Unlock()
	buffered := bufio.NewReaderSize(c.nc, 16<<10)
	c.reader.src, c.reader.max = buffered, c.server.cfg.MaxPacket
	if c.capabilities&(capCompress|capZstd) != 0 {
		return c.startCompression(buffered)
	}
	return nil
}

func (c *connection) open(ctx context.Context, facts *Conn) error {
	s, err := c.server.cfg.Open(facts)
	if err != nil {
		return errorFor(ctx, err)
	}
	c.session = s
	if facts.Database != "" {
		if err := s.UseDB(ctx, facts.Database); err != nil {
			return errorFor(ctx, err)
		}
	}
	c.facts.Store(facts)
	return nil
}
