package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
	"go.uber.org/goleak"

	"millrace/internal/sqlerr"
)

// quiet takes what test servers say about handshakes that fail on purpose.
var quiet = log.New(io.Discard, "", 0)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func client(t testing.TB, c Config) *Client {
	t.Helper()
	made, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

// fake is an embedded registry behind a handler that may interfere, and counts requests.
type fake struct {
	*httptest.Server
	registry *srfake.Registry
	requests atomic.Int64
	// before, when not nil, may answer a request itself.
	before atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]
}

func newFake(t testing.TB, start func(http.Handler) *httptest.Server) *fake {
	t.Helper()
	f := &fake{registry: srfake.NewRegistry()}
	f.Server = start(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.requests.Add(1)
		if before := f.before.Load(); before != nil && (*before)(w, r) {
			return
		}
		f.registry.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(f.Server.Close)
	return f
}

func (f *fake) interfere(before func(w http.ResponseWriter, r *http.Request) bool) {
	f.before.Store(&before)
}

const (
	schemaA = `{"type":"record","name":"A","fields":[{"name":"x","type":"int"}]}`
	schemaB = `{"type":"record","name":"B","fields":[{"name":"a","type":"A"}]}`
	schemaC = `{"type":"record","name":"C","fields":[{"name":"a","type":"A"},{"name":"b","type":"B"}]}`
)

func (f *fake) fill() {
	f.registry.SeedSchema("a", 1, 1, sr.Schema{Schema: schemaA})
	f.registry.SeedSchema("b", 1, 2, sr.Schema{Schema: schemaB, References: []sr.SchemaReference{{Name: "A", Subject: "a", Version: 1}}})
	f.registry.SeedSchema("c", 1, 3, sr.Schema{Schema: schemaC, References: []sr.SchemaReference{{Name: "B", Subject: "b", Version: 1}, {Name: "A", Subject: "a", Version: 1}}})
	f.registry.SeedSchema("views/x", 1, 4, sr.Schema{Schema: `syntax = "proto3"; message V {}`, Type: sr.TypeProtobuf})
	f.registry.SeedSchema("views/x", 2, 5, sr.Schema{Schema: `syntax = "proto3"; message V { int32 a = 1; }`, Type: sr.TypeProtobuf})
	f.registry.SeedSchema("j", 1, 6, sr.Schema{Schema: `{"type":"object"}`, Type: sr.TypeJSON})
}

func TestSchemasWithReferences(t *testing.T) {
	f := newFake(t, httptest.NewServer)
	f.fill()
	c := client(t, Config{URLs: []string{f.URL}})
	for range 3 {
		s, err := c.SchemaByID(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		want := &Schema{ID: 3, Type: Avro, Text: schemaC, References: []Reference{{"A", "a", 1, schemaA}, {"B", "b", 1, schemaB}}}
		if d := cmp.Diff(want, s); d != "" {
			t.Error(d)
		}
	}
	if n := f.requests.Load(); n != 3 {
		t.Errorf("%d requests, want 3: the schema and its references, once", n)
	}
	for id, want := range map[int]Type{4: Protobuf, 6: JSONSchema} {
		if s, err := c.SchemaByID(t.Context(), id); err != nil || s.Type != want {
			t.Errorf("schema %d: %v %v", id, s, err)
		}
	}
	s, err := c.SchemaOf(t.Context(), "views/x", Latest)
	if err != nil || s.ID != 5 || s.Version != 2 || s.Subject != "views/x" {
		t.Errorf("%+v %v", s, err)
	}
	if s, err = c.SchemaOf(t.Context(), "views/x", 1); err != nil || s.ID != 4 || len(s.ReferenceMap()) != 0 {
		t.Errorf("%+v %v", s, err)
	}
	if s, err = c.SchemaOf(t.Context(), "c", 1); err != nil || cmp.Diff([]string{schemaA, schemaB}, s.ReferenceTexts()) != "" || s.ReferenceMap()["B"] != schemaB {
		t.Errorf("%+v %v", s, err)
	}
	subjects, err := c.Subjects(t.Context())
	if d := cmp.Diff([]string{"a", "b", "c", "j", "views/x"}, subjects); d != "" || err != nil {
		t.Error(d, err)
	}
	versions, err := c.Versions(t.Context(), "views/x")
	if d := cmp.Diff([]int{1, 2}, versions); d != "" || err != nil {
		t.Error(d, err)
	}
	if level, err := c.Compatibility(t.Context(), "a"); err != nil || level != "BACKWARD" {
		t.Error(level, err)
	}
	if err := f.registry.SetCompat("a", sr.CompatFullTransitive); err != nil {
		t.Fatal(err)
	}
	if level, err := c.Compatibility(t.Context(), "a"); err != nil || level != "FULL_TRANSITIVE" {
		t.Error(level, err)
	}
}

func TestWhatIsNotThere(t *testing.T) {
	f := newFake(t, httptest.NewServer)
	f.fill()
	c := client(t, Config{URLs: []string{f.URL}})
	var unknown *UnknownID
	for range 100 {
		if _, err := c.SchemaByID(t.Context(), 99); !errors.As(err, &unknown) || unknown.ID != 99 {
			t.Fatal(err)
		}
	}
	if n := f.requests.Load(); n != 1 {
		t.Errorf("%d requests for an id that is not there", n)
	}
	for _, err := range []error{second(c.SchemaOf(t.Context(), "nobody", Latest)), second(c.SchemaOf(t.Context(), "a", 7)), second(c.Versions(t.Context(), "nobody"))} {
		if !sqlerr.HasKind(err, sqlerr.RegistryNotFound) {
			t.Errorf("%v", err)
		}
	}
	// Registered later: once the fact is old, it is asked for again.
	c.mu.Lock()
	c.absent[id{number: 99}] = time.Now().Add(-time.Millisecond)
	c.mu.Unlock()
	f.registry.SeedSchema("late", 1, 99, sr.Schema{Schema: schemaA})
	if _, err := c.SchemaByID(t.Context(), 99); err != nil {
		t.Error(err)
	}
}

// serveGUIDs makes f answer for schema 3's GUID, as registries do since 2025.
func (f *fake) serveGUIDs() {
	f.interfere(func(w http.ResponseWriter, r *http.Request) bool {
		guid, ok := strings.CutPrefix(r.URL.Path, "/schemas/guids/")
		switch {
		case !ok:
			return false
		case guid != guidC:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error_code":40403,"message":"Schema not found"}`)
		default:
			r.URL.Path = "/schemas/ids/3"
			f.registry.Handler().ServeHTTP(w, r)
		}
		return true
	})
}

const guidC = "89791762-2336-4186-9674-299b90a802e2"

func TestSchemasByGUID(t *testing.T) {
	f := newFake(t, httptest.NewServer)
	f.fill()
	c := client(t, Config{URLs: []string{f.URL}})
	// A registry of before GUIDs answers that the path is not there: that says nothing about the record.
	f.interfere(func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error_code":404,"message":"HTTP 404 Not Found"}`)
		return true
	})
	if _, err := c.SchemaByGUID(t.Context(), guidC); !sqlerr.HasKind(err, sqlerr.RegistryProtocol) || !strings.Contains(err.Error(), "does not know schemas by GUID") {
		t.Errorf("%v", err)
	}
	f.serveGUIDs()
	before := f.requests.Load()
	for range 3 {
		s, err := c.SchemaByGUID(t.Context(), guidC)
		if err != nil || s.Text != schemaC || len(s.References) != 2 {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	if n := f.requests.Load() - before; n != 3 { // the schema and its two references
		t.Errorf("%d requests", n)
	}
	before = f.requests.Load()
	var unknown *UnknownID
	for range 3 {
		if _, err := c.SchemaByGUID(t.Context(), "00000000-0000-0000-0000-000000000001"); !errors.As(err, &unknown) || !strings.Contains(err.Error(), "GUID 00000000-") {
			t.Fatal(err)
		}
	}
	if n := f.requests.Load() - before; n != 1 {
		t.Errorf("%d requests for a GUID that is not there", n)
	}
}

func second[V any](_ V, err error) error { return err }

// A hundred lanes that meet a new id at once cost one request.
func TestOneRequestForManyWhoWait(t *testing.T) {
	f := newFake(t, httptest.NewServer)
	f.fill()
	arrived, release := make(chan bool, 10), make(chan bool)
	f.interfere(func(http.ResponseWriter, *http.Request) bool {
		arrived <- true
		<-release
		return false
	})
	c := client(t, Config{URLs: []string{f.URL}})
	impatient, leave := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := c.SchemaByID(impatient, 1); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
	<-arrived
	for range 100 {
		wg.Go(func() {
			if s, err := c.SchemaByID(t.Context(), 1); err != nil || s.Text != schemaA {
				t.Errorf("%v %v", s, err)
			}
		})
	}
	waiting := func() int {
		c.byID.mu.Lock()
		defer c.byID.mu.Unlock()
		return c.byID.flying[id{number: 1}].waiting
	}
	for waiting() != 101 {
		runtime.Gosched()
	}
	leave() // the one who started it gives up; the others still want it
	for waiting() != 100 {
		runtime.Gosched()
	}
	close(release)
	wg.Wait()
	if n := f.requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestARequestThatNobodyWaitsForEnds(t *testing.T) {
	arrived, ended := make(chan bool), make(chan bool)
	f := newFake(t, httptest.NewServer)
	f.interfere(func(_ http.ResponseWriter, r *http.Request) bool {
		close(arrived)
		<-r.Context().Done()
		close(ended)
		return true
	})
	c := client(t, Config{URLs: []string{f.URL}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-arrived
		cancel()
	}()
	if _, err := c.SchemaByID(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	<-ended
}

func TestTriesAgainAndElsewhere(t *testing.T) {
	down := newFake(t, httptest.NewServer)
	down.Close()
	ill, well := newFake(t, httptest.NewServer), newFake(t, httptest.NewServer)
	ill.interfere(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	well.fill()
	c := client(t, Config{URLs: []string{down.URL, ill.URL, well.URL + "/"}})
	for id := 1; id <= 2; id++ {
		if _, err := c.SchemaByID(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if n := ill.requests.Load(); n != 1 {
		t.Errorf("%d requests to the URL that is ill, want 1: the one that answered stays the first", n)
	}

	// A fault that passes.
	var faults atomic.Int64
	well.interfere(func(w http.ResponseWriter, r *http.Request) bool {
		switch faults.Add(1) {
		case 1:
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			hijack(t, w) // the connection breaks
		case 3:
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, `{"error_code":50001,"message":"store error"}`)
		default:
			return false
		}
		return true
	})
	c = client(t, Config{URLs: []string{well.URL}})
	if _, err := c.SchemaByID(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

func hijack(t testing.TB, w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_ = conn.Close()
}

func TestErrorsOfTheRegistry(t *testing.T) {
	answer := func(code int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(code)
			fmt.Fprint(w, body)
			return true
		}
	}
	for _, c := range []struct {
		name   string
		before func(http.ResponseWriter, *http.Request) bool
		kind   *sqlerr.Kind
		text   string
	}{
		{"refused login", answer(401, `{"error_code":401,"message":"no"}`), sqlerr.RegistryAuth, "HTTP 401"},
		{"no right to read", answer(403, ``), sqlerr.RegistryAuth, "HTTP 403"},
		{"a page of something else", answer(200, `<html>hello</html>`), sqlerr.RegistryProtocol, "is not a schema registry"},
		{"a wrong path", answer(404, `404 page not found`), sqlerr.RegistryProtocol, "HTTP 404"},
		{"no answer for long", answer(500, `{"error_code":50001,"message":"store\n error"}`), sqlerr.RegistryUnreachable, "HTTP 500: store error"},
		{"an endless answer", func(w http.ResponseWriter, r *http.Request) bool {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					break
				}
			}
			return true
		}, sqlerr.RegistryProtocol, "too large"},
		{"an answer that is announced as too large", func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Length", "99999999999")
			return true
		}, sqlerr.RegistryProtocol, "too large"},
		{"silence", func(_ http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			return true
		}, sqlerr.RegistryTimeout, "within 300ms"},
		{"a way to elsewhere", func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
			return true
		}, sqlerr.RegistryProtocol, "redirects to http://169.254.169.254"},
		{"a way in a circle", func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return true
		}, sqlerr.RegistryProtocol, "more than 3 times"},
		{"references in a circle", func(w http.ResponseWriter, _ *http.Request) bool {
			fmt.Fprint(w, `{"subject":"x","version":1,"id":1,"schema":"{}","references":[{"name":"X","subject":"x","version":1}]}`)
			return true
		}, sqlerr.RegistryProtocol, "circle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(t, httptest.NewServer)
			f.interfere(c.before)
			cl := client(t, Config{URLs: []string{strings.Replace(f.URL, "http://", "http://user:s3cret@", 1)}, Patience: 300 * time.Millisecond, Timeout: 100 * time.Millisecond, MaxAnswer: 1 << 16})
			_, err := cl.SchemaByID(t.Context(), 1)
			if !sqlerr.HasKind(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v", err)
			}
			if strings.Contains(fmt.Sprintf("%v %+v", err, errors.Unwrap(err)), "s3cret") || strings.Contains(cl.URL(), "user") {
				t.Errorf("a secret in %v", err)
			}
		})
	}
}

// A registry that takes connections and says nothing costs the first who ask their patience, and nobody else for a while.
func TestASilentRegistry(t *testing.T) {
	var accepted atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	open.Go(func() {
		var held []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			accepted.Add(1)
			held = append(held, c)
		}
		for _, c := range held {
			c.Close()
		}
	})
	defer open.Wait()
	defer l.Close()
	const patience = 200 * time.Millisecond
	c := client(t, Config{URLs: []string{"http://" + l.Addr().String()}, Patience: patience})
	begin := time.Now()
	_, err = c.SchemaByID(t.Context(), 1)
	if e, ok := sqlerr.As(err); !ok || e.Kind != sqlerr.RegistryTimeout || !strings.Contains(e.Msg, "does not answer within 200ms") || !strings.Contains(e.Hint, "schemaRegistryTimeout") {
		t.Errorf("%v", err)
	}
	if took := time.Since(begin); took > 20*patience {
		t.Errorf("took %s", took)
	}
	before := accepted.Load()
	for range 50 {
		if _, err := c.SchemaOf(t.Context(), "s", Latest); !sqlerr.HasKind(err, sqlerr.RegistryTimeout) {
			t.Errorf("%v", err)
		}
	}
	if n := accepted.Load() - before; n != 0 {
		t.Errorf("asked %d times more", n)
	}
	// After a while it is asked again, and may answer.
	c.mu.Lock()
	c.silentUntil = time.Now().Add(-time.Millisecond)
	c.mu.Unlock()
	if _, err := c.SchemaOf(t.Context(), "s", Latest); !sqlerr.HasKind(err, sqlerr.RegistryTimeout) || accepted.Load() == before {
		t.Errorf("%v, asked %d times more", err, accepted.Load()-before)
	}
	if full, err := (Config{URLs: []string{"a", "b"}}).complete(); err != nil || full.Patience > 10*time.Second || full.Timeout > full.Patience/2 {
		t.Errorf("%+v, %v", full, err)
	}
}

func TestLogins(t *testing.T) {
	f := newFake(t, httptest.NewServer)
	f.fill()
	var mu sync.Mutex
	var got string
	f.interfere(func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if user, password, ok := r.BasicAuth(); ok {
			got = user + ":" + password
		} else {
			got = r.Header.Get("Authorization")
		}
		return false
	})
	for want, c := range map[string]Config{
		"":           {URLs: []string{f.URL}},
		"u:p":        {URLs: []string{f.URL}, User: "u", Password: "p"},
		"u:p@ss":     {URLs: []string{strings.Replace(f.URL, "http://", "http://u:p%40ss@", 1)}},
		"Bearer tok": {URLs: []string{f.URL}, Token: "tok"},
	} {
		if _, err := client(t, c).SchemaByID(t.Context(), 1); err != nil {
			t.Error(err)
		}
		mu.Lock()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
		mu.Unlock()
	}
}

func TestAddressesAreAskedFor(t *testing.T) {
	f := newFake(t, httptest.NewServer)
	f.fill()
	var asked []string
	allow := func(hostPort string, ip net.IP) error {
		asked = append(asked, fmt.Sprintf("%s %v", hostPort, ip.IsLoopback()))
		return sqlerr.New(sqlerr.KafkaHostRefused, "'%s' is not covered by --allow-hosts", hostPort)
	}
	_, err := client(t, Config{URLs: []string{f.URL}, Allow: allow}).SchemaByID(t.Context(), 1)
	if !sqlerr.HasKind(err, sqlerr.RegistryHostRefused) || len(asked) != 1 || asked[0] != strings.TrimPrefix(f.URL, "http://")+" true" {
		t.Errorf("%v %q", err, asked)
	}
	if f.requests.Load() != 0 {
		t.Error("it was asked all the same")
	}
}

func TestTLS(t *testing.T) {
	f := newFake(t, func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = quiet
		s.StartTLS()
		return s
	})
	f.fill()
	authorities := x509.NewCertPool()
	authorities.AddCert(f.Certificate())
	if _, err := client(t, Config{URLs: []string{f.URL}, TLS: &tls.Config{RootCAs: authorities}}).SchemaByID(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if _, err := client(t, Config{URLs: []string{f.URL}}).SchemaByID(t.Context(), 1); !sqlerr.HasKind(err, sqlerr.RegistryTLS) {
		t.Errorf("unknown authority: %v", err)
	}
	if _, err := client(t, Config{URLs: []string{strings.Replace(f.URL, "https", "http", 1)}}).SchemaByID(t.Context(), 1); !sqlerr.HasKind(err, sqlerr.RegistryProtocol) {
		t.Errorf("http to https: %v", err)
	}
	plain := newFake(t, httptest.NewServer)
	if _, err := client(t, Config{URLs: []string{strings.Replace(plain.URL, "http", "https", 1)}}).SchemaByID(t.Context(), 1); !sqlerr.HasKind(err, sqlerr.RegistryTLS) {
		t.Errorf("https to http: %v", err)
	}

	// A registry that wants a certificate from its clients.
	mutual := newFake(t, func(h http.Handler) *httptest.Server {
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = quiet
		s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
		s.StartTLS()
		return s
	})
	mutual.fill()
	authorities.AddCert(mutual.Certificate())
	if _, err := client(t, Config{URLs: []string{mutual.URL}, TLS: &tls.Config{RootCAs: authorities, Certificates: mutual.Server.TLS.Certificates}}).SchemaByID(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if _, err := client(t, Config{URLs: []string{mutual.URL}, TLS: &tls.Config{RootCAs: authorities}}).SchemaByID(t.Context(), 1); !sqlerr.HasKind(err, sqlerr.RegistryTLS) {
		t.Errorf("no client certificate: %v", err)
	}
}

func TestConfigs(t *testing.T) {
	for _, c := range []struct {
		config Config
		kind   *sqlerr.Kind
	}{
		{Config{}, sqlerr.OptionMissing},
		{Config{URLs: []string{"ftp://x"}}, sqlerr.OptionInvalid},
		{Config{URLs: []string{"http://"}}, sqlerr.OptionInvalid},
		{Config{URLs: []string{"http://a b:secret@x%zz"}}, sqlerr.OptionInvalid},
		{Config{URLs: []string{"http://x"}, User: "u", Token: "t"}, sqlerr.OptionConflict},
	} {
		_, err := New(c.config)
		if !sqlerr.HasKind(err, c.kind) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: %v", c.config.URLs, err)
		}
	}
	for given, want := range map[string]string{"localhost:8081": "http://localhost:8081", " http://h/apis/ccompat/v7/ ": "http://h/apis/ccompat/v7", "https://u:p@h?x=1": "https://h"} {
		c, err := New(Config{URLs: []string{given}})
		if err != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		if c.URL() != want {
			t.Errorf("%s became %s", given, c.URL())
		}
		c.Close()
	}
}

// A user with a wrong port or a misspelt host waited for a minute, and got an error without a hint.
func TestAddressesWithoutARegistryFailSoon(t *testing.T) {
	listen := func(answer func(net.Conn)) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				answer(conn)
				_ = conn.Close()
			}
		}()
		t.Cleanup(func() { _ = l.Close(); <-done })
		return "http://" + l.Addr().String()
	}
	nobody := httptest.NewServer(nil)
	nobody.Close()
	for _, c := range []struct {
		name, url string
		kind      *sqlerr.Kind
		most      time.Duration
	}{
		{"nobody listens", nobody.URL, sqlerr.RegistryUnreachable, 5 * time.Second},
		{"no such host", "http://no-such-host.invalid:8081", sqlerr.RegistryUnreachable, 10 * time.Second},
		{"not HTTP", listen(func(c net.Conn) { fmt.Fprint(c, "J\x00\x00\x00\n8.0.36\x00\r\n\r\n") }), sqlerr.RegistryProtocol, 5 * time.Second},
		{"a listener that hangs up", listen(func(c net.Conn) { _, _ = c.Read(make([]byte, 512)) }), sqlerr.RegistryUnreachable, 5 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			_, err := client(t, Config{URLs: []string{c.url}}).SchemaOf(t.Context(), "orders-value", Latest)
			e, ok := sqlerr.As(err)
			if !ok || !sqlerr.HasKind(err, c.kind) || e.Hint == "" {
				t.Errorf("%v", err)
			}
			if took := time.Since(begin); took > c.most {
				t.Errorf("took %s", took)
			}
		})
	}
}
