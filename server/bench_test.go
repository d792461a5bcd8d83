package server

import (
	"database/sql"
	"fmt"
	"testing"
)

// The smallest statement there is, over the wire: what a statement costs before it does anything.
func BenchmarkSmallStatement(b *testing.B) {
	db := start(b).connect(b, "root@/main")
	if _, err := db.Exec("CREATE TABLE small (id BIGINT PRIMARY KEY, name VARCHAR(32))"); err != nil {
		b.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO small VALUES (1, 'a'), (2, 'b'), (3, 'c')"); err != nil {
		b.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE kv (id BIGINT PRIMARY KEY, name VARCHAR(32), amount DOUBLE)"); err != nil {
		b.Fatal(err)
	}
	for from := 0; from < 10_000; from += 500 { // as many pieces in the store
		insert := "INSERT INTO kv VALUES (0, 'none', 0)"
		for id := from + 1; id < from+500; id++ {
			insert += fmt.Sprintf(", (%d, 'name-%06d', %d.5)", id, id, id)
		}
		if _, err := db.Exec(insert); err != nil {
			b.Fatal(err)
		}
	}
	for name, run := range map[string]func(b *testing.B) error{
		"text": func(*testing.B) error {
			var n int
			return db.QueryRow("SELECT 1").Scan(&n)
		},
		"point text": func(*testing.B) error {
			var n int
			return db.QueryRow("SELECT id FROM small WHERE id = 2").Scan(&n)
		},
		"point":    prepared(b, db, "SELECT id FROM small WHERE id = ?", 2),
		"large":    prepared(b, db, "SELECT id FROM kv WHERE id = ?", 4711),
		"prepared": prepared(b, db, "SELECT ? + 1", 41),
		"dialect":  prepared(b, db, "SELECT '{\"a\":1}':a::bigint + ?", 1),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := run(b); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func prepared(b *testing.B, db *sql.DB, query string, args ...any) func(*testing.B) error {
	stmt, err := db.Prepare(query)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = stmt.Close() })
	return func(*testing.B) error {
		var n int
		return stmt.QueryRow(args...).Scan(&n)
	}
}
