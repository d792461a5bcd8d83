package wire

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testKey = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// fakeAccounts: sha has the password "secret" (caching_sha2_password), native "secret" (mysql_native_password), root none,
// locked is locked.
type fakeAccounts map[string]Account

func (f fakeAccounts) Find(user, host string) (Account, bool) {
	a, ok := f[user]
	return a, ok
}

func nativeHash(password string) string {
	once := sha1.Sum([]byte(password))
	twice := sha1.Sum(once[:])
	return "*" + strings.ToUpper(hex.EncodeToString(twice[:]))
}

// checks counts the slow comparisons, to tell the fast path from the full one.
type checks struct {
	mu sync.Mutex
	n  int
}

func (c *checks) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *checks) account(user, password string) Account {
	return Account{User: user, Host: "%", Plugin: PluginSHA2, Auth: "stored hash of " + user, Check: func(p string) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.n++
		return p == password
	}}
}

func accounts() (fakeAccounts, *checks) {
	n := &checks{}
	locked := n.account("locked", "secret")
	locked.Locked = true
	return fakeAccounts{
		"root":   {User: "root", Host: "%", Plugin: PluginNative},
		"native": {User: "native", Host: "%", Plugin: PluginNative, Auth: nativeHash("secret")},
		"sha":    n.account("sha", "secret"),
		"locked": locked,
	}, n
}

// fake is a session that understands a few words:
//
//	rows N            N rows (id, text)
//	batch N           the same by Batch
//	value N           one row, one text of N bytes
//	fail after N      an error after N rows
//	wait              definitions, then nothing until the context ends
//	work              no rows, until released
//	ok, panic, nothing, late error
//	several;statements
type fake struct {
	server *fakeServer
	conn   *Conn
	db     string
	closed bool
}

type fakeServer struct {
	mu       sync.Mutex
	queries  []string
	args     [][]Param
	attrs    [][]Attribute
	causes   chan error    // of statements that waited
	waiting  chan struct{} // one for each statement that waits
	release  chan struct{}
	closed   int
	stmts    int // open prepared statements
	killed   []uint32
	warnings uint16
}

func newFakeServer() *fakeServer {
	return &fakeServer{causes: make(chan error, 100), waiting: make(chan struct{}, 100), release: make(chan struct{})}
}

func (s *fakeServer) open(c *Conn) (Session, error) {
	if c.User == "unwanted" {
		return nil, sqlerr.New(sqlerr.NotGranted, "not today")
	}
	return &fake{server: s, conn: c}, nil
}

func (s *fakeServer) lastArgs() []Param {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.args[len(s.args)-1]
}

var fakeFields = []column.Field{{Name: "id", Type: column.Type{Kind: column.Int64}}, {Name: "t", Type: column.Type{Kind: column.Text}, Nullable: true}}

func definitions(fields []column.Field) []Column {
	var cols []Column
	for _, f := range fields {
		cols = append(cols, ColumnOf(f))
	}
	return cols
}

func (f *fake) Query(ctx context.Context, text string, r *Results) error {
	s := f.server
	s.mu.Lock()
	s.queries = append(s.queries, text)
	s.attrs = append(s.attrs, r.Attributes())
	s.mu.Unlock()
	parts := []string{text}
	if r.Multi() {
		parts = strings.Split(text, ";")
	}
	for i, p := range parts {
		r.SetMore(i < len(parts)-1)
		if err := f.run(ctx, p, r); err != nil {
			return err
		}
	}
	return nil
}

func (f *fake) run(ctx context.Context, text string, r *Results) error {
	s := f.server
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	n, _ := strconv.Atoi(strings.TrimPrefix(rest, "after "))
	switch word {
	case "rows", "fail":
		if err := r.Columns(definitions(fakeFields)); err != nil {
			return err
		}
		for i := range n {
			if err := sendRow(r, int64(i), fmt.Sprintf("row %d", i)); err != nil {
				return err
			}
		}
		if word == "fail" {
			return sqlerr.New(sqlerr.BadValue, "bad value in row %d", n).WithHint("mend it")
		}
		return r.EndRows()
	case "batch":
		if err := r.Columns(definitions(fakeFields)); err != nil {
			return err
		}
		var b column.Batch
		b.Reset(fakeFields)
		for b.N = 0; b.N < n; b.N++ {
			b.Cols[0].AppendInt(int64(b.N))
			b.Cols[1].AppendBytes(fmt.Appendf(nil, "row %d", b.N))
		}
		if err := r.Batch(&b); err != nil {
			return err
		}
		return r.EndRows()
	case "value":
		if err := r.Columns(definitions(fakeFields[1:])); err != nil {
			return err
		}
		text := strings.Repeat("x", n)
		if err := r.Row(func(b []byte) ([]byte, error) {
			if r.Binary() {
				b = BinaryRow(b, 1)
			}
			return Text(b, text), nil
		}); err != nil {
			return err
		}
		return r.EndRows()
	case "endless":
		if err := r.Columns(definitions(fakeFields)); err != nil {
			return err
		}
		for i := int64(0); ; i++ {
			if err := sendRow(r, i, strings.Repeat("y", 1000)); err != nil {
				s.causes <- context.Cause(ctx)
				return err
			}
			if ctx.Err() != nil {
				s.causes <- context.Cause(ctx)
				return ctx.Err()
			}
		}
	case "wait":
		if err := r.Columns(definitions(fakeFields)); err != nil {
			return err
		}
		s.waiting <- struct{}{}
		<-ctx.Done()
		s.causes <- context.Cause(ctx)
		return ctx.Err()
	case "work":
		s.waiting <- struct{}{}
		select {
		case <-ctx.Done():
			s.causes <- context.Cause(ctx)
			return ctx.Err()
		case <-s.release:
			return r.OK(1, 0, "")
		}
	case "panic":
		panic("fake panic")
	case "nothing":
		return nil
	case "late":
		if err := r.OK(0, 0, ""); err != nil {
			return err
		}
		return errors.New("late error")
	case "use":
		f.db = rest
		return r.OK(0, 0, "")
	case "disorder":
		return r.EndRows()
	default:
		return r.OK(3, 7, rest)
	}
}

func sendRow(r *Results, id int64, text string) error {
	return r.Row(func(b []byte) ([]byte, error) {
		if r.Binary() {
			return Text(IntBinary(BinaryRow(b, 2), id, 8), text), nil
		}
		return Text(Int(b, id), text), nil
	})
}

func (f *fake) Prepare(_ context.Context, text string) (*Stmt, error) {
	if text == "bad" {
		return nil, sqlerr.New(sqlerr.Syntax, "cannot parse 'bad'")
	}
	if text == "panic" {
		panic("fake panic")
	}
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	f.server.stmts++
	return &Stmt{Params: strings.Count(text, "?"), Plan: text, Columns: definitions(fakeFields)}, nil
}

func (f *fake) Execute(ctx context.Context, st *Stmt, args []Param, r *Results) error {
	f.server.mu.Lock()
	f.server.args = append(f.server.args, args)
	f.server.attrs = append(f.server.attrs, r.Attributes())
	f.server.mu.Unlock()
	text := st.Plan.(string)
	if n, ok := first[int64](args); ok {
		text = strings.ReplaceAll(text, "?", strconv.FormatInt(n, 10))
	} else if n, ok := first[uint64](args); ok {
		text = strings.ReplaceAll(text, "?", strconv.FormatUint(n, 10))
	}
	return f.run(ctx, text, r)
}

func first[T any](args []Param) (v T, ok bool) {
	if len(args) > 0 {
		v, ok = args[0].V.(T)
	}
	return v, ok
}

func (f *fake) CloseStmt(*Stmt) {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	f.server.stmts--
}

func (f *fake) UseDB(_ context.Context, db string) error {
	if db == "missing" {
		return sqlerr.New(sqlerr.NoDatabase, "Unknown database 'missing'")
	}
	f.db = db
	return nil
}

func (f *fake) Reset(context.Context) error { return nil }

func (f *fake) FieldList(_ context.Context, table, wildcard string) ([]Column, error) {
	if table == "missing" {
		return nil, sqlerr.New(sqlerr.NoTable, "no table 'missing'")
	}
	return definitions(fakeFields), nil
}

func (f *fake) State() (uint16, uint16, string) { return StatusAutocommit, f.server.warnings, f.db }
func (f *fake) Statistics() string              { return "Uptime: 1" }

func (f *fake) Kill(_ context.Context, id uint32) error {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	f.server.killed = append(f.server.killed, id)
	return nil
}

func (f *fake) Close() {
	f.server.mu.Lock()
	defer f.server.mu.Unlock()
	f.server.closed++
	f.closed = true
}

// testServer is a server on loopback with the fake behind it. It is shut down, and its goroutines waited for, when the test ends.
type testServer struct {
	*Server
	fake   *fakeServer
	checks *checks
	addr   string
}

func start(t testing.TB, change func(*Config)) *testServer {
	t.Helper()
	acc, n := accounts()
	f := newFakeServer()
	cfg := Config{Version: "8.0.36-millrace", RSA: testKey(), Accounts: acc, Open: f.open, Log: slog.New(slog.NewTextHandler(testLog{t}, nil))}
	if change != nil {
		change(&cfg)
	}
	s := NewServer(cfg)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = s.Shutdown(ctx) // tests of Shutdown look at its result themselves
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &testServer{Server: s, fake: f, checks: n, addr: l.Addr().String()}
}

type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}
