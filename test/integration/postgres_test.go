//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"millrace/internal/testkit"
)

// newDatabase makes a database in the PostgreSQL of the suite, and gives its URL.
func newDatabase(t *testing.T) *url.URL {
	t.Helper()
	u, err := url.Parse(env(t, "MILLRACE_TEST_POSTGRES"))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	name := fmt.Sprintf("integration_%d", time.Now().UnixNano())
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u
}

// The servers of docker-compose.postgres.yml, run without containers: the same arguments, but for ports, data directories and where PostgreSQL is.
func TestComposedServersShareADatabase(t *testing.T) {
	b, err := os.ReadFile("../../docker-compose.postgres.yml")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^    command: (\["serve".*\])$`).FindAllSubmatch(b, -1)
	if len(commands) != 2 {
		t.Fatalf("%d servers, want 2", len(commands))
	}
	at := newDatabase(t)
	password, _ := at.User.Password()
	t.Setenv("MILLRACE_STORE_PASSWORD", password)
	store := (&url.URL{Scheme: "postgres", User: url.User(at.User.Username()), Host: at.Host, Path: at.Path, RawQuery: at.RawQuery}).String()
	var servers []*server
	for _, command := range commands {
		var args []string
		if err := json.Unmarshal(command[1], &args); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		args = args[1:]
		for i := range args {
			args[i] = strings.NewReplacer(":3307", ":0", ":8307", ":0", "/data", dir, "postgres://millrace@postgres:5432/millrace", store).Replace(args[i])
		}
		servers = append(servers, start(t, dir, args...))
	}
	one, other := servers[0].open(t, ""), servers[1].open(t, "")
	for _, statement := range []string{"CREATE DATABASE shop", "CREATE TABLE shop.t (id BIGINT)", "INSERT INTO shop.t VALUES (40), (2)", "CREATE VIEW shop.v AS SELECT sum(id) AS n FROM shop.t"} {
		if _, err := one.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	deadline := time.Now().Add(testkit.Patience)
	for {
		var n int
		err := other.QueryRow("SELECT n FROM shop.v").Scan(&n)
		if err == nil && n == 42 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the other server gives %d, %v", n, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, s := range servers {
		if text := s.log.String(); strings.Contains(text, password) {
			t.Error("the log has the password")
		}
	}
}
