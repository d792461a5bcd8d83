//go:build integration

package integration

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// differentialRows and differentialQueries are the size of the comparison with MariaDB.
const (
	differentialRows    = 400
	differentialQueries = 600
)

// TestQueriesAnswerAsMariaDBDoes loads the same generated rows into a table of MariaDB and, as JSON records, into a topic that a view gives the
// same columns and types; then both answer the same generated queries, and must give the same rows.
func TestQueriesAnswerAsMariaDBDoes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(20260101, 7))
	rows := make([]differentialRow, differentialRows)
	for i := range rows {
		rows[i] = newDifferentialRow(rnd, i)
	}
	maria, ours := loadMariaDB(t, rows), loadTopic(t, rows)
	taken, failed, both := map[string]int{}, 0, 0
	queries := differentialQueries
	if os.Getenv("NIGHTLY") != "" {
		queries *= 10
	}
	for n := range queries {
		q := (&queryMaker{rnd: rand.New(rand.NewPCG(11, uint64(n)))}).query()
		want, wantErr := fetchRows(t.Context(), maria, q)
		got, gotErr := fetchRows(t.Context(), ours, q)
		why := difference(want, got, wantErr, gotErr)
		if why == "" {
			if wantErr != nil {
				both++
			}
			continue
		}
		if a := acceptedFor(q, gotErr, wantErr); a != "" {
			taken[a]++
			continue
		}
		if failed++; failed <= 20 {
			t.Errorf("query %d: %s\n%s", n, q, why)
		}
	}
	t.Logf("%d queries, %d refused by both, accepted differences: %v", queries, both, taken)
	if failed > 0 {
		t.Errorf("%d of %d queries differ", failed, queries)
	}
	if both > queries/20 {
		t.Errorf("%d queries fail on both sides: the generator is to blame", both)
	}
}

// accepted are the differences that stay, each with its reason. A query belongs to one when it matches the pattern, or its error does.
var accepted = []struct {
	name, why  string
	query, err *regexp.Regexp
}{
	{
		name: "average of what is rounded", query: regexp.MustCompile(`avg\(.*round\(`),
		why: "AVG has four digits more than its argument, and the engine does not take digits off the type of round(n, 2): the average has more digits, not another value",
	},
	{
		name: "deviation of whole numbers", query: regexp.MustCompile(`(stddev_pop|var_samp)\(.*(floor|ceil)\(`),
		why: "MariaDB cuts the deviation of integers to four digits, MySQL 8 and Millrace give a DOUBLE",
	},
	{
		name: "order by a literal", err: regexp.MustCompile(`Unknown column '-?[0-9]+' in 'ORDER BY'`),
		why: "MariaDB takes a negative literal in ORDER BY for the number of a column, MySQL for a constant",
	},
}

func acceptedFor(q string, got, want error) string {
	for _, a := range accepted {
		if a.query != nil && got == nil && want == nil && a.query.MatchString(q) || a.err != nil && want != nil && a.err.MatchString(want.Error()) {
			return a.name
		}
	}
	return ""
}

// differentialRow is one row; nil is NULL.
type differentialRow struct {
	id         int
	i, b, t, f any
	n, at      any
}

func newDifferentialRow(rnd *rand.Rand, id int) differentialRow {
	null := func(v any) any {
		if rnd.IntN(8) == 0 {
			return nil
		}
		return v
	}
	words := []string{"", "a", "A", "abc", "ABC", "b", "bolt", "nut", "é", "x y", "12", "-7", "10.5", "zz", "a%b", "_", "it's"}
	return differentialRow{
		id: id, i: null(rnd.IntN(26) - 5), b: null(rnd.Int64N(2_000_000_000_000) - 1_000_000_000_000), t: null(words[rnd.IntN(len(words))]),
		f: null(float64(rnd.IntN(4001)-2000) / 8), n: null(fmt.Sprintf("%d.%03d", rnd.IntN(2000)-1000, rnd.IntN(1000))),
		at: null(fmt.Sprintf("20%02d-%02d-%02d %02d:%02d:%02d.%03d", 20+rnd.IntN(5), 1+rnd.IntN(12), 1+rnd.IntN(28), rnd.IntN(24), rnd.IntN(60), rnd.IntN(60), rnd.IntN(1000))),
	}
}

func loadMariaDB(t *testing.T, rows []differentialRow) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", "root@tcp("+env(t, "MARIADB_ADDR")+")/?collation_connection=%27utf8mb4_nopad_bin%27&sql_mode=%27%27")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	for _, s := range []string{
		"DROP DATABASE IF EXISTS differential", "CREATE DATABASE differential COLLATE utf8mb4_nopad_bin", "USE differential",
		"CREATE TABLE d (id BIGINT, i INT, b BIGINT, t TEXT, f DOUBLE, n DECIMAL(12,3), at DATETIME(6))",
	} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range rows {
		if _, err := db.ExecContext(t.Context(), "INSERT INTO d VALUES (?, ?, ?, ?, ?, ?, ?)", r.id, r.i, r.b, r.t, r.f, r.n, r.at); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func loadTopic(t *testing.T, rows []differentialRow) *sql.DB {
	t.Helper()
	cl, adm := client(t)
	name := topic(t, adm, 3, nil)
	records := make([]*kgo.Record, len(rows))
	for k, r := range rows {
		v := map[string]any{"id": r.id}
		for field, x := range map[string]any{"i": r.i, "b": r.b, "t": r.t, "f": r.f, "n": r.n, "at": r.at} {
			if x != nil || k%2 == 0 { // NULL is a null or nothing at all
				v[field] = x
			}
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		records[k] = &kgo.Record{Topic: name, Partition: int32(k % 3), Value: b}
	}
	produce(t, cl, records...)
	db := sharedServer(t).open(t, "")
	db.SetMaxOpenConns(1)
	const v = "value::string"
	for _, s := range []string{
		"CREATE DATABASE differential", "USE differential",
		"CREATE VIEW d AS SELECT " + v + ":id::bigint AS id, " + v + ":i::int AS i, " + v + ":b::bigint AS b, " + v + ":t AS t, " + v + ":f::double AS f, " + v + ":n::decimal(12,3) AS n, " + v +
			":at::timestamp AS at FROM " + readKafka(t, name),
	} {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := db.ExecContext(context.Background(), "DROP DATABASE differential"); err != nil {
			t.Error(err)
		}
	})
	return db
}

// fetchRows are the rows of a query as text, NULL as NULL.
func fetchRows(ctx context.Context, db *sql.DB, query string) (all [][]string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	cells, ptrs := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range cells {
		ptrs[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(ptrs...); err != nil {
			return nil, err
		}
		row := make([]string, len(cells))
		for i, c := range cells {
			if row[i] = c.String; !c.Valid {
				row[i] = "NULL"
			}
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// difference tells what is different between two answers as multisets of rows; nothing when they are the same or both are errors.
func difference(want, got [][]string, wantErr, gotErr error) string {
	switch {
	case wantErr != nil && gotErr != nil:
		return ""
	case wantErr != nil || gotErr != nil:
		return fmt.Sprintf("MariaDB: %v\nMillrace: %v", wantErr, gotErr)
	case len(want) != len(got):
		return fmt.Sprintf("MariaDB: %d rows, Millrace: %d", len(want), len(got))
	}
	want, got = sortedRows(want), sortedRows(got)
	for i := range want {
		for c := range want[i] {
			if !sameValue(want[i][c], got[i][c]) {
				return fmt.Sprintf("MariaDB:  %v\nMillrace: %v", want[i], got[i])
			}
		}
	}
	return ""
}

// sortedRows orders rows by their values, numbers by size with their last digits left out: those of doubles may differ.
func sortedRows(rows [][]string) [][]string {
	key := func(v string) string {
		if f, err := strconv.ParseFloat(v, 64); err == nil {
			return strconv.FormatFloat(f+0, 'e', 8, 64)
		}
		return v
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b []string) int {
		return slices.CompareFunc(a, b, func(x, y string) int { return strings.Compare(key(x), key(y)) })
	})
	return rows
}

// sameValue compares texts. Numbers are the same when their values are: 1.50 and 1.5, and of doubles whatever differs in the last digits because they
// were added in another order.
func sameValue(a, b string) bool {
	if a == b {
		return true
	}
	if strings.TrimRight(a, "0") == strings.TrimRight(b, "0") && strings.Contains(a, ":") && strings.Contains(b, ":") {
		return true // times with and without zeros at the end
	}
	x, err := strconv.ParseFloat(a, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseFloat(b, 64)
	return err == nil && math.Abs(x-y) <= 1e-9*max(math.Abs(x), math.Abs(y))
}
