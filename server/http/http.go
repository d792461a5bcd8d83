// Package http serves what is seen of the process from outside: whether it lives (/healthz), whether it takes work (/readyz), and its
// numbers (/metrics).
//
// The endpoints carry no secrets but are not for browsers of strangers: a request whose Host header is not an address the server listens
// on is refused, which keeps a web page from reading them through DNS rebinding.
package http

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Config says what is served.
type Config struct {
	// Ready says why the server takes no work, nil when it does.
	Ready func() error
	// Metrics is gathered for /metrics.
	Metrics prometheus.Gatherer
	Log     *slog.Logger
}

// Server serves one listener.
type Server struct {
	http *http.Server
}

// New makes a server.
func New(c Config) *Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := c.Ready(); err != nil {
			answer(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		answer(w, http.StatusOK, "ready")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(c.Metrics, promhttp.HandlerOpts{ErrorLog: gatherLog{c.Log}}))
	return &Server{http: &http.Server{
		Handler:           hostCheck(mux),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}}
}

// Serve answers requests on l until Shutdown; it returns nil then.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown stops accepting and waits for running requests until ctx ends, then cuts them.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}

func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	fmt.Fprintln(w, text)
}

// hostCheck refuses requests that were sent to a name which is not the server's. DNS rebinding needs a name of the attacker's, so an IP
// address, localhost and a name without dots (of the local network or a container) pass.
func hostCheck(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hostAllowed(r.Host) {
			answer(w, http.StatusMisdirectedRequest, "the Host header does not name this server")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func hostAllowed(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = hostPort
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	return net.ParseIP(host) != nil || host == "localhost" || strings.HasSuffix(host, ".localhost") || host != "" && !strings.Contains(host, ".") ||
		strings.HasSuffix(host, ".internal") || strings.HasSuffix(host, ".svc.cluster.local")
}

// gatherLog reports collectors that fail.
type gatherLog struct{ log *slog.Logger }

func (g gatherLog) Println(v ...any) { g.log.Error("gathering metrics", "error", fmt.Sprint(v...)) }
