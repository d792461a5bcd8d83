package server

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
)

// givenStore lets the tests of this package run on PostgreSQL: go test ./server -args -store postgres://…
var givenStore = flag.String("store", "", "a server of PostgreSQL that tables, definitions and users are kept in, instead of the data directories")

// storeOf is the store of a data directory: a database of its own when a server was given.
func storeOf(t testing.TB, dir string) string {
	t.Helper()
	if *givenStore == "" || dir == "" {
		return ""
	}
	u, err := url.Parse(*givenStore)
	if err != nil {
		t.Fatal(err)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(dir)) // never fails
	name := fmt.Sprintf("server_%x", h.Sum64())
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, *givenStore)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var there bool
	if err := conn.QueryRow(ctx, "SELECT count(*) > 0 FROM pg_database WHERE datname = $1", name).Scan(&there); err != nil {
		t.Fatal(err)
	}
	if !there {
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			conn, err := pgx.Connect(ctx, *givenStore)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close(ctx)
			if _, err := conn.Exec(ctx, "DROP DATABASE "+name); err != nil {
				t.Error(err)
			}
		})
	}
	u.Path = "/" + name
	return u.String()
}
