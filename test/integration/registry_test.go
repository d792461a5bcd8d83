//go:build integration

package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/sr"
)

// Keys and values that are written with schemas in a registry are read by them, and a schema that the subject's rules do not allow ends the statement before a row is written.
func TestSchemasOfASinkInARegistry(t *testing.T) {
	_, adm := client(t)
	to := topic(t, adm, 1, nil)
	rules, err := sr.NewClient(sr.URLs(env(t, "REGISTRY_URL")))
	if err != nil {
		t.Fatal(err)
	}
	db := sharedServer(t).open(t, "")
	where := fmt.Sprintf("(bootstrapServers => '%s', keyFormat => 'avro', format => 'avro', schemaRegistryUrl => '%s', ", env(t, "KAFKA_PLAINTEXT"), env(t, "REGISTRY_URL"))
	write := "INSERT INTO write_kafka" + where + "topic => '" + to + "') "
	if _, err := db.Exec(write + "SELECT 'k1' AS key, 7 AS id, 'tea' AS name"); err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{to + "-key", to + "-value"} {
		for _, r := range rules.SetCompatibility(t.Context(), sr.SetCompatibility{Level: sr.CompatBackward}, subject) {
			if r.Err != nil {
				t.Fatal(subject, r.Err)
			}
		}
	}
	for _, c := range []struct{ end, columns string }{{"-key", "7 AS key, 7 AS id, 'tea' AS name"}, {"-value", "'k1' AS key, 'seven' AS id, 'tea' AS name"}} {
		_, err := db.Exec(write + "SELECT " + c.columns)
		var refused *mysql.MySQLError
		if !errors.As(err, &refused) || refused.Number != 31077 || !strings.Contains(refused.Message, "does not take the schema for subject '"+to+c.end+"'") {
			t.Errorf("%s: %v", c.columns, err)
		}
	}
	// A column more is compatible.
	if _, err := db.Exec(write + "SELECT 'k2' AS key, 8 AS id, 'oil' AS name, 1.5::double AS price"); err != nil {
		t.Fatal(err)
	}
	got := named(t, db, "SELECT `key`, id, name, price FROM read_kafka"+where+"subscribe => '"+to+"') ORDER BY _offset")
	if d := cmp.Diff([]string{"key=k1 id=7 name=tea price=NULL", "key=k2 id=8 name=oil price=1.5"}, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}
