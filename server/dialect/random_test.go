package dialect

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// pair is an expression as a user writes it, and the MySQL that it means.
type pair struct{ dialect, mysql string }

func same(s string) pair { return pair{s, s} }

// generator writes random expressions in both languages. With plain set it keeps to MySQL.
type generator struct {
	*rand.Rand
	plain bool
}

func (g generator) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g generator) join(format string, parts ...pair) pair {
	d, m := make([]any, len(parts)), make([]any, len(parts))
	for i, p := range parts {
		d[i], m[i] = p.dialect, p.mysql
	}
	return pair{fmt.Sprintf(format, d...), fmt.Sprintf(format, m...)}
}

// blank is white space or a comment with traps in it.
func (g generator) blank() string {
	return g.pick(" ", " ", " ", "\n", "\t ", " /* key::int */ ", " -- a => b ?::\n", " # STREAM\n")
}

func (g generator) column() pair {
	p := same(g.pick("a", "t.b", "`x y`", "value", "offset", "timestamp", "db.t.c", "k.`key`", "t.key", "t.partition"))
	if !g.plain {
		switch g.IntN(5) {
		case 0:
			p = pair{"key", "`key`"}
		case 1:
			p = pair{"partition", "`partition`"}
		case 2:
			p = pair{"c.s.t.a", "`c.s`.t.a"}
		}
	}
	return p
}

func (g generator) literal() pair {
	return same(g.pick("1", "0x1F", "1.5e3", ".5", "'x'", "'it''s :: \\' =>'", "\"a:b\"", "'a' 'b'", "_utf8mb4'x'", "x'61'", "b'01'", "NULL", "TRUE", "?", "@v", "@@max_connections",
		"DATE '2026-11-29'", "TIMESTAMP '2026-11-29 00:00:00'"))
}

// primary is an operand that a postfix operator may follow.
func (g generator) primary(depth int) pair {
	n := 14
	if g.plain {
		n = 9
	}
	if depth <= 0 {
		n = 2
	}
	switch g.IntN(n) {
	case 0:
		return g.column()
	case 1:
		return g.literal()
	case 2:
		return g.join("("+g.blank()+"%s)", g.expression(depth-1))
	case 3:
		return g.join(g.pick("f", "left", "concat", "if", "coalesce", "replace")+"(%s,"+g.blank()+"%s)", g.expression(depth-1), g.expression(depth-1))
	case 4:
		return g.join("CASE %s WHEN"+g.blank()+"%s THEN %s ELSE %s END", g.primary(depth-1), g.expression(depth-1), g.expression(depth-1), g.primary(depth-1))
	case 5:
		return g.join("(SELECT max(%s) FROM u WHERE %s)", g.expression(depth-1), g.expression(depth-1))
	case 6:
		return g.join("sum(%s) OVER (PARTITION BY %s ORDER"+g.blank()+"BY %s)", g.expression(depth-1), g.column(), g.column())
	case 7:
		return g.join("(EXISTS (SELECT %s FROM u))", g.expression(depth-1))
	case 8:
		c := g.column()
		return g.join("%s"+g.pick("->", "->>")+"'$.a'", c)
	case 9:
		return g.cast(g.primary(depth-1), g.pick("::", "::"+g.blank(), g.blank()+"::"), "millrace_cast")
	case 10:
		return g.cast(g.primary(depth-1), g.pick(" ?::", " ?:: "), "millrace_try_cast")
	case 11:
		p := g.primary(depth - 1)
		path := [][2]string{{"a", "a"}, {"a.b[0]", "a.b[0]"}, {"`a b`.c", "`a b`.c"}, {"['x y'][*]", "[''x y''][*]"}, {"order.select", "order.select"}, {"key", "key"}}[g.IntN(6)]
		return pair{p.dialect + ":" + path[0], "millrace_path(" + p.mysql + ", '" + path[1] + "')"}
	case 12:
		p, t := g.expression(depth-1), g.typeName()
		if g.IntN(2) == 0 {
			return pair{"try_cast(" + p.dialect + " AS " + t[0] + ")", "millrace_try_cast(" + p.mysql + ", '" + t[1] + "')"}
		}
		return pair{"CAST(" + p.dialect + " AS string)", "millrace_cast(" + p.mysql + ", 'STRING')"}
	default:
		p := g.primary(depth - 1)
		f := pair{"f(" + p.dialect + ")", "f(" + p.mysql + ")"}
		if g.IntN(2) == 0 {
			return pair{f.dialect + "->'$.a'", "json_extract(" + f.mysql + ", '$.a')"}
		}
		return pair{f.dialect + "->>'$.a'", "json_unquote(json_extract(" + f.mysql + ", '$.a'))"}
	}
}

func (g generator) typeName() [2]string {
	return [][2]string{{"int", "INT"}, {"STRING", "STRING"}, {"decimal(10, 2)", "DECIMAL(10,2)"}, {"Timestamp", "TIMESTAMP"}, {"long", "BIGINT"}, {"variant", "JSON"}}[g.IntN(6)]
}

func (g generator) cast(p pair, operator, call string) pair {
	t := g.typeName()
	return pair{p.dialect + operator + t[0], call + "(" + p.mysql + ", '" + t[1] + "')"}
}

func (g generator) expression(depth int) pair {
	if depth <= 0 {
		return g.primary(0)
	}
	switch g.IntN(9) {
	case 0:
		return g.join("%s"+g.blank()+g.pick("+", "-", "*", "/", "=", "<=>", "<", ">=", "<>", "AND", "OR", "DIV", "%%", "XOR", "LIKE")+g.blank()+"%s", g.primary(depth-1), g.primary(depth-1))
	case 1:
		return g.join("NOT %s", g.primary(depth-1))
	case 2:
		return g.join("- %s", g.primary(depth-1))
	case 3:
		return g.join("%s BETWEEN %s AND"+g.blank()+"%s", g.primary(depth-1), g.primary(depth-1), g.primary(depth-1))
	case 4:
		return g.join("%s IN (%s, %s)", g.primary(depth-1), g.expression(depth-1), g.primary(depth-1))
	case 5:
		return g.join("%s IS NOT NULL", g.primary(depth-1))
	case 6:
		return g.join("date_add(%s, INTERVAL %s DAY)", g.primary(depth-1), g.primary(depth-1))
	default:
		return g.primary(depth)
	}
}

func (g generator) table() pair {
	p := same(g.pick("t", "db.t", "t AS k", "stream", "stream s", "(u, v)", "t USE INDEX (i)", "(SELECT 1 AS x) d", "f(1, 2) w"))
	if !g.plain {
		switch g.IntN(6) {
		case 0:
			p = pair{"c.s.t", "`c.s`.t"}
		case 1:
			p = pair{"t key", "t `key`"}
		case 2:
			e := g.expression(1)
			p = pair{"f(a => " + e.dialect + ", `b.c`=>2) k", "f('#named', 'a', " + e.mysql + ", 'b.c', 2) k"}
		case 3:
			p = pair{"STREAM f(key => 1) k", "f('#named', '#stream', 1, 'key', 1) k"}
		case 4:
			p = pair{"STREAM(f()) k", "f('#named', '#stream', 1) k"}
		}
	}
	return p
}

func (g generator) query(depth int) pair {
	q := g.join(g.pick("SELECT ", "SELECT DISTINCT ", "select\n")+"%s AS x, %s"+g.blank()+"AS y FROM"+g.blank()+"%s", g.expression(depth), g.expression(depth), g.table())
	if g.IntN(4) == 0 {
		q = g.join("%s LEFT JOIN (SELECT %s AS a, %s AS b FROM %s, %s WHERE %s) d USING (a, b)", q, g.expression(1), g.expression(1), g.table(), g.table(), g.expression(1))
	}
	if g.IntN(4) == 0 {
		q = g.join("%s, LATERAL (SELECT %s AS a UNION ALL SELECT %s) l", q, g.expression(1), g.expression(1))
	}
	if g.IntN(4) == 0 {
		q = g.join("%s JOIN (u JOIN %s ON %s) ON %s", q, g.table(), g.expression(1), g.expression(1))
	}
	if g.IntN(2) == 0 {
		q = g.join("%s JOIN %s ON %s", q, g.table(), g.expression(depth))
	}
	if g.IntN(2) == 0 {
		q = g.join("%s, %s", q, g.table())
	}
	if g.IntN(2) == 0 {
		q = g.join("%s WHERE %s", q, g.expression(depth))
	}
	if g.IntN(3) == 0 {
		q = g.join("%s GROUP BY %s, %s HAVING %s", q, g.expression(1), g.column(), g.expression(1))
	}
	if g.IntN(3) == 0 {
		q = g.join("%s ORDER BY %s DESC, %s LIMIT ? OFFSET 3", q, g.expression(1), g.column())
	}
	return q
}

func (g generator) statement() pair {
	switch g.IntN(14) {
	case 6:
		return g.join("INSERT INTO t (a, b) VALUES (%s, %s), (%s, %s) ON DUPLICATE KEY UPDATE a = %s, b = VALUES(b)", g.expression(2), g.expression(2), g.expression(2), g.expression(2), g.expression(2))
	case 7:
		return g.join("REPLACE INTO t VALUES (%s), (%s)", g.expression(2), g.expression(2))
	case 8:
		return g.join("SET @a = %s, @b = %s", g.expression(2), g.expression(2))
	case 9:
		return g.join("CREATE TABLE t (a int DEFAULT 1, KEY (a)) AS %s", g.query(2))
	case 10:
		return g.join("UPDATE t JOIN u USING (a, b) SET t.a = %s WHERE %s ORDER BY %s LIMIT 3", g.expression(2), g.expression(2), g.column())
	case 11:
		return g.join("CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.a = %s; IF (%s) THEN SELECT %s FROM t; END IF; END", g.expression(2), g.expression(2), g.expression(2))
	case 0:
		return g.join("INSERT INTO t (a, b) %s", g.query(2))
	case 1:
		return g.join("UPDATE t SET a = %s, b = %s WHERE %s", g.expression(2), g.expression(1), g.expression(2))
	case 2:
		return g.join("DELETE FROM t WHERE %s", g.expression(3))
	case 3:
		return g.join("WITH w AS (%s) SELECT * FROM w", g.query(2))
	case 4:
		return g.join("SELECT %s AS x FROM t UNION ALL %s", g.expression(2), g.query(1))
	case 5:
		return g.join("CREATE VIEW v AS %s", g.query(2))
	}
	return g.query(3)
}

func TestPlainStatementsComeBackByteForByte(t *testing.T) {
	parsed := 0
	for seed := range uint64(1500) {
		g := generator{rand.New(rand.NewPCG(seed, 1)), true}
		text := g.statement().dialect
		r, err := Rewrite(text, Mode{})
		if err != nil || r.Changed || r.SQL != text {
			t.Fatalf("seed %d: %v\n%s\n%+v", seed, err, text, r)
		}
		if _, err := sqlparser.ParseWithOptions(ctx, text, sqlparser.ParserOptions{}); err == nil {
			parsed++
			if n := placeholders(text); n != r.Params {
				t.Fatalf("seed %d: %d parameters, the engine counts %d\n%s", seed, r.Params, n, text)
			}
		}
	}
	if parsed < 1400 {
		t.Fatalf("the engine parses only %d of 1500 statements: the generator has lost touch", parsed)
	}
}

func TestRewrittenTextMeansWhatWasWritten(t *testing.T) {
	compared := 0
	for seed := range uint64(2000) {
		g := generator{rand.New(rand.NewPCG(seed, 2)), false}
		p := g.statement()
		r, err := Rewrite(p.dialect, Mode{})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, p.dialect)
		}
		want, err := sqlparser.ParseWithOptions(ctx, p.mysql, sqlparser.ParserOptions{})
		if err != nil {
			continue // not every combination is MySQL
		}
		got, err := sqlparser.ParseWithOptions(ctx, r.SQL, sqlparser.ParserOptions{})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s\nwant\n%s", seed, err, p.dialect, r.SQL, p.mysql)
		}
		if g, w := sqlparser.String(got), sqlparser.String(want); g != w {
			t.Fatalf("seed %d\n%s\ngot\n%s\nwant\n%s", seed, p.dialect, g, w)
		}
		if n := placeholders(r.SQL); n != r.Params {
			t.Fatalf("seed %d: %d parameters, the engine counts %d\n%s", seed, r.Params, n, r.SQL)
		}
		compared++
	}
	if compared < 1800 {
		t.Fatalf("compared only %d of 2000 statements: the generator has lost touch", compared)
	}
}

// placeholders counts ? as the engine's lexer does.
func placeholders(sql string) int {
	n := 0
	tokenizer := sqlparser.NewStringTokenizer(sql)
	for {
		switch kind, value := tokenizer.Scan(); {
		case kind == 0:
			return n
		case kind == sqlparser.VALUE_ARG && strings.HasPrefix(string(value), ":v"):
			n++
		}
	}
}
