//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// queryMaker makes queries over the table or view d, with expressions of known types: what is compared is the answer to a question that both
// understand, not how each converts texts to numbers.
type queryMaker struct {
	rnd *rand.Rand
	// table is what stands before columns, such as "a."
	table string
}

func (m *queryMaker) pick(of ...string) string { return of[m.rnd.IntN(len(of))] }

func (m *queryMaker) col(name string) string { return m.table + name }

// integer, decimal, double, text, moment and truth make expressions of that type, the smaller the deeper.
func (m *queryMaker) integer(depth int) string {
	if depth <= 0 || m.rnd.IntN(3) == 0 {
		return m.pick(m.col("i"), m.col("i"), m.col("id"), fmt.Sprint(m.rnd.IntN(20)-4))
	}
	a, b := m.integer(depth-1), m.integer(depth-1)
	switch m.rnd.IntN(12) {
	case 0, 1:
		return fmt.Sprintf("(%s %s %s)", a, m.pick("+", "-", "*"), b)
	case 2:
		return fmt.Sprintf("(%s %% %d)", a, 2+m.rnd.IntN(6))
	case 3:
		return fmt.Sprintf("(%s DIV %d)", a, 2+m.rnd.IntN(6))
	case 4:
		return "abs(" + a + ")"
	case 5:
		return "coalesce(" + a + ", " + b + ")"
	case 6:
		return "char_length(" + m.text(depth-1) + ")"
	case 7:
		return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", m.truth(depth-1), a, b)
	case 8:
		return m.pick("year", "month", "day", "hour", "minute", "second", "dayofweek", "quarter") + "(" + m.col("at") + ")"
	case 9:
		return "nullif(" + a + ", " + b + ")"
	case 10:
		return m.pick("greatest", "least") + "(" + a + ", " + b + ")"
	default:
		return fmt.Sprintf("if(%s, %s, %s)", m.truth(depth-1), a, b)
	}
}

func (m *queryMaker) decimal(depth int) string {
	if depth <= 0 || m.rnd.IntN(2) == 0 {
		return m.col("n")
	}
	switch m.rnd.IntN(6) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", m.decimal(depth-1), m.pick("+", "-"), m.decimal(depth-1))
	case 1:
		return fmt.Sprintf("(%s * %d)", m.decimal(depth-1), 1+m.rnd.IntN(5))
	case 2:
		return fmt.Sprintf("round(%s, %d)", m.decimal(depth-1), m.rnd.IntN(3))
	case 3:
		return "abs(" + m.decimal(depth-1) + ")"
	case 4:
		return "(-" + m.decimal(depth-1) + ")"
	default:
		return fmt.Sprintf("coalesce(%s, %s)", m.decimal(depth-1), m.pick("0.5", "1.25", "-3.125"))
	}
}

func (m *queryMaker) double(depth int) string {
	if depth <= 0 || m.rnd.IntN(2) == 0 {
		return m.col("f")
	}
	switch m.rnd.IntN(5) {
	case 0:
		return fmt.Sprintf("(%s %s %s)", m.double(depth-1), m.pick("+", "-", "*"), m.double(depth-1))
	case 1:
		return fmt.Sprintf("(%s / 4)", m.double(depth-1))
	case 2:
		return "abs(" + m.double(depth-1) + ")"
	case 3:
		return m.pick("floor", "ceil") + "(" + m.double(depth-1) + ")"
	default:
		return fmt.Sprintf("(%s + %s)", m.double(depth-1), m.integer(depth-1))
	}
}

func (m *queryMaker) text(depth int) string {
	if depth <= 0 || m.rnd.IntN(3) == 0 {
		return m.pick(m.col("t"), m.col("t"), m.col("t"), "'abc'", "'x'")
	}
	a := m.text(depth - 1)
	switch m.rnd.IntN(9) {
	case 0:
		return "upper(" + a + ")"
	case 1:
		return "lower(" + a + ")"
	case 2:
		return "concat(" + a + ", " + m.text(depth-1) + ")"
	case 3:
		return fmt.Sprintf("substring(%s, %d, %d)", a, 1+m.rnd.IntN(3), 1+m.rnd.IntN(3))
	case 4:
		return fmt.Sprintf("%s(%s, %d)", m.pick("left", "right"), a, m.rnd.IntN(3))
	case 5:
		return "coalesce(" + a + ", '-')"
	case 6:
		return "replace(" + a + ", 'b', 'XY')"
	case 7:
		return "trim(" + a + ")"
	default:
		return "reverse(" + a + ")"
	}
}

func (m *queryMaker) moment() string {
	return m.pick(m.col("at"), m.col("at"), "date("+m.col("at")+")", "date_format("+m.col("at")+", '%Y-%m')")
}

func (m *queryMaker) truth(depth int) string {
	if depth > 0 && m.rnd.IntN(3) == 0 {
		switch m.rnd.IntN(3) {
		case 0:
			return "(" + m.truth(depth-1) + " AND " + m.truth(depth-1) + ")"
		case 1:
			return "(" + m.truth(depth-1) + " OR " + m.truth(depth-1) + ")"
		default:
			return "NOT (" + m.truth(depth-1) + ")"
		}
	}
	compare := m.pick("=", "<>", "<", "<=", ">", ">=", "<=>")
	switch m.rnd.IntN(10) {
	case 0, 1:
		return m.integer(depth-1) + " " + compare + " " + m.integer(depth-1)
	case 2:
		return m.decimal(depth-1) + " " + compare + " " + m.pick("0", "12.5", "-500", m.col("i"))
	case 3:
		return m.double(depth-1) + " " + compare + " " + m.pick("0", "12.5", "-100.25e0")
	case 4:
		return m.text(depth-1) + " " + compare + " " + m.text(depth-1)
	case 5:
		return m.text(depth-1) + " " + m.pick("LIKE", "NOT LIKE") + " " + m.pick("'a%'", "'%b%'", "'_'", "'%'", "''", "'A__'", "'a|%b' ESCAPE '|'")
	case 6:
		return m.pick(m.integer(depth-1), m.col("t"), m.col("n"), m.col("at")) + m.pick(" IS NULL", " IS NOT NULL")
	case 7:
		return fmt.Sprintf("%s %s (%d, %d, %s)", m.integer(depth-1), m.pick("IN", "NOT IN"), m.rnd.IntN(10), m.rnd.IntN(10), m.pick("3", "NULL", "-1"))
	case 8:
		return fmt.Sprintf("%s %s %d AND %d", m.integer(depth-1), m.pick("BETWEEN", "NOT BETWEEN"), m.rnd.IntN(8)-4, m.rnd.IntN(16))
	default:
		return m.col("at") + " " + m.pick("<", ">=", "=", "<>") + " '" + m.pick("2022-06-15", "2021-01-01 12:00:00", "2024-02-29 00:00:00.500") + "'"
	}
}

// value is an expression of any type.
func (m *queryMaker) value() string {
	switch m.rnd.IntN(7) {
	case 0, 1:
		return m.integer(2)
	case 2:
		return m.decimal(2)
	case 3:
		return m.double(2)
	case 4, 5:
		return m.text(2)
	default:
		return m.moment()
	}
}

// aggregate is one over the rows of a group.
func (m *queryMaker) aggregate() string {
	switch m.rnd.IntN(9) {
	case 0:
		return "count(*)"
	case 1:
		return "count(" + m.value() + ")"
	case 2:
		return "sum(" + m.pick(m.integer(1), m.col("b")) + ")"
	case 3:
		return m.pick("sum", "avg") + "(" + m.decimal(1) + ")"
	case 4:
		return m.pick("sum", "avg", "stddev_pop", "var_samp") + "(" + m.double(1) + ")"
	case 5:
		return "avg(" + m.pick(m.integer(1), m.col("b")) + ")"
	case 6:
		return m.pick("min", "max") + "(" + m.pick(m.integer(1), m.text(1), m.decimal(1), m.col("at"), m.col("b")) + ")"
	case 7:
		return "count(DISTINCT " + m.pick(m.col("i"), m.text(1), m.integer(1)) + ")"
	default:
		return "sum(DISTINCT " + m.col("i") + ")"
	}
}

func (m *queryMaker) list(n int, make func() string) string {
	parts := []string{}
	for range 1 + m.rnd.IntN(n) {
		parts = append(parts, make())
	}
	return strings.Join(parts, ", ")
}

func (m *queryMaker) where() string {
	if m.rnd.IntN(3) == 0 {
		return ""
	}
	return " WHERE " + m.truth(2)
}

// query makes a query whose answer is a multiset that does not depend on the order of rows that tie.
func (m *queryMaker) query() string {
	switch m.rnd.IntN(10) {
	case 0, 1:
		return "SELECT " + m.list(3, m.value) + " FROM d" + m.where()
	case 2:
		return "SELECT DISTINCT " + m.list(2, m.value) + " FROM d" + m.where()
	case 3:
		return fmt.Sprintf("SELECT id, %s FROM d%s ORDER BY %s%s, id LIMIT %d", m.value(), m.where(), m.value(), m.pick("", " DESC"), 1+m.rnd.IntN(30))
	case 4:
		return "SELECT " + m.list(3, m.aggregate) + " FROM d" + m.where()
	case 5, 6:
		key := m.value()
		having := ""
		if m.rnd.IntN(3) == 0 {
			having = fmt.Sprintf(" HAVING count(*) > %d", m.rnd.IntN(20))
		}
		return "SELECT " + key + " AS k, " + m.list(3, m.aggregate) + " FROM d" + m.where() + " GROUP BY k" + having
	case 7:
		a, b := &queryMaker{rnd: m.rnd, table: "a."}, &queryMaker{rnd: m.rnd, table: "b."}
		return fmt.Sprintf("SELECT a.id, b.id, %s FROM d a %s d b ON a.i = b.i AND b.id < %d AND %s WHERE a.id < %d", a.value(), m.pick("JOIN", "LEFT JOIN"), 5+m.rnd.IntN(60), b.truth(1), 20+m.rnd.IntN(80))
	case 8:
		return "SELECT " + m.integer(1) + " AS v FROM d" + m.where() + m.pick(" UNION ", " UNION ALL ") + "SELECT " + m.integer(1) + " FROM d" + m.where()
	default:
		return fmt.Sprintf("SELECT id, %s FROM d WHERE %s IN (SELECT i FROM d WHERE %s)", m.value(), m.pick("i", "id", "i + 1"), m.truth(1))
	}
}
