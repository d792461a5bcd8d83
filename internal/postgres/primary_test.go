package postgres

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestAFormerPrimaryIsRefused(t *testing.T) {
	var p Primary
	for _, c := range []struct {
		name     string
		system   string
		timeline uint64
		newer    bool
		refused  string
	}{
		{"the first server", "a", 1, false, ""},
		{"the same one again", "a", 1, false, ""},
		{"one that was promoted", "a", 3, true, ""},
		{"the former one comes back", "a", 1, false, "its timeline is 1, that of the other one 3"},
		{"the promoted one again", "a", 3, false, ""},
		{"a database that was made anew", "b", 1, true, ""},
	} {
		newer, err := p.meet(c.system, c.timeline)
		if newer != c.newer || (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: newer %v, error %v", c.name, newer, err)
		}
	}
}

func TestHostsOfAURL(t *testing.T) {
	for url, want := range map[string][]string{
		"postgres://u:p@a/db":                            {"a:5432"},
		"postgres://u:p@a,b/db?target_session_attrs=any": {"a:5432", "b:5432"},
		"postgres://u:p@a:1,b:2/db?sslmode=disable":      {"a:1", "b:2"},
	} {
		c, err := pgconn.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		if got := Hosts(c); !slices.Equal(got, want) {
			t.Errorf("%s has the servers %v, want %v", url, got, want)
		}
		if got := Address(c); strings.Contains(got, "p@") || !strings.HasSuffix(got, "/db") {
			t.Errorf("%s is called %s", url, got)
		}
	}
}
