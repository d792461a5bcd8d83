//go:build integration

package integration

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// orders are the records of test/serializers as their columns show them.
var orders = map[string][]string{
	"avro": {
		`id=1 name=tea price=12.30 weight=0.250 score=0.1 at=2026-03-01 12:34:56.789 micros=2026-03-01 12:34:56.789123 day=2026-03-01 token=6ba7b810-9dad-11d1-80b4-00c04fd430c8 status=PAID note=a "note" raw=00ff tags=["a","b"] stock={"oslo":9007199254740993} home={"city":"Praha","zip":"110 00"}`,
		`id=-9223372036854775808 name= price=-0.01 weight=-1234567.891 score=-1e+300 at=1969-12-31 23:59:59.999 micros=0001-01-01 00:00:00.000000 day=0001-01-01 token=00000000-0000-0000-0000-000000000000 status=NEW note=NULL raw= tags=[] stock={} home={"city":"","zip":null}`,
		`id=9223372036854775807 name=žluťoučký kůň 🎉 price=9999999999.99 weight=1.000 score=5e-324 at=9999-12-31 23:59:59.999 micros=9999-12-31 23:59:59.999999 day=9999-12-31 token=ffffffff-ffff-ffff-ffff-ffffffffffff status=SHIPPED note= raw=c5be tags=["🎉","🎉","🎉"] stock={"a":-1} home={"city":"Łódź","zip":""}`,
	},
	"json": {
		`id=1 name=tea score=0.1 day=2026-03-01 note=a "note" tag=a`,
		`id=-9223372036854775808 name= score=-1e+300 day=0001-01-01 note=NULL tag=NULL`,
		`id=9223372036854775807 name=žluťoučký kůň 🎉 score=5e-324 day=9999-12-31 note= tag=🎉`,
	},
	"proto": {
		`id=1 name=tea big=18446744073709551615 score=0.1 at=2026-03-01 12:34:56.789123 status=NEW raw=00ff tags=["a","b"] sizes=[-1,0,1]`,
		`id=-9223372036854775808 name= big=18446744073709551614 score=-1e+300 at=0001-01-01 00:00:00.000000 status=PAID raw= tags=[] sizes=[-1,0,1]`,
		`id=9223372036854775807 name=žluťoučký kůň 🎉 big=18446744073709551613 score=5e-324 at=9999-12-31 23:59:59.999999 status=SHIPPED raw=c5be tags=["🎉","🎉","🎉"] sizes=[-1,0,1]`,
	},
}

// orderColumns are what is selected: bytes in hexadecimal, and of JSON as it was written no more than one value,
// because serializers differ in what they escape.
var orderColumns = map[string]string{
	"avro":  "id, name, price, weight, score, at, micros, day, token, status, note, lower(hex(raw)) AS raw, tags, stock, home",
	"json":  "id, name, score, day, note, json_unquote(json_extract(tags, '$[0]')) AS tag",
	"proto": "id, name, big, score, at, status, lower(hex(raw)) AS raw, tags, sizes",
}

func TestRecordsOfOtherSerializers(t *testing.T) {
	clients := map[string][]string{
		"python": {"python3", "../serializers/write.py", env(t, "KAFKA_PLAINTEXT"), env(t, "REGISTRY_URL")},
		"java": {"java", "-cp", env(t, "TEST_JAVA_SERIALIZERS") + ":" + env(t, "TEST_JAVA_SERIALIZERS") + "/libs/*", "Write", env(t, "KAFKA_PLAINTEXT"), env(t, "REGISTRY_URL"),
			env(t, "REGISTRY_NATIVE_URL")},
	}
	for who, command := range clients {
		t.Run(who, func(t *testing.T) {
			_, adm := client(t)
			prefix := fmt.Sprintf("%s-%d", who, time.Now().UnixNano())
			formats := map[string]string{"avro": "avro", "json": "json", "proto": "proto"}
			if who == "java" {
				formats["blocks"] = "avro"
			}
			for name := range formats {
				if _, err := adm.CreateTopic(t.Context(), 1, 1, nil, prefix+"-"+name); err != nil {
					t.Fatal(err)
				}
			}
			run := exec.Command(command[0], append(command[1:], prefix)...)
			run.Env = append(os.Environ(), "PYTHONPATH="+env(t, "TEST_PYTHON_SERIALIZERS"), "PYTHONIOENCODING=utf-8", "LC_ALL=C.UTF-8", "JAVA_TOOL_OPTIONS=-Dfile.encoding=UTF-8")
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			db := sharedServer(t).open(t, "")
			for name, format := range formats {
				args := fmt.Sprintf("bootstrapServers => '%s', subscribe => '%s-%s', format => '%s', schemaRegistryUrl => '%s'",
					env(t, "KAFKA_PLAINTEXT"), prefix, name, format, env(t, "REGISTRY_URL"))
				switch name {
				case "blocks":
					args += ", schemaRegistrySubject => '" + prefix + "-avro-value'" // they carry the same id
				case "proto":
					args += ", messageName => 'shop.Outer.Order'"
				}
				got := named(t, db, "SELECT "+orderColumns[format]+" FROM read_kafka("+args+") ORDER BY _offset")
				if d := cmp.Diff(orders[format], got); d != "" {
					t.Errorf("%s: -want +got:\n%s", name, d)
				}
			}
		})
	}
}

// named runs a query and shows each row as name=value.
func named(t *testing.T, db *sql.DB, query string) (shown []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, ptrs := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		ptrs[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			t.Fatal(err)
		}
		var row []string
		for i, v := range values {
			if !v.Valid {
				v.String = "NULL"
			}
			row = append(row, names[i]+"="+v.String)
		}
		shown = append(shown, strings.Join(row, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return shown
}
