package pgcatalog

import (
	"context"
	"crypto/rand"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"millrace/internal/catalog"
	"millrace/internal/catalog/catalogtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// variable names a PostgreSQL server whose user may create databases.
const variable = "MILLRACE_TEST_POSTGRES"

// database makes a database that is dropped with the test, and gives its URL.
func database(t *testing.T) string {
	t.Helper()
	server := os.Getenv(variable)
	if server == "" {
		t.Skipf("%s names no server (scripts/postgres/server starts one)", variable)
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatal(err)
	}
	name := "catalog_" + strings.ToLower(rand.Text())
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := conn.Exec(ctx, "DROP DATABASE "+name); err != nil {
			t.Error(err)
		}
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

func TestDocument(t *testing.T) {
	catalogtest.Run(t, catalogtest.Backend{Shared: true, Place: func(t *testing.T) func() (catalog.Document, error) {
		at := database(t)
		return func() (catalog.Document, error) { return Open(context.Background(), at, Options{}) }
	}})
}

// A replica that takes over without the last commits counts on from an earlier version: a number that a server knows comes again with another content.
func TestAVersionThatComesAgainIsNoticed(t *testing.T) {
	ctx := context.Background()
	at := database(t)
	open := func() *catalog.Catalog {
		d, err := Open(ctx, at, Options{})
		if err != nil {
			t.Fatal(err)
		}
		c, err := catalog.New(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
		return c
	}
	add := func(c *catalog.Catalog, name string) {
		t.Helper()
		if err := c.Update(func(s *catalog.State) error { s.Databases[name] = catalog.Database{Name: name}; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	names := func(c *catalog.Catalog) string {
		return strings.Join(slices.Sorted(maps.Keys(c.State().Databases)), " ")
	}
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()

	knows := open()
	add(knows, "first")
	if _, err := conn.Exec(ctx, "CREATE TABLE replica AS SELECT * FROM millrace.catalog"); err != nil {
		t.Fatal(err)
	}
	takeOver := func() {
		t.Helper()
		if _, err := conn.Exec(ctx, "UPDATE millrace.catalog SET (version, writer, content) = (SELECT version, writer, content FROM replica)"); err != nil {
			t.Fatal(err)
		}
	}
	add(knows, "lost")
	takeOver()
	add(open(), "second")
	before := knows.Version()
	if changed, err := knows.Refresh(ctx); err != nil || !changed || names(knows) != "first second" || knows.Version() <= before {
		t.Errorf("changed is %v, %v; it holds %s", changed, err, names(knows))
	}
	if changed, err := knows.Refresh(ctx); err != nil || changed {
		t.Errorf("what has not changed is read again: %v", err)
	}
	takeOver()
	add(open(), "third")
	add(knows, "fourth") // of a state that is gone
	if got := names(knows); got != "first fourth third" {
		t.Errorf("after a change: %s", got)
	}
	takeOver()
	before = knows.Version()
	if changed, err := knows.Refresh(ctx); err != nil || !changed || names(knows) != "first" || knows.Version() <= before {
		t.Errorf("an earlier version: %v, %v, %s", changed, err, names(knows))
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	at := database(t)
	for _, c := range []struct {
		name   string
		change func(*url.URL)
		want   []string
	}{
		{"no server", func(u *url.URL) { u.Host = "127.0.0.1:1" }, []string{"postgres://127.0.0.1:1/", "connection refused"}},
		{"no database", func(u *url.URL) { u.Path = "/nowhere" }, []string{"does not exist", "3D000"}},
		{"no user", func(u *url.URL) { u.User = url.UserPassword("nobody", "canary") }, []string{"nobody"}},
		{"a parameter mistyped", func(u *url.URL) { u.RawQuery = "sslmod=disable&sslmode=disable" }, []string{"'sslmod'", "--store", "did you mean 'sslmode'?"}},
		{"a setting with a bad value", func(u *url.URL) { u.RawQuery = "sslmode=disable&work_mem=much" }, []string{"--store", "'work_mem'"}},
		{"TLS where there is none", func(u *url.URL) { u.RawQuery = "sslmode=require" }, []string{"TLS"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			u, err := url.Parse(at)
			if err != nil {
				t.Fatal(err)
			}
			c.change(u)
			d, err := Open(context.Background(), u.String(), Options{})
			if err == nil {
				_ = d.Close()
				t.Fatal("it opens")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("%q shows a password", err)
			}
		})
	}
}

// The reason that the parser of URLs gives quotes the part it could not read, which was the password when a space or a '/' stood in the wrong place.
func TestURLsAreReadWithoutShowingThem(t *testing.T) {
	for _, bad := range []string{"postgres://postgres:// u:canary@host", "postgres://u:canary/x@host/db", "postgres://u:canary%zz@h/db", "postgres://u@h/db?password=canary%zz",
		"postgres://u:canary@host:port/db", "postgres://u:canary@[::1/db", "mysql://u:canary@h/db", "postgres://u:canary@h/db?sslmode=what", "postgres://u:canary@h/db?connect_timeout=x"} {
		_, err := Open(context.Background(), bad, Options{})
		if err == nil || strings.Contains(err.Error(), "canary") || !strings.Contains(err.Error(), "'--store'") {
			t.Errorf("%v", err)
		}
	}
}
