package planner

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	budget "millrace/internal/memory"
	"millrace/internal/spill"
	"millrace/internal/sqlerr"
)

// raceDetector is true in a build with it.
var raceDetector bool

// TestGeneratedQueriesAgree compares pushdown with the engine on random queries over random records: 200, in CI 2,000. A query that fails
// is cut down to the least that still fails before it is shown.
func TestGeneratedQueriesAgree(t *testing.T) {
	if raceDetector {
		t.Skip("make test runs this apart: the sessions that the engine's own tables want have no lock for the warnings of its two goroutines; those of the server have one")
	}
	n := 200
	if os.Getenv("CI") == "true" {
		n = 2000
	}
	const perTopic = 50
	spilled := int64(0)
	for seed := range n / perTopic {
		records := 60 + seed%3*100
		o := Options{Memory: budget.New(0)}
		if seed%2 == 1 { // next to no memory: groups and sorts go to disk
			records += 200
			o.MemoryBytes, o.Temp, o.SpillBytes = 1, openSpace(t), 8<<10
		}
		e := newTestEngineWith(t, generate(uint64(seed)+100, records), o)
		e.log.lanes, e.log.batch, e.log.trusted = 1+seed%3, []int{1, 7, 1024}[seed%3], seed%2 == 0
		rnd := rand.New(rand.NewPCG(uint64(seed), 1))
		for range perTopic {
			q := randomQuery(rnd)
			if why := e.differ(q); why != "" {
				q, why = e.shrink(q, why)
				t.Fatalf("seed %d: %s\n%s\n%s", seed, q, why, e.plan(q.String()))
			}
		}
		if n := o.Memory.Used(); n != 0 {
			t.Errorf("seed %d: %d bytes are still taken", seed, n)
		}
		if spilled += o.Memory.Spilled(); o.Temp != nil && o.Temp.Used() != 0 {
			t.Errorf("seed %d: %d bytes of files are left", seed, o.Temp.Used())
		}
	}
	if spilled == 0 {
		t.Error("no query has spilled")
	}
}

func openSpace(t *testing.T) *spill.Space {
	t.Helper()
	s, err := spill.Open(spill.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// query is a random query in parts, so that it can be cut down.
type query struct {
	// from is a table expression with the columns of records().
	from string
	// inner are predicates below a derived table, outer those above it.
	inner, outer []string
	project      []string
	// aggregate lists aggregates in place of project; keys group them.
	aggregate, keys []string
	// having are predicates on groups.
	having []string
	// order lists keys of ORDER BY, of columns that are aggregated with aggregate.
	order    []string
	limit    string
	union    bool
	distinct bool
	// only, when not nil, are the columns in place of all others.
	only []string
}

func (q query) String() string {
	where := func(ps []string) string {
		if len(ps) == 0 {
			return ""
		}
		return " WHERE " + strings.Join(ps, " AND ")
	}
	from := q.from
	if len(q.inner) > 0 {
		from = "(SELECT * FROM " + q.from + where(q.inner) + ") d"
	}
	list := q.project
	if q.only != nil {
		list = q.only
	} else if len(q.aggregate) > 0 {
		list = append(slices.Clone(q.keys), q.aggregate...)
	}
	s := "SELECT "
	if q.distinct {
		s += "DISTINCT "
	}
	s += strings.Join(list, ", ") + " FROM " + from + where(q.outer)
	if len(q.aggregate) > 0 && len(q.keys) > 0 {
		s += " GROUP BY " + strings.Join(q.keys, ", ")
	}
	if len(q.having) > 0 {
		s += " HAVING " + strings.Join(q.having, " AND ")
	}
	if q.union {
		return s + " UNION ALL " + s
	}
	if len(q.order) > 0 {
		s += " ORDER BY " + strings.Join(q.order, ", ")
	}
	return s + q.limit
}

// sorted is q with its sort keys for columns.
func (q query) sorted() query {
	q.only = nil
	for _, k := range q.order {
		q.only = append(q.only, strings.TrimSuffix(k, " DESC"))
	}
	return q
}

// smaller lists q with one part less.
func (q query) smaller() []query {
	var out []query
	without := func(list *[]string, least int, set func(*query, []string)) {
		for i := range *list {
			if len(*list) > least {
				c := q
				set(&c, slices.Delete(slices.Clone(*list), i, i+1))
				out = append(out, c)
			}
		}
	}
	without(&q.inner, 0, func(c *query, l []string) { c.inner = l })
	without(&q.outer, 0, func(c *query, l []string) { c.outer = l })
	without(&q.project, 1, func(c *query, l []string) { c.project = l })
	without(&q.aggregate, 1, func(c *query, l []string) { c.aggregate = l })
	without(&q.keys, 0, func(c *query, l []string) { c.keys = l })
	without(&q.having, 0, func(c *query, l []string) { c.having = l })
	without(&q.order, 0, func(c *query, l []string) { c.order = l })
	for _, cut := range []func(*query){
		func(c *query) { c.limit = "" }, func(c *query) { c.union = false }, func(c *query) { c.distinct = false }, func(c *query) { c.from = "records() r" },
	} {
		c := q
		cut(&c)
		if c.String() != q.String() {
			out = append(out, c)
		}
	}
	return out
}

func (e *testEngine) shrink(q query, why string) (query, string) {
	for {
		i := slices.IndexFunc(q.smaller(), func(c query) bool { return e.differ(c) != "" })
		if i < 0 {
			return q, why
		}
		q = q.smaller()[i]
		why = e.differ(q)
	}
}

// differ says how pushdown changes the result of q, if it does. LIMIT without an order may give any rows: then their number, and that they
// are rows of the whole result.
func (e *testEngine) differ(q query) string {
	e.pushdown("off")
	want, wantErr := e.query(q.String())
	whole := want
	if q.limit != "" {
		c := q
		c.limit, c.order = "", nil
		var err error
		if whole, err = e.query(c.String()); err != nil {
			return "" // the limit was met before the record that fails
		}
	}
	e.pushdown("on")
	got, gotErr := e.query(q.String())
	if wantErr != nil {
		return "" // pushdown may never come to the record that fails
	}
	if sqlerr.HasKind(gotErr, sqlerr.ScanMemory) && sketched.MatchString(q.String()) {
		return "" // the state of a single group must fit
	}
	if gotErr != nil {
		return "pushed down: " + gotErr.Error()
	}
	if len(got) != len(want) {
		return fmt.Sprintf("pushed down %d rows, by the engine %d", len(got), len(want))
	}
	if q.limit != "" {
		left := map[string]int{}
		for _, r := range whole {
			left[r]++
		}
		for _, r := range got {
			if left[r]--; left[r] < 0 {
				return "a row that is not there without LIMIT: " + r
			}
		}
		return e.orderDiffers(q)
	}
	sort.Strings(got)
	sort.Strings(want)
	for i := range got {
		if got[i] != want[i] {
			return fmt.Sprintf("pushed down\n  %s\nby the engine\n  %s", got[i], want[i])
		}
	}
	return e.orderDiffers(q)
}

// orderDiffers says how pushdown changes the sort keys of the rows of q: rows that tie may be others, their keys are the same, in order.
func (e *testEngine) orderDiffers(q query) string {
	if len(q.order) == 0 {
		return ""
	}
	var keys [2][]string
	for i, on := range []string{"off", "on"} {
		e.pushdown(on)
		var err error
		if keys[i], err = e.query(q.sorted().String()); err != nil && on == "off" {
			return "" // HAVING refers to what is not selected now
		} else if err != nil {
			return fmt.Sprintf("sort keys, pushdown %s: %v", on, err)
		}
	}
	if !slices.Equal(keys[0], keys[1]) {
		return fmt.Sprintf("sort keys\n  %v\nby the engine\n  %v", keys[1], keys[0])
	}
	return ""
}

// sketched are the aggregates whose state for a single group is more than a few bytes.
var sketched = regexp.MustCompile("PERCENTILE_APPROX|APPROX_COUNT_DISTINCT|COLLECT_LIST")

func randomQuery(rnd *rand.Rand) query {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	some := func(most int, make func() string) []string {
		var out []string
		for range rnd.IntN(most + 1) {
			out = append(out, make())
		}
		return out
	}
	q := query{from: pick("records() r", "records() r", "v", "(SELECT * FROM records()) s", "(SELECT * FROM v) s2")}
	headers := !strings.Contains(q.from, "v")
	predicate := func() string { return randomPredicate(rnd, 2) }
	if rnd.IntN(3) == 0 {
		q.inner = some(2, predicate)
	}
	q.outer = some(3, predicate)
	column := func() string {
		if rnd.IntN(6) == 0 {
			return randomDecoded(rnd)
		}
		if rnd.IntN(6) == 0 {
			return randomComputed(rnd)
		}
		if headers && rnd.IntN(8) == 0 {
			return pick("headers", "timestampType")
		}
		return pick("`key`", "`value`", "topic", "`partition`", "`offset`", "`timestamp`")
	}
	switch rnd.IntN(4) {
	case 0:
		q.aggregate = append(some(3, func() string {
			return pick("COUNT(*)", "COUNT(`key`)", "COUNT(`offset`)", "SUM(`offset`)", "SUM(length(`value`))", "AVG(`offset`)", "MIN(`offset`)", "MAX(`timestamp`)", "MAX(`offset`)",
				"MIN(`key`)", "MAX(`value`)", "MAX(topic)", "SUM(`partition`) + COUNT(*)", "MIN(length(`key`))", "COUNT(`partition` = 1)", "SUM(`offset` + 1)", "COUNT(DISTINCT `key`)", "COUNT(DISTINCT {`value`:s})", "COUNT(DISTINCT {{`value`:n}?::DECIMAL(20,3)})", "SUM({{`value`:n}?::DOUBLE})", "SUM({{`value`:n}?::DECIMAL(20,3)})", "SUM({{`value`:n}?::BIGINT})", "MIN({{`value`:n}?::INT})", "MIN({{`value`:n}?::TINYINT})", "MAX({{`value`:n}?::FLOAT})", "SUM({{`value`:n}?::SMALLINT})", "AVG({`offset`::TINYINT})", "SUM({{`value`:n}?::FLOAT})", "MAX({`value`:s})", "MAX({{`value`:n}?::DECIMAL(10,1)})", "AVG({{`value`:n}?::INT})", "AVG({{`value`:n}?::DECIMAL(20,3)})", "AVG({{`value`:n}?::DOUBLE})", "VAR_POP(`offset`)", "STDDEV_SAMP(length(`key`))", "VARIANCE({{`value`:n}?::DECIMAL(20,3)})", "STDDEV({{`value`:n}?::BIGINT})", "VAR_SAMP(`partition`)", "AVG(`partition` = 1)", "SUM({`value`:s})", "COUNT_IF(`offset` > 3)", "COUNT_IF(`key` = 'k1')", "COUNT_IF(`partition`)", "APPROX_COUNT_DISTINCT(`key`)", "APPROX_COUNT_DISTINCT({{`value`:n}?::DOUBLE})", "APPROX_COUNT_DISTINCT({{`value`:n}?::DECIMAL(9,2)})", "APPROX_COUNT_DISTINCT(`timestamp`, 0.05)", "APPROX_COUNT_DISTINCT(`partition` = 1)",
				"MAX_BY(`key`, `offset`)", "MIN_BY(`value`, `timestamp`)", "MAX_BY({{`value`:n}?::DOUBLE}, {`value`:s})", "MIN_BY(`offset`, {{`value`:n}?::DECIMAL(9,2)})", "MAX_BY(topic, {{`value`:n}?::DOUBLE})", "MAX_BY(`timestamp`, `key`)", "JSON_LENGTH(COLLECT_LIST(`key`))", "JSON_LENGTH(COLLECT_LIST(`offset`))",
				"PERCENTILE_APPROX(`offset`, 0.5)", "PERCENTILE_APPROX({{`value`:n}?::DOUBLE}, 0.9)", "PERCENTILE_APPROX({{`value`:n}?::DECIMAL(9,2)}, 0.25)", "PERCENTILE_APPROX(`timestamp`, 1, 20000)", "PERCENTILE_APPROX({{`value`:n}?::DATE}, 0)", "COUNT({{`value`:n}?::TIMESTAMP})", "MAX(`key`) IS NULL",
				"SUM(`partition` + CAST(1 AS UNSIGNED))", "AVG(`partition` + CAST(18446744073709551000 AS UNSIGNED))", "MIN(`partition` + CAST(1 AS UNSIGNED))", "MAX(`partition` + CAST(18446744073709551000 AS UNSIGNED))",
				"VAR_POP(`partition` + CAST(1 AS UNSIGNED))", "MAX_BY(`offset`, `partition` + CAST(1 AS UNSIGNED))", "MIN_BY(`partition` + CAST(1 AS UNSIGNED), `key`)")
		}), "COUNT(*)")
		if rnd.IntN(2) == 0 {
			q.keys = []string{pick("topic", "`partition`", "`key`", "{`value`:s}", "length(`key`)", "`offset` > 2", "`key` IS NULL", "`timestamp`", "`offset` % 3", "length(`value`)", "{`value`:s}", "{{`value`:n}?::INT}", "{{`value`:n}?::TINYINT}", "{{`value`:n}?::FLOAT}", "{{`value`:n}?::DATE}",
				"`partition` % 2", "{{`value`:n}?::DECIMAL(9,0)}", "{{`value`:n}?::DECIMAL(9,2)}", "{{`value`:n}?::DECIMAL(9,2)} * 2.5", "`partition` + CAST(1 AS UNSIGNED)", "upper({`value`:s})", "hour(`timestamp`)", "coalesce(length(`key`), -1)", "if(`offset` > 3, 'late', 'early')", "CASE WHEN `offset` < 3 THEN topic END")}
			if rnd.IntN(2) == 0 {
				q.keys = append(q.keys, pick("timestamp IS NULL", "`offset` > 3"))
			}
		}
		if len(q.keys) > 0 {
			result := func() string {
				return pick("COUNT(*)", "SUM(`offset`)", "MAX(`offset`)", "MIN(`key`)", "COUNT(`key`)", "MAX(`timestamp`)", "SUM(length(`value`))", "SUM({{`value`:n}?::DOUBLE})", "AVG(`offset`)", q.keys[0])
			}
			if rnd.IntN(3) == 0 {
				q.having = append(q.having, some(2, func() string {
					return pick("COUNT(*) > 2", "SUM(`offset`) > 5", "MAX(`offset`) < 9", "COUNT(`key`) = COUNT(*)", "MIN(`key`) LIKE 'k%'", result()+" IS NOT NULL", result()+" IS NULL", "soundex(MIN(`key`)) <> 'K000'",
						"SUM({{`value`:n}?::DECIMAL(20,3)}) >= 2.5", "MAX(`offset`) + COUNT(*) > 4 OR COUNT(*) = 1", "AVG(`offset`) BETWEEN 1 AND 4")
				})...)
			}
			if rnd.IntN(2) == 0 {
				q.order = append(q.order, result()+pick("", " DESC"))
				q.order = append(q.order, some(2, func() string { return result() + pick("", " DESC") })...)
			}
			if rnd.IntN(4) == 0 {
				q.limit = fmt.Sprintf(" LIMIT %d", 1+rnd.IntN(5))
				if rnd.IntN(2) == 0 {
					q.limit += fmt.Sprintf(" OFFSET %d", rnd.IntN(4))
				}
			}
		}
	default:
		q.project = append(some(4, func() string {
			switch rnd.IntN(6) {
			case 0:
				return pick("length(`value`)", "length(`key`)", "`offset` + `partition`", "concat(topic, '/', `partition`)", "upper(topic)", "1", "`key` = 'k1'", "`offset` % 2", "coalesce(length(`key`), -1)")
			case 1:
				return "(" + randomPredicate(rnd, 1) + ")"
			default:
				return column()
			}
		}), column())
		q.distinct = rnd.IntN(8) == 0
		if rnd.IntN(4) == 0 {
			q.limit = fmt.Sprintf(" LIMIT %d", 1+rnd.IntN(30))
			if rnd.IntN(2) == 0 {
				q.limit += fmt.Sprintf(" OFFSET %d", rnd.IntN(20))
			}
		}
		if rnd.IntN(5) < 2 && !q.distinct {
			desc := func() string { return pick("", " DESC", " DESC") }
			q.order = append(q.order, pick("`offset`", "`offset`", "`timestamp`", "`timestamp`", "`key`", "`partition`", "topic", "length(`value`)", "{`value`:s}", "{{`value`:n}?::DOUBLE}", "{{`value`:n}?::DECIMAL(20,3)}", "upper(topic)", "`offset` % 3")+desc())
			q.order = append(q.order, some(2, func() string {
				return pick("`partition`", "topic", "`offset`", "`key`", "`value`", "`timestamp`") + desc()
			})...)
		}
	}
	q.union = q.limit == "" && q.order == nil && rnd.IntN(8) == 0
	return q
}

// randomDecoded makes an expression over the JSON in value. Casts that may fail are tried, as pushdown may leave out a row that fails.
func randomDecoded(rnd *rand.Rand) string {
	return [...]string{
		"{`value`:s}", "{`value`:n}", "{{`value`::STRING}:o.p[1]}", "{{`value`:n}?::INT}", "{{`value`:n}?::TINYINT}", "{{`value`:n}?::SMALLINT}", "{{`value`:n}?::FLOAT}", "{`offset`::FLOAT}", "{{{`value`?::JSON}:n}?::TINYINT}", "{{`value`:n}?::BIGINT}", "{{`value`:n}?::DOUBLE}", "{{`value`:o.p[1]}?::DECIMAL(9,2)}",
		"{{`value`:n}?::TIMESTAMP}", "{{`value`:n}?::BOOLEAN}", "{`value`::STRING}", "{`offset`::STRING}", "{`key`::STRING}", "{{`value`:n}?::DATE}", "{`value`?::JSON}",
		"{`offset`::DOUBLE}", "{`offset`::DECIMAL(20,0)}", "length({`value`:s})", "{`timestamp`::DATE}", "{`timestamp`::STRING}", "{{`value`:o}:p[0]}",
		"{{`value`?::JSON}:n}", "{{`value`?::JSON}:o}", "{{{`value`?::JSON}:o}:p[1]}", "{{{`value`?::JSON}:o}:p[*]}", "{{{`value`?::JSON}:n}?::BIGINT}", "{{{`value`?::JSON}:n}?::INT}", "{{{`value`?::JSON}:n}?::DOUBLE}",
		"{{{`value`?::JSON}:o.p[1]}?::DECIMAL(9,2)}", "{{{`value`?::JSON}:n}?::BOOLEAN}", "{{{`value`?::JSON}:n}?::TIMESTAMP}", "{{{`value`?::JSON}:n}?::DATE}", "{{{`value`?::JSON}:s}?::STRING}", "{{{`value`?::JSON}:s}::STRING}",
		"{{`value`?::JSON}::STRING}", "{{headers:[0]}:key}", "{{{headers:[0]}:key}::STRING}", "{headers::STRING}", "{headers:[*].key}",
	}[rnd.IntN(38)]
}

// randomComputed makes a value of several columns or functions.
func randomComputed(rnd *rand.Rand) string {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	value := func() string {
		return pick("`offset`", "`partition`", "length(`key`)", "{`value`:s}", "topic", "`key`", "{{`value`:n}?::SMALLINT}", "{{`value`:n}?::FLOAT}", "{{`value`:n}?::DOUBLE}", "{{`value`:n}?::DECIMAL(9,2)}", "{{`value`:n}?::BIGINT}", "`timestamp`",
			"NULL", "7", "-1", "1000", "2.5", "-0.125", "1e0", "18446744073709551615", "CAST(7 AS UNSIGNED)", "9999999999999999999999.5", "{`offset`::DECIMAL(20,0)}", "{{`value`:n}?::DECIMAL(30,8)}", "'none'", "''", "TRUE")
	}
	cond := func() string { return randomPredicate(rnd, 0) }
	integer := func() string {
		return pick("`offset`", "`partition`", "length(`key`)", "{{`value`:n}?::INT}", "(`offset` - 5)", "if(`offset` > 3, 1, 0)")
	}
	text := func() string {
		return pick("{`value`:s}", "topic", "`key`", "{`key`::STRING}", "concat(topic, '-', {`value`:s})", "`offset`", "{`value`::STRING}")
	}
	switch rnd.IntN(24) {
	case 22, 23:
		doc := pick("{`value`?::JSON}", "{`value`?::JSON}", "{{`value`?::JSON}:o}", "headers", "{`value`::STRING}", "NULL", "'{\"n\": 1}'", "json_extract({`value`?::JSON}, '$.o')")
		extracted := fmt.Sprintf("json_extract(%s, %s)", doc, pick("'$.n'", "'$.s'", "'$.o.p'", "'$.o.p[1]'", "'$.p[0]'", "'$.o'", "'$'", "'$[0]'", "'$[0].key'", "'$.*'", "'$.none'", "'$.o.p[last]'", "NULL", "topic"))
		return pick(extracted, "json_unquote("+extracted+")", "json_unquote("+extracted+")", "json_unquote("+doc+")", "length(json_unquote("+extracted+"))")
	case 21:
		return pick("try_to_timestamp(", "try_to_timestamp(", "to_timestamp(") + pick("{`timestamp`::STRING}, 'yyyy-MM-dd HH:mm:ss[.SSS]')", "{`timestamp`::STRING}, 'yyyy-MM-dd HH:mm:ss.SSS')", "concat('3.1.2026 ', `offset`), 'd.M.yyyy H')",
			"date_format(`timestamp`, '%d/%m/%Y %h:%i:%s %p'), 'dd/MM/yyyy hh:mm:ss a')", "{`offset`::STRING}, 'd')", "{`value`:s}, \"'s'd\")", "{{`value`:n}?::STRING}, 'd')", "`key`, 'd')", "'2026', 'yyyy')", "topic, NULL)")
	case 20, 19:
		return pick("reverse(", "soundex(", "md5(", "ascii(", "quote(") + text() + ")"
	case 18:
		return fmt.Sprintf("(%s / %s)", value(), pick("4", "2.5", "1e0", "`offset`", value()))
	case 17:
		format := ""
		for range 1 + rnd.IntN(4) {
			format += pick("%Y", "%m", "%d", "%H", "%i", "%s", "%S", "%f", "%T", "%j", "%c", "%e", "%h", "%I", "%l", "%p", "%M", "%b", "%W", "%a", "-", " ", ":", "2006", "T", "%U", "%%", "%y", "%k")
		}
		return fmt.Sprintf("date_format(%s, '%s')", pick("`timestamp`", "`timestamp`", "{`timestamp`::DATE}", "{{`value`:n}?::TIMESTAMP}"), format)
	case 16:
		return "hex(" + text() + ")"
	case 15:
		return pick("unix_timestamp(", "year(", "quarter(", "month(", "day(", "dayofmonth(", "dayofyear(", "weekday(", "dayofweek(", "hour(", "minute(", "second(") +
			pick("`timestamp`", "{`timestamp`::DATE}", "{{`value`:n}?::TIMESTAMP}", "{{`value`:n}?::DATE}", "`offset`", "'2026-01-02'", "NULL") + ")"
	case 10:
		return pick("upper(", "lower(", "char_length(", "trim(", "ltrim(", "rtrim(", "trim(both 's' from ", "trim(leading 's' from ", "trim(trailing '1' from ", "trim(NULL from ") + text() + ")"
	case 11:
		at := func() string {
			return pick("0", "1", "2", "3", "-1", "-2", "100", "NULL", "'2'", "1.5", "`partition`", "9223372036854775807")
		}
		return fmt.Sprintf("substring(%s, %s)", text(), at())
	case 12:
		at := func() string { return pick("0", "1", "2", "3", "-1", "-2", "100", "NULL", "`partition`") }
		return pick(fmt.Sprintf("substring(%s, %s, %s)", text(), at(), at()), fmt.Sprintf("left(%s, %s)", text(), at()), fmt.Sprintf("right(%s, %s)", text(), at()))
	case 13:
		return fmt.Sprintf("concat(%s, %s, %s)", text(), value(), pick("'/'", "7", "-1.50", "x'ff'", "''", value()))
	case 14:
		return fmt.Sprintf("upper(concat(%s, substring(%s, 2)))", text(), text())
	case 7:
		rest := fmt.Sprintf("%s %% %s", pick("`offset`", "`partition`", integer(), "{{`value`:n}?::DECIMAL(9,2)}", "{{`value`:n}?::DOUBLE}"), pick("3", "-3", "2", "1", "0", "100", "9223372036854775807", "2.5", "NULL", "`partition`", "1 + 2", "(`offset` - 2)", integer(), integer()))
		return pick(rest, "("+rest+")", fmt.Sprintf("(%s %% 3 = %d)", integer(), rnd.IntN(4)-2))
	case 8:
		return fmt.Sprintf("(%s %s %s)", value(), pick("+", "-", "*"), value())
	case 9:
		return pick("-"+value(), fmt.Sprintf("(%s %s (%s %s %s))", integer(), pick("+", "-", "*"), integer(), pick("+", "-", "*"), integer()))
	case 0:
		return fmt.Sprintf("coalesce(%s, %s)", value(), value())
	case 1:
		return fmt.Sprintf("coalesce(length(`key`), %s, %s)", value(), value())
	case 2:
		return fmt.Sprintf("ifnull(%s, %s)", value(), value())
	case 3:
		return fmt.Sprintf("nullif(%s, %s)", value(), value())
	case 4:
		return fmt.Sprintf("if(%s, %s, %s)", cond(), value(), value())
	case 5:
		return fmt.Sprintf("CASE WHEN %s THEN %s WHEN %s THEN %s %s END", cond(), value(), cond(), value(), pick("", "ELSE "+value()))
	default:
		return fmt.Sprintf("CASE %s WHEN %s THEN %s WHEN %s THEN %s ELSE %s END", value(), value(), value(), value(), value(), value())
	}
}

// randomPredicate makes a condition, some of which can be pushed as bounds, some as kernels, some not at all.
func randomPredicate(rnd *rand.Rand, depth int) string {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	if depth > 0 {
		sub := func() string { return randomPredicate(rnd, depth-1) }
		switch rnd.IntN(6) {
		case 0:
			return "(" + sub() + " OR " + sub() + ")"
		case 1:
			return "(" + sub() + " AND " + sub() + ")"
		case 2:
			return "NOT " + sub()
		}
	}
	op := func() string { return pick("=", "<>", "<", "<=", ">", ">=", "<=>") }
	number := func() string {
		return pick(fmt.Sprint(rnd.IntN(12)), fmt.Sprint(rnd.IntN(12)), fmt.Sprint(rnd.IntN(3)), "-1", "2.5", "3.0", "'4'", "1e1", "9223372036854775807", "9223372036854775808", "9007199254740993", "'9007199254740993'", "1e66", "TRUE", "'1x'", "1 + 2", "NULL")
	}
	moment := func() string {
		return pick(fmt.Sprintf("'2026-01-02 03:%02d:%02d'", 4+rnd.IntN(2), rnd.IntN(60)), "'2026-01-02 03:04:30.5'", "'2026-01-02 03:04:31.0015'", "timestamp '2026-01-02 03:04:40'",
			"'2026-01-02'", "'2026-01-02' + interval 11083 second", "date_add('2026-01-02 03:04:00', interval 20 second)")
	}
	name := func() string { return pick("'a'", "'b'", "'c'", "'A'", "''", "x'61'", "concat('a', '')") }
	text := func() string { return pick("'k1'", "'k2'", "'K1'", "''", "x'ff00'", "'v3'", "'vvv4'") }
	integer := func() string { return pick("`partition`", "`offset`", "`offset`", "length(`value`)", "length(`key`)") }
	switch rnd.IntN(22) {
	case 21:
		subject := pick("{`value`:s}", "topic", "{`key`::STRING}", "upper(topic)", "`key`", "`offset`", "{`value`::STRING}")
		pattern := pick("'^k'", "'1$'", "'.'", "'[a-c]+'", "'^s[0-9]$'", "'(a|1)'", "'A'", "'K'", "'v.*4'", "'^$'", "'\\\\d'", "'(?i)A'", "NULL", "concat('k', '.')", "topic")
		if rnd.IntN(2) == 0 {
			return subject + pick(" REGEXP ", " NOT REGEXP ", " RLIKE ") + pattern
		}
		return fmt.Sprintf("regexp_like(%s, %s, %s)", subject, pattern, pick("'c'", "'i'", "'ci'", "'ic'", "'mnu'", "''", "NULL"))
	case 18, 19:
		return randomComputed(rnd) + " " + op() + " " + pick(number(), "'s1'", "'a'", "'none'", randomComputed(rnd))
	case 20:
		return "(" + randomPredicate(rnd, 0) + ") IS " + pick("TRUE", "FALSE", "NOT TRUE", "NOT FALSE")
	case 16, 17:
		return pick("`key`", "`value`", "topic", "{`value`:s}", "{`value`::STRING}", "`offset`", "{`offset`::STRING}") + pick(" LIKE ", " LIKE ", " NOT LIKE ") +
			pick("'k%'", "'%1'", "'_1'", "'%v%'", "'s_'", "'%'", "''", "'a'", "'A'", "'%\\\\\"%'", "'k!%' ESCAPE '!'", "'%:%}'", "'_%_%_'", "x'6b25'", "x'ff25'", "NULL", "concat('k', '%')", "'a\\\\'", "'%!' ESCAPE '!'", "'%%' ESCAPE '%'")
	case 12:
		return randomDecoded(rnd) + " " + op() + " " + pick("'s1'", "'7'", "3", "2.5", "0", "1e0", "'2026-01-02'", "TRUE", "NULL")
	case 13:
		return randomDecoded(rnd) + " " + pick("IS NULL", "IS NOT NULL", "IN ('s1', 's2')", "IN (1, 2, 3)", "= "+randomDecoded(rnd))
	case 0, 1:
		return integer() + " " + op() + " " + number()
	case 2:
		return number() + " " + op() + " " + integer()
	case 3:
		if rnd.IntN(3) == 0 {
			return fmt.Sprintf("topic %s (%s, %s)", pick("IN", "NOT IN"), name(), name())
		}
		return "topic " + op() + " " + name()
	case 4:
		return "`timestamp` " + op() + " " + moment()
	case 5:
		return pick("`key`", "`value`") + " " + op() + " " + text()
	case 6:
		return fmt.Sprintf("%s %s (%s, %s, %d)", integer(), pick("IN", "NOT IN"), number(), number(), rnd.IntN(5))
	case 7:
		return fmt.Sprintf("%s %s (%s, %s)", pick("topic", "`key`"), pick("IN", "NOT IN"), text(), text())
	case 8:
		return fmt.Sprintf("%s %s %s AND %s", integer(), pick("BETWEEN", "NOT BETWEEN"), number(), number())
	case 9:
		return fmt.Sprintf("`timestamp` BETWEEN %s AND %s", moment(), moment())
	case 10:
		return pick("`key`", "`value`", "`timestamp`", "`offset`", "topic") + " " + pick("IS NULL", "IS NOT NULL")
	case 11:
		return pick("`offset` % 2 = 1", "`key` LIKE 'k%'", "`offset` + `partition` > 3", "`offset` > `partition`", "`key` < `value`", "upper(topic) = 'A'", "`partition` IN (SELECT n FROM numbers)", "length(`value`) = length(`key`)", "`value` = topic")
	default:
		return fmt.Sprintf("`offset` >= %d", rnd.IntN(6))
	}
}
