package wire

import (
	"bytes"
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// dial opens a pool of one connection.
func dial(t testing.TB, s *testServer, change func(*mysql.Config)) *sql.DB {
	t.Helper()
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr, cfg.MaxAllowedPacket = "root", "tcp", s.addr, 128<<20
	cfg.Logger = &mysql.NopLogger{}
	if change != nil {
		change(cfg)
	}
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// query returns all rows as text, joined by commas.
func query(db *sql.DB, text string, args ...any) (out []string, err error) {
	rows, err := db.Query(text, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for {
		cols, err := rows.Columns()
		if err != nil {
			return out, err
		}
		values := make([]sql.NullString, len(cols))
		into := make([]any, len(cols))
		for i := range values {
			into[i] = &values[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				return out, err
			}
			line := make([]string, len(values))
			for i, v := range values {
				line[i] = v.String
				if !v.Valid {
					line[i] = "NULL"
				}
			}
			out = append(out, strings.Join(line, ","))
		}
		if rows.Err() != nil || !rows.NextResultSet() {
			return out, rows.Err()
		}
	}
}

// wantError fails unless err is the server's error with the number and a part of its text.
func wantError(t testing.TB, err error, number uint16, text string) {
	t.Helper()
	var e *mysql.MySQLError
	if !errors.As(err, &e) || e.Number != number || !strings.Contains(e.Message, text) {
		t.Fatalf("got error %v, want number %d with %q", err, number, text)
	}
}

// alive fails unless the connection works.
func alive(t testing.TB, db *sql.DB) {
	t.Helper()
	got, err := query(db, "rows 2")
	if err != nil || strings.Join(got, " ") != "0,row 0 1,row 1" {
		t.Fatalf("connection is not usable: %v, %v", got, err)
	}
}

// modes are the ways to use a connection that must make no difference to results.
var modes = map[string]func(*mysql.Config){
	"plain":      nil,
	"compressed": func(c *mysql.Config) { c.Apply(mysql.EnableCompression(true)) },
	"tls":        func(c *mysql.Config) { c.TLS = &tls.Config{InsecureSkipVerify: true} },
	"compressed tls": func(c *mysql.Config) {
		c.TLS = &tls.Config{InsecureSkipVerify: true}
		c.Apply(mysql.EnableCompression(true))
	},
}

func inAllModes(t *testing.T, f func(*testing.T, *testServer, *sql.DB)) {
	s := start(t, func(c *Config) { c.TLS = serverTLS() })
	for name, change := range modes {
		t.Run(name, func(t *testing.T) { f(t, s, dial(t, s, change)) })
	}
}

func TestRowsArriveInTextAndBinary(t *testing.T) {
	inAllModes(t, func(t *testing.T, s *testServer, db *sql.DB) {
		for _, text := range []string{"rows 3", "batch 3"} {
			for _, args := range [][]any{nil, {int64(3)}} {
				q := text
				if args != nil {
					q = strings.Replace(text, "3", "?", 1)
				}
				got, err := query(db, q, args...)
				if err != nil || strings.Join(got, " ") != "0,row 0 1,row 1 2,row 2" {
					t.Errorf("%s: %v, %v", q, got, err)
				}
			}
		}
		alive(t, db)
	})
}

func TestManyRowsArriveComplete(t *testing.T) {
	inAllModes(t, func(t *testing.T, s *testServer, db *sql.DB) {
		for _, q := range []string{"rows 50000", "batch 50000"} {
			got, err := query(db, q)
			if err != nil || len(got) != 50000 || got[49999] != "49999,row 49999" {
				t.Fatalf("%s: %d rows, %v", q, len(got), err)
			}
		}
	})
}

func TestErrorAfterRowsLeavesConnectionUsable(t *testing.T) {
	inAllModes(t, func(t *testing.T, s *testServer, db *sql.DB) {
		for _, q := range []string{"fail after 0", "fail after 1", "fail after 10000"} {
			_, err := query(db, q)
			wantError(t, err, 1292, "\nhint: mend it")
			alive(t, db)
		}
		_, err := query(db, "fail after ?", int64(5))
		wantError(t, err, 1292, "bad value in row 5")
		alive(t, db)
	})
}

// Payloads of a multiple of 16 MB - 1 end with an empty packet, and a value's length takes 9 bytes from 16 MB.
func TestPayloadsAroundSixteenMegabytes(t *testing.T) {
	inAllModes(t, func(t *testing.T, s *testServer, db *sql.DB) {
		sizes := []int{maxPayload - 4, 34 << 20}
		if t.Name() == "TestPayloadsAroundSixteenMegabytes/plain" {
			sizes = []int{maxPayload - 10, maxPayload - 5, maxPayload - 4, maxPayload - 3, maxPayload, maxPayload + 1, 2*maxPayload - 10, 2*maxPayload - 9, 2*maxPayload - 8, 34 << 20}
		}
		for _, n := range sizes {
			var got sql.RawBytes
			rows, err := db.Query("value ?", int64(n))
			if err != nil {
				t.Fatal(err)
			}
			if !rows.Next() || rows.Scan(&got) != nil || len(got) != n || len(bytes.Trim(got, "x")) != 0 {
				t.Fatalf("value of %d bytes: got %d, %v", n, len(got), rows.Err())
			}
			if rows.Next() || rows.Close() != nil || rows.Err() != nil {
				t.Fatalf("after a value of %d bytes: %v", n, rows.Err())
			}
			alive(t, db)
		}
	})
}

func TestLargeStatementsAndParameters(t *testing.T) {
	inAllModes(t, func(t *testing.T, s *testServer, db *sql.DB) {
		sizes := []int{maxPayload - 1, 17 << 20}
		if t.Name() == "TestLargeStatementsAndParameters/plain" {
			sizes = []int{maxPayload - 2, maxPayload - 1, maxPayload, 17 << 20, 2*maxPayload - 1}
		}
		for _, n := range sizes {
			text := "ok " + strings.Repeat("z", n-3)
			if _, err := db.Exec(text); err != nil {
				t.Fatalf("statement of %d bytes: %v", n, err)
			}
			if got := s.fake.queries[len(s.fake.queries)-1]; got != text {
				t.Fatalf("statement of %d bytes arrived with %d", n, len(got))
			}
		}
		blob := bytes.Repeat([]byte{0, 0xff, '\'', '\\'}, 5<<20)
		if _, err := db.Exec("ok ?", blob); err != nil {
			t.Fatal(err)
		}
		if got := s.fake.lastArgs()[0].V; got != string(blob) {
			t.Fatalf("parameter arrived as %T", got)
		}
		alive(t, db)
	})
}

func TestSeveralStatementsGiveSeveralResults(t *testing.T) {
	s := start(t, nil)
	db := dial(t, s, func(c *mysql.Config) { c.MultiStatements = true })
	got, err := query(db, "rows 1;batch 2;rows 1")
	if err != nil || strings.Join(got, " ") != "0,row 0 0,row 0 1,row 1 0,row 0" {
		t.Fatal(got, err)
	}
	got, err = query(db, "rows 1;fail after 1;rows 1")
	if len(got) != 2 {
		t.Fatal(got, err)
	}
	wantError(t, err, 1292, "bad value")
	alive(t, db)
}

func TestCancelOfTheClientReachesTheStatement(t *testing.T) {
	inAllModes(t, func(t *testing.T, s *testServer, db *sql.DB) {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() {
			rows, err := db.QueryContext(ctx, "wait")
			if err == nil {
				for rows.Next() {
				}
				err = rows.Err()
				_ = rows.Close()
			}
			done <- err
		}()
		<-s.fake.waiting
		began := time.Now()
		cancel()
		if cause := <-s.fake.causes; cause != ErrClientGone {
			t.Errorf("cause %v", cause)
		}
		if d := time.Since(began); d > 100*time.Millisecond {
			t.Errorf("the statement noticed after %v", d)
		}
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		alive(t, db)
	})
}
