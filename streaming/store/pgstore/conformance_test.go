package pgstore

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"millrace/streaming/store"
	"millrace/streaming/store/storetest"
)

// envURL names the server to test with, as scripts/postgres/server leaves it in its env file: MILLRACE_TEST_POSTGRES=$POSTGRES_URL.
const envURL = "MILLRACE_TEST_POSTGRES"

func needServer(t testing.TB) string {
	t.Helper()
	url := os.Getenv(envURL)
	if url == "" {
		t.Skip("no PostgreSQL to test with: `scripts/postgres/server start DIR`, then set " + envURL + " to the POSTGRES_URL of DIR/env; make integration does so")
	}
	return url
}

// newName gives the name of a schema that is dropped at the end of the test.
func newName(t testing.TB) string {
	t.Helper()
	url := needServer(t)
	name := "test_" + strings.ToLower(rand.Text())
	t.Cleanup(func() {
		c, err := pgx.Connect(context.Background(), url)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.Close(context.Background()) }()
		if _, err := c.Exec(context.Background(), "set client_min_messages = warning; drop schema if exists "+name+" cascade"); err != nil {
			t.Error(err)
		}
	})
	return name
}

func openNamed(name string, o Options) (*Store, error) {
	o.Schema = name
	return Open(context.Background(), os.Getenv(envURL), o)
}

var backend = storetest.Backend{
	Open: func(name string) (store.Store, error) {
		return openNamed(name, Options{Failpoint: storetest.Failpoint})
	},
	Name:   newName,
	Faulty: openFaulty,
}

func TestMain(m *testing.M) { storetest.Main(m, backend) }

func TestConformance(t *testing.T) {
	needServer(t)
	storetest.Run(t, backend)
}

func TestCrashesLoseAndDoubleNothing(t *testing.T) {
	needServer(t)
	storetest.Crash(t, backend, "commit.checked", "commit.copied", "commit.sent", "commit.applied", "expire.applied", "truncate.prepared", "truncate.applied")
}

// fault cuts connections when COMMIT was sent: every second time the server gets to see it, and only its answer is lost.
type fault struct {
	failing, armed atomic.Bool
	cuts           atomic.Int64
}

func (f *fault) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	return &faultyConn{Conn: c, fault: f}, err
}

type faultyConn struct {
	net.Conn
	fault *fault
	cut   atomic.Bool
}

var errCut = errors.New("the connection was cut")

// Write implements net.Conn.
func (c *faultyConn) Write(b []byte) (int, error) {
	if c.fault.armed.CompareAndSwap(true, false) {
		if c.fault.cuts.Add(1)%2 == 0 {
			return 0, errors.Join(errCut, c.Close())
		}
		c.cut.Store(true)
	}
	return c.Conn.Write(b)
}

// Read implements net.Conn.
func (c *faultyConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.cut.Load() { // the server has answered, so it has done it
		return 0, errors.Join(errCut, c.Close())
	}
	return n, err
}

func openFaulty(name string) (store.Store, func(), func(), error) {
	f := new(fault)
	s, err := openNamed(name, Options{dial: f.dial, Failpoint: func(point string) {
		if point == "commit.copied" && f.failing.Load() {
			f.armed.Store(true)
		}
	}})
	return s, func() { f.failing.Store(true) }, func() { f.failing.Store(false) }, err
}
