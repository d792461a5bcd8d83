package sqltest

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
	"millrace/test/script"
)

// typedColumns are the columns of every table of TestGeneratedQueriesOverTypedTablesAgree, as a schema for read_kafka.
const typedColumns = "id BIGINT, i INT, big BIGINT, d DOUBLE, e DOUBLE, m DECIMAL(20,3), w DECIMAL(38,10), s STRING, b BOOLEAN, ts TIMESTAMP, dt DATE, n INT"

// TestGeneratedQueriesOverTypedTablesAgree asks the same random queries of the same rows, as a topic of JSON, one of CSV, a table made by CREATE
// TABLE … AS, one that INSERT filled, and a streaming table, and of joins of any two of them: all answer the same, with pushdown and without.
func TestGeneratedQueriesOverTypedTablesAgree(t *testing.T) {
	n := 150
	if os.Getenv("CI") == "true" {
		n = 1000
	}
	seed := uint64(1)
	if s, err := strconv.ParseUint(os.Getenv("GENERATED_SEED"), 10, 64); err == nil {
		seed = s
	}
	rnd := rand.New(rand.NewPCG(seed, 7))
	tables, db := typedTables(t, rnd)
	failed := 0
	for range n {
		q := randomTyped(rnd)
		first, second := tables[rnd.IntN(len(tables))], tables[rnd.IntN(len(tables))]
		want, err := q.ask(db, first, second, "off")
		if err != nil {
			failed++
			continue // pushdown may never come to the row that fails
		}
		check := func(a, b, pushdown string) {
			got, err := q.ask(db, a, b, pushdown)
			if err != nil || !slices.Equal(got, want) {
				plan, _ := texts(db, "EXPLAIN "+q.over(a, b))
				t.Errorf("seed %d: %s\npushdown %s: %v\n  %s\nwithout, over %s:\n  %s\n%s", seed, q.over(a, b), pushdown, err, shortened(got), first, shortened(want), strings.Join(plan, "\n"))
			}
		}
		check(first, second, "on")
		other := tables[rnd.IntN(len(tables))]
		check(other, tables[rnd.IntN(len(tables))], "on")
		if t.Failed() {
			return
		}
	}
	if failed > n/20 {
		t.Errorf("%d of %d queries fail without pushdown: they compare nothing", failed, n)
	}
}

func shortened(rows []string) string {
	text := strings.Join(rows, "\n  ")
	if len(text) > 1500 {
		text = text[:1500] + "…"
	}
	return text
}

// typedTables makes the tables and tells how each is named in FROM.
func typedTables(t *testing.T, rnd *rand.Rand) ([]string, *sql.DB) {
	t.Helper()
	b := testkit.StartBroker(t)
	b.Topic(t, "j", 3, nil)
	b.Topic(t, "c", 2, nil)
	var records []*kgo.Record
	for id := range 160 {
		json, csv := typedRow(rnd, id)
		records = append(records, &kgo.Record{Topic: "j", Partition: int32(id % 3), Value: []byte(json)}, &kgo.Record{Topic: "c", Partition: int32(id % 2), Value: []byte(csv)})
	}
	testkit.Produce(t, b.Client(t), records...)
	db := script.StartServer(t).Login(t, "root", "")
	read := func(stream, topic, format string) string {
		return fmt.Sprintf("(SELECT id, i, big, d, e, m, w, s, b, ts, dt, n FROM %s read_kafka(bootstrapServers => '%s', subscribe => '%s', startingOffsets => 'earliest', format => '%s', schema => '%s'))", stream, b.Addrs[0], topic, format, typedColumns)
	}
	tables := []string{read("", "j", "json"), read("", "c", "csv"), "made", "filled", "streamed"}
	for _, statement := range []string{
		"CREATE TABLE made AS " + strings.Trim(tables[0], "()") + ")",
		"CREATE TABLE filled (id BIGINT PRIMARY KEY, i INT, big BIGINT, d DOUBLE, e DOUBLE, m DECIMAL(20,3), w DECIMAL(38,10), s TEXT, b BOOLEAN, ts DATETIME(6), dt DATE, n INT)",
		"INSERT INTO filled SELECT * FROM made WHERE id % 2 = 0",
		"INSERT INTO filled SELECT * FROM made WHERE id % 2 = 1",
		"CREATE STREAMING TABLE streamed AS " + strings.Trim(read("STREAM", "j", "json"), "()") + ")",
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for deadline := time.Now().Add(testkit.Patience); ; {
		rows, err := texts(db, "SELECT count(*) FROM streamed")
		if err == nil && rows[0] == `"160"` {
			return tables, db
		}
		if time.Now().After(deadline) {
			t.Fatalf("the streaming table has %v rows, %v", rows, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// typedRow makes a row as JSON and as CSV: values at the edges of their types, some NULL, some the same in many rows.
func typedRow(rnd *rand.Rand, id int) (json, csv string) {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	values := []struct {
		name, value string
		quoted      bool
	}{
		{"id", strconv.Itoa(id), false},
		{"i", pick("0", "1", "2", "3", "7", "-5", "2147483647", "-2147483648"), false},
		{"big", pick("0", "1", "-1", "9007199254740993", "9223372036854775807", "-9223372036854775808", "42"), false},
		{"d", pick("0.5", "1.25", "-2.75", "100.125", "0", "3"), false},
		{"e", pick("1e308", "-1e308", "5e-324", "0.1", "1e15", "123456789.125"), false},
		{"m", pick("0.001", "-0.001", "1.500", "99999999999999999.999", "-99999999999999999.999", "2.5", "0"), false},
		{"w", pick("0.0000000001", "1234567890123456789012345678.0123456789", "-1234567890123456789012345678.0123456789", "10", "2.5"), false},
		{"s", pick("a", "A", "b", "ab", "k1", "k10", "7", "2.50", "1e1", "ä", "日本", " a", "a ", "%", "_x", "2026-01-02"), true},
		{"b", pick("true", "false"), false},
		{"ts", pick("1970-01-01T00:00:00Z", "2026-01-02T03:04:05.123456Z", "2026-01-02T00:00:00Z", "1969-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z", "2024-02-29T12:00:00Z"), true},
		{"dt", pick("1970-01-01", "2026-01-02", "1969-12-31", "9999-12-31", "2024-02-29", "1000-01-01"), true},
		{"n", "", false},
	}
	var fields, cells []string
	for _, v := range values {
		if v.name != "id" && (v.name == "n" || rnd.IntN(7) == 0) {
			cells = append(cells, "")
			if rnd.IntN(2) == 0 {
				fields = append(fields, fmt.Sprintf("%q: null", v.name))
			}
			continue
		}
		cell := v.value
		if v.quoted {
			cell = `"` + v.value + `"`
			fields = append(fields, fmt.Sprintf("%q: %q", v.name, v.value))
		} else {
			fields = append(fields, fmt.Sprintf("%q: %s", v.name, v.value))
		}
		cells = append(cells, cell)
	}
	return "{" + strings.Join(fields, ", ") + "}", strings.Join(cells, ",")
}

// typed is a query whose text has $1 and $2 for tables. Its rows come in order, or are sorted before they are compared.
type typed struct {
	text    string
	ordered bool
}

func (q typed) over(first, second string) string {
	return strings.NewReplacer("$1", first, "$2", second).Replace(q.text)
}

func (q typed) ask(db *sql.DB, first, second, pushdown string) ([]string, error) {
	if _, err := db.Exec("SET SESSION pushdown = '" + pushdown + "'"); err != nil {
		return nil, err
	}
	rows, err := texts(db, q.over(first, second))
	if !q.ordered {
		sort.Strings(rows)
	}
	return rows, err
}

// texts reads the rows of a query as text.
func texts(db *sql.DB, query string) (out []string, err error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	cells, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		var b strings.Builder
		for i, c := range cells {
			if i > 0 {
				b.WriteString(" | ")
			}
			if c.Valid {
				b.WriteString(strconv.Quote(c.String))
			} else {
				b.WriteString("NULL")
			}
		}
		out = append(out, b.String())
	}
	return out, rows.Err()
}

// typedKinds are the columns by what may be compared with them.
var typedKinds = map[string][]string{
	"number": {"id", "i", "big", "d", "e", "m", "w", "n", "b"},
	"exact":  {"id", "i", "m", "n"},
	"all":    {"id", "i", "big", "d", "e", "m", "w", "s", "b", "ts", "dt", "n"},
	"keys":   {"i", "big", "d", "m", "w", "s", "b", "ts", "dt", "n"},
}

func typedColumn(rnd *rand.Rand, alias, kind string) string {
	list := typedKinds[kind]
	return alias + "." + list[rnd.IntN(len(list))]
}

// typedPredicate makes a condition on the columns of an alias.
func typedPredicate(rnd *rand.Rand, alias string, depth int) string {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	col := func(kind string) string { return typedColumn(rnd, alias, kind) }
	if depth > 0 {
		sub := func() string { return typedPredicate(rnd, alias, depth-1) }
		switch rnd.IntN(6) {
		case 0:
			return "(" + sub() + " OR " + sub() + ")"
		case 1:
			return "(" + sub() + " AND " + sub() + ")"
		case 2:
			return "NOT (" + sub() + ")"
		}
	}
	op := pick("=", "<>", "<", "<=", ">", ">=", "<=>")
	number := func() string {
		return pick("0", "1", "2.5", "-5", "3", "42", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "18446744073709551615", "-9223372036854775808", "1e308", "0.1", "0.001", "'7'", "'1.50'", "1234567890123456789012345678.0123456789",
			"99999999999999999.999", "NULL", "TRUE", "-0.0", "0.0000000001", "CAST('2.5' AS DECIMAL(5,2))")
	}
	text := func() string {
		return pick("'a'", "'A'", "'k1'", "''", "'ä'", "'日本'", "'a '", "7", "2.5", "NULL", "'2026-01-02'", "'%'")
	}
	moment := func() string {
		return pick("'1970-01-01'", "'2026-01-02'", "'2026-01-02 03:04:05.123456'", "timestamp '2026-01-02 00:00:00'", "'1969-12-31 23:59:59.999999'", "'9999-12-31'", "date '2024-02-29'", "'2024-02-29 12:00:00'", "NULL", "'2026-01-02' - interval 1 day")
	}
	switch rnd.IntN(14) {
	case 0, 1:
		return col("number") + " " + op + " " + number()
	case 2:
		return number() + " " + op + " " + col("number")
	case 3:
		return alias + ".s " + op + " " + text()
	case 4:
		return alias + "." + pick("ts", "dt") + " " + op + " " + moment()
	case 5:
		return col("all") + pick(" IS NULL", " IS NOT NULL")
	case 6:
		return fmt.Sprintf("%s %s (%s, %s, %s)", col("number"), pick("IN", "NOT IN"), number(), number(), number())
	case 7:
		return fmt.Sprintf("%s.s %s (%s, %s)", alias, pick("IN", "NOT IN"), text(), text())
	case 8:
		return fmt.Sprintf("%s %s %s AND %s", col("number"), pick("BETWEEN", "NOT BETWEEN"), number(), number())
	case 9:
		return fmt.Sprintf("%s.s %s %s", alias, pick("LIKE", "NOT LIKE"), pick("'a%'", "'%1'", "'_'", "'%'", "''", `'\\%'`, "'日%'", "NULL", "'k_'", `'\\_%'`))
	case 10:
		return col("number") + " " + op + " " + col("number")
	case 11:
		return alias + "." + pick("ts", "dt") + " " + op + " " + alias + "." + pick("ts", "dt")
	case 12:
		return fmt.Sprintf("%s.%s %s %s AND %s", alias, pick("ts", "dt"), pick("BETWEEN", "NOT BETWEEN"), moment(), moment())
	default:
		return fmt.Sprintf("%s %s %s", typedValue(rnd, alias), op, pick(number(), text()))
	}
}

// typedValue makes a value of columns of an alias.
func typedValue(rnd *rand.Rand, alias string) string {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	col := func(kind string) string { return typedColumn(rnd, alias, kind) }
	switch rnd.IntN(16) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", col("exact"), pick("+", "-", "*"), pick("1", "2.5", "-3", "0.001", col("exact")))
	case 1:
		return fmt.Sprintf("coalesce(%s, %s)", col("number"), pick("0", "-1", "2.5", col("number")))
	case 2:
		return fmt.Sprintf("%s(%s.s)", pick("upper", "lower", "length", "char_length", "reverse", "trim", "hex"), alias)
	case 3:
		return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", typedPredicate(rnd, alias, 0), col("exact"), col("exact"))
	case 4:
		return fmt.Sprintf("%s(%s.%s)", pick("year", "month", "day", "dayofweek", "hour", "dayofyear", "date", "quarter"), alias, pick("ts", "dt"))
	case 5:
		return fmt.Sprintf("(%s %% %s)", col("exact"), pick("2", "3", "2.5", "0"))
	case 6:
		return fmt.Sprintf("CAST(%s AS %s)", col("number"), pick("CHAR", "DOUBLE"))
	case 7:
		return fmt.Sprintf("CAST(%s AS %s)", col("exact"), pick("DECIMAL(30,5)", "SIGNED", "CHAR", "DECIMAL(20,0)"))
	case 8:
		return fmt.Sprintf("if(%s, %s.s, 'none')", typedPredicate(rnd, alias, 0), alias)
	case 9:
		return fmt.Sprintf("concat(%s.s, '/', %s)", alias, col("all"))
	case 10:
		return fmt.Sprintf("-%s", col("exact"))
	case 11:
		return fmt.Sprintf("nullif(%s, %s)", col("number"), pick("0", "1", "2.5"))
	case 12:
		return fmt.Sprintf("(%s / %s)", col("exact"), pick("4", "2.5", "0", "1e0"))
	case 13:
		return fmt.Sprintf("date_format(%s.%s, '%%Y-%%m-%%d %%H:%%i:%%s.%%f')", alias, pick("ts", "dt"))
	default:
		return col("all")
	}
}

// typedAggregate makes an aggregate whose value does not depend on the order of rows.
func typedAggregate(rnd *rand.Rand, alias string) string {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	col := func(kind string) string { return typedColumn(rnd, alias, kind) }
	switch rnd.IntN(10) {
	case 0:
		return "COUNT(*)"
	case 1:
		return "COUNT(" + col("all") + ")"
	case 2:
		return "COUNT(DISTINCT " + col("keys") + ")"
	case 3, 4:
		return "SUM(" + pick(col("exact"), alias+".d", alias+".b", alias+".w", alias+".big") + ")"
	case 5:
		return "AVG(" + pick(col("exact"), alias+".d", alias+".w") + ")"
	case 6, 7:
		return pick("MIN(", "MAX(") + col("all") + ")"
	case 8:
		return fmt.Sprintf("%s(%s, %s.id)", pick("MAX_BY", "MIN_BY"), col("all"), alias)
	default:
		return pick("SUM(CASE WHEN "+typedPredicate(rnd, alias, 0)+" THEN 1 ELSE 0 END)", "COUNT_IF("+typedPredicate(rnd, alias, 0)+")", "BIT_OR("+alias+".i)", "COUNT(*) + "+"COUNT("+col("all")+")")
	}
}

func randomTyped(rnd *rand.Rand) typed {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	// list makes different ones: the engine knows no column that is the same aggregate twice.
	list := func(least, most int, make func() string) []string {
		var out []string
		for range least + rnd.IntN(most-least+1) {
			if one := make(); !slices.Contains(out, one) {
				out = append(out, one)
			}
		}
		return out
	}
	where := func(alias string) string {
		ps := list(0, 3, func() string { return typedPredicate(rnd, alias, 1) })
		if len(ps) == 0 {
			return ""
		}
		return " WHERE " + strings.Join(ps, " AND ")
	}
	limit := func() string {
		return pick(" LIMIT 0", " LIMIT 1", " LIMIT 7", " LIMIT 7 OFFSET 3", " LIMIT 5 OFFSET 1000", " LIMIT 0 OFFSET 2", " LIMIT 18446744073709551615 OFFSET 150", " LIMIT 1000")
	}
	switch rnd.IntN(8) {
	case 0, 1: // rows
		values := list(1, 4, func() string { return typedValue(rnd, "a") })
		text := "SELECT a.id, " + strings.Join(values, ", ") + " FROM $1 a" + where("a")
		if rnd.IntN(2) == 0 {
			return typed{text, false}
		}
		return typed{text + " ORDER BY " + typedColumn(rnd, "a", "keys") + pick("", " DESC") + ", a.id" + pick("", " DESC") + pick("", limit()), true}
	case 2:
		return typed{"SELECT DISTINCT " + strings.Join(list(1, 2, func() string { return typedColumn(rnd, "a", "keys") }), ", ") + " FROM $1 a" + where("a"), false}
	case 3: // one group
		return typed{"SELECT " + strings.Join(list(1, 5, func() string { return typedAggregate(rnd, "a") }), ", ") + " FROM $1 a" + where("a") + pick("", "", " HAVING COUNT(*) > 10", " HAVING MAX(a.i) IS NULL", " LIMIT 0", " LIMIT 1 OFFSET 1"), false}
	case 4, 5: // groups
		keys := list(1, 2, func() string { return typedColumn(rnd, "a", "keys") })
		if rnd.IntN(4) == 0 {
			keys = []string{pick("a.id % 5", "upper(a.s)", "year(a.ts)", "coalesce(a.i, -1)", "a.m * 2", "a.i IS NULL", "date(a.ts)", "if(a.i > 2, 'x', a.s)")}
		}
		text := "SELECT " + strings.Join(append(slices.Clone(keys), list(1, 4, func() string { return typedAggregate(rnd, "a") })...), ", ") + " FROM $1 a" + where("a") + " GROUP BY " + strings.Join(keys, ", ")
		text += pick("", "", " HAVING COUNT(*) > 3", " HAVING SUM(a.i) IS NOT NULL", " HAVING MAX(a.m) >= 1.5", " HAVING COUNT(*) > 1000", " HAVING MIN(a.s) LIKE 'a%'")
		if rnd.IntN(2) == 0 {
			return typed{text, false}
		}
		return typed{text + " ORDER BY " + strings.Join(keys, pick(", ", " DESC, ")) + pick("", " DESC") + pick("", limit()), true}
	case 6: // two tables
		equal := pick("a.id = b.id", "a.i = b.i", "a.m = b.m AND a.id < b.id", "a.s = b.s AND a.id = b.id + 1", "a.dt = b.dt AND b.id < 20", "a.big = b.big AND a.b", "a.id = b.i", "a.ts = b.ts AND a.id = b.id", "a.w = b.w AND b.id < 30", "a.d = b.i", "a.n = b.n")
		text := " FROM $1 a " + pick("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN") + " $2 b ON " + equal
		if rnd.IntN(3) == 0 {
			text += " AND " + typedPredicate(rnd, pick("a", "b"), 0)
		}
		text += " WHERE TRUE"
		for _, p := range list(0, 2, func() string { return typedPredicate(rnd, pick("a", "b"), 1) }) {
			text += " AND " + p
		}
		if rnd.IntN(2) == 0 {
			return typed{"SELECT COUNT(*), SUM(a.i), " + typedAggregate(rnd, "b") + text, false}
		}
		return typed{"SELECT a.id, b.id, a.s, b.m" + text + " ORDER BY a.id, b.id" + limit(), true}
	default: // subqueries, unions, derived tables
		return typed{pick(
			"SELECT a.id FROM $1 a WHERE a.id "+pick("IN", "NOT IN")+" (SELECT b.id FROM $2 b"+where("b")+")",
			"SELECT a.id FROM $1 a WHERE "+pick("", "NOT ")+"EXISTS (SELECT 1 FROM $2 b WHERE b.id = a.i AND "+typedPredicate(rnd, "b", 1)+")",
			"SELECT a.id, a.s FROM $1 a"+where("a")+" UNION "+pick("ALL", "DISTINCT")+" SELECT b.id, b.s FROM $2 b"+where("b"),
			"SELECT q.k, COUNT(*) FROM (SELECT a.s AS k, SUM(a.i) AS v FROM $1 a"+where("a")+" GROUP BY a.s) q WHERE q.v > 0 GROUP BY q.k",
			"WITH c AS (SELECT * FROM $1 a"+where("a")+") SELECT COUNT(*), SUM(x.id) FROM c x JOIN c y ON x.id = y.id",
			"SELECT a.id FROM $1 a WHERE a.i > (SELECT AVG(b.i) FROM $2 b"+where("b")+")",
		), false}
	}
}
