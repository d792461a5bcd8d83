package kafka

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"

	"millrace/internal/sqlerr"
)

// refusedError says that Config.Allow refused an address.
type refusedError struct {
	hostPort string
	ip       net.IP
	err      error
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("connecting to %s (%s) is refused: %v", e.hostPort, e.ip, e.err)
}

func (e *refusedError) Unwrap() error { return e.err }

// dialError names the broker that a failed dial was for. franz-go looks through it for the net.OpError inside.
type dialError struct {
	hostPort string
	tls      bool // the TCP connection stood, the TLS handshake failed
	err      error
}

func (e *dialError) Error() string { return fmt.Sprintf("dial %s: %v", e.hostPort, e.err) }
func (e *dialError) Unwrap() error { return e.err }

// dialTCP connects. Allow is asked in the socket's control hook: after name resolution and for every address tried, so neither a name that resolves
// anew nor an address that a broker advertises gets around it. Every connection that a statement causes begins here.
func (c Config) dialTCP(ctx context.Context, network, hostPort string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.DialTimeout)
	defer cancel()
	d := net.Dialer{Timeout: c.DialTimeout}
	if c.Allow != nil {
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return err
			}
			ip := net.ParseIP(host)
			if ip == nil { // an IPv6 zone
				if a, err := net.ResolveIPAddr("ip", host); err == nil {
					ip = a.IP
				}
			}
			if err := c.Allow(hostPort, ip); err != nil {
				return &refusedError{hostPort, ip, err}
			}
			return nil
		}
	}
	return d.DialContext(ctx, network, hostPort)
}

// dialer gives the function that connects to brokers of c.
func (c Config) dialer() func(ctx context.Context, network, hostPort string) (net.Conn, error) {
	return func(ctx context.Context, network, hostPort string) (net.Conn, error) {
		if !c.Hosts.Match(hostPort) {
			return nil, sqlerr.New(sqlerr.KafkaHostRefused, "broker '%s' is none of the hosts that %s is for", hostPort, cmp.Or(c.Label, "this login")).
				WithHint("the brokers that a cluster advertises need to be covered by its hosts, too")
		}
		ctx, cancel := context.WithTimeout(ctx, c.DialTimeout)
		defer cancel()
		conn, err := c.dialTCP(ctx, network, hostPort)
		if err != nil {
			return nil, &dialError{hostPort: hostPort, err: err}
		}
		if err := c.sizeBuffers(conn); err != nil {
			return nil, &dialError{hostPort: hostPort, err: errors.Join(err, conn.Close())}
		}
		if !c.Protocol.usesTLS() {
			return conn, nil
		}
		t, err := c.handshake(ctx, conn, hostPort)
		if err != nil {
			return nil, &dialError{hostPort: hostPort, tls: true, err: errors.Join(err, conn.Close())}
		}
		return t, nil
	}
}

// sizeBuffers sets the buffers of a socket where the user gave sizes. The operating system may round them, or cap them without a word.
func (c Config) sizeBuffers(conn net.Conn) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	if c.ReceiveBuffer > 0 {
		if err := tcp.SetReadBuffer(int(c.ReceiveBuffer)); err != nil {
			return fmt.Errorf("'receive.buffer.bytes': %w", err)
		}
	}
	if c.SendBuffer > 0 {
		if err := tcp.SetWriteBuffer(int(c.SendBuffer)); err != nil {
			return fmt.Errorf("'send.buffer.bytes': %w", err)
		}
	}
	return nil
}

func (c Config) handshake(ctx context.Context, conn net.Conn, hostPort string) (net.Conn, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.TLS != nil {
		cfg = c.TLS.Clone()
	}
	if cfg.ServerName == "" {
		host, _, err := net.SplitHostPort(hostPort)
		if err != nil {
			return nil, err
		}
		cfg.ServerName = host
	}
	t := tls.Client(conn, cfg)
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return t, nil
}
