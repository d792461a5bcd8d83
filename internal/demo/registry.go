package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
)

// Registry is an embedded schema registry with the Confluent REST interface, in memory, beside the embedded broker. It takes
// any schema, and so says that its level of compatibility is NONE.
type Registry struct {
	server *http.Server
	addr   string
	done   chan error
}

// StartRegistry listens on listen, host:port with port 0 for a free one.
func StartRegistry(listen string) (*Registry, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("embedded schema registry: %w", err)
	}
	r := &Registry{
		server: &http.Server{Handler: srfake.NewRegistry(srfake.WithGlobalCompat(sr.CompatNone)).Handler(), ReadHeaderTimeout: 10 * time.Second},
		addr:   l.Addr().String(), done: make(chan error, 1),
	}
	go func() { r.done <- r.server.Serve(l) }()
	return r, nil
}

// Addr is host:port; URL is what clients are given.
func (r *Registry) Addr() string { return r.addr }

// URL is the base URL of the registry.
func (r *Registry) URL() string { return "http://" + r.addr }

// Close ends the registry and waits for it.
func (r *Registry) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := r.server.Shutdown(ctx)
	if serveErr := <-r.done; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	return err
}
