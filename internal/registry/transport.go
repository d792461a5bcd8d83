package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"
)

// refusedError says that Config.Allow refused an address.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

// redirectError says that Config.Redirect refused a redirection.
type redirectError struct{ err error }

func (e *redirectError) Error() string { return e.err.Error() }
func (e *redirectError) Unwrap() error { return e.err }

// errTooLarge is an answer beyond Config.MaxAnswer.
var errTooLarge = errors.New("the answer is too large")

// dialTimeout bounds the way to a connection, name resolution included: what takes longer is a network that drops packets.
const dialTimeout = 4 * time.Second

// httpClient makes the client of a configuration, and the transport whose connections Close has to end. No proxy is used: it would make the connections
// that Allow is there to judge.
func (c Config) httpClient() (*http.Client, *http.Transport) {
	t := &http.Transport{
		DialContext:           c.dial,
		TLSClientConfig:       c.TLS.Clone(),
		TLSHandshakeTimeout:   c.Timeout,
		ResponseHeaderTimeout: c.Timeout,
		MaxIdleConnsPerHost:   2,
		MaxConnsPerHost:       8,
		IdleConnTimeout:       30 * time.Second,
		ForceAttemptHTTP2:     true,
	}
	return &http.Client{
		Transport: bounded{t, c.MaxAnswer},
		Timeout:   c.Timeout,
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if err := c.Redirect(next, via); err != nil {
				return &redirectError{err}
			}
			return nil
		},
	}, t
}

// dial connects. Allow is asked in the socket's control hook, after name resolution and for every address tried.
func (c Config) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	d := net.Dialer{Timeout: min(c.Timeout, dialTimeout)}
	if c.Allow != nil {
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			host, _, err := net.SplitHostPort(address)
			if err != nil {
				return err
			}
			ip := net.ParseIP(host)
			if ip == nil { // an IPv6 zone
				resolved, err := net.ResolveIPAddr("ip", host)
				if err != nil {
					return err
				}
				ip = resolved.IP
			}
			if err := c.Allow(hostPort, ip); err != nil {
				return &refusedError{err}
			}
			return nil
		}
	}
	return d.DialContext(ctx, network, hostPort)
}

// bounded cuts off answers that are too large, after decompression.
type bounded struct {
	http.RoundTripper
	most int64
}

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if res.ContentLength > b.most {
		return nil, errors.Join(fmt.Errorf("%w: %d bytes, %d are allowed", errTooLarge, res.ContentLength, b.most), res.Body.Close())
	}
	res.Body = &boundedBody{res.Body, b.most}
	return res, nil
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left+1 { // one more than is allowed tells
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, errTooLarge
	}
	return n, err
}
