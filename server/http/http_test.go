package http

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, ready func() error) (url string) {
	t.Helper()
	registry := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "millrace_test_total", Help: "A test."})
	registry.MustRegister(counter)
	counter.Add(7)
	s := New(Config{Ready: ready, Metrics: registry, Log: slog.New(slog.DiscardHandler)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := errors.Join(s.Shutdown(ctx), <-done); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return "http://" + l.Addr().String()
}

func get(t *testing.T, url, host string) (int, string) {
	t.Helper()
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		r.Host = host
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestHealthReadyMetrics(t *testing.T) {
	var loading atomic.Bool
	loading.Store(true)
	url := start(t, func() error {
		if loading.Load() {
			return errors.New("catalog is loading")
		}
		return nil
	})
	if status, _ := get(t, url+"/healthz", ""); status != 200 {
		t.Errorf("/healthz: %d", status)
	}
	if status, body := get(t, url+"/readyz", ""); status != 503 || !strings.Contains(body, "catalog is loading") {
		t.Errorf("/readyz while loading: %d %s", status, body)
	}
	loading.Store(false)
	if status, _ := get(t, url+"/readyz", ""); status != 200 {
		t.Errorf("/readyz: %d", status)
	}
	if status, body := get(t, url+"/metrics", ""); status != 200 || !strings.Contains(body, "millrace_test_total 7") {
		t.Errorf("/metrics: %d %s", status, body)
	}
	if status, _ := get(t, url+"/other", ""); status != 404 {
		t.Errorf("/other: %d", status)
	}
}

func TestForeignHostIsRefused(t *testing.T) {
	url := start(t, func() error { return nil })
	for host, want := range map[string]int{
		"": 200, "localhost:8307": 200, "127.0.0.1": 200, "[::1]:8307": 200, "millrace:8307": 200, "millrace.svc.cluster.local": 200,
		"evil.example.com": 421, "evil.example.com:8307": 421, "127.0.0.1.nip.io": 421,
	} {
		if status, _ := get(t, url+"/healthz", host); status != want {
			t.Errorf("Host %q: %d, want %d", host, status, want)
		}
	}
}
