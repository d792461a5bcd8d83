package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/catalog"
	"millrace/internal/column"
	"millrace/internal/sqlerr"
	"millrace/server/dialect"
	"millrace/streaming/executor"
)

// A definition may add to its query: columns with DEFAULT, columns that are GENERATED, expectations. They become columns of derived tables around the query,
//
//	SELECT a, d, g, ((a > 0) IS TRUE) AS `expectation 1`                expectations see all columns
//	FROM (SELECT a, d, (a + d)::bigint AS g                             generated columns see the query's and those with DEFAULT
//	      FROM (SELECT a, (1)::int AS d FROM (query) AS t) AS t) AS t
//
// so that they are planned, pushed down and computed as everything else in it is. The executor looks at the columns of expectations and does not store them.

// rule is a column that a definition adds to its query.
type rule struct {
	// what names it in messages; text is its expression, in the dialect.
	what, text string
	// name is that of its column.
	name string
	// of is the column of the definition, nil for an expectation.
	of *catalog.StreamingColumn
}

// expression is the rule as the select list has it.
func (r *rule) expression() string {
	switch {
	case r.of == nil:
		return "((" + r.text + "\n) IS TRUE)"
	case r.of.Cast == "":
		return "(" + r.text + "\n)"
	default:
		return "(" + r.text + "\n)::" + r.of.Cast
	}
}

// rules are what a definition adds, in the order in which one may use the other.
func rules(d *catalog.Streaming, given []column.Field) [][]rule {
	var defaults, generated, expectations []rule
	for i := range d.Columns {
		c := &d.Columns[i]
		has := slices.ContainsFunc(given, func(f column.Field) bool { return strings.EqualFold(f.Name, c.Name) })
		switch {
		case has:
		case c.Default != "":
			defaults = append(defaults, rule{"DEFAULT of column '" + c.Name + "'", c.Default, c.Name, c})
		case c.Generated != "":
			generated = append(generated, rule{"the expression of column '" + c.Name + "'", c.Generated, c.Name, c})
		}
	}
	for i, e := range d.Expectations {
		expectations = append(expectations, rule{"expectation '" + e.Name + "'", e.Condition, fmt.Sprintf("expectation %d", i+1), nil})
	}
	return slices.DeleteFunc([][]rule{defaults, generated, expectations}, func(l []rule) bool { return len(l) == 0 })
}

// obey plans the query anew with what the definition adds to it, and finds the executor's checks.
func (q *streamQuery) obey(c *sql.Context, d *catalog.Streaming, table string) error {
	var names []string
	for _, f := range q.fields {
		names = append(names, backquoted(f.Name))
	}
	for _, level := range rules(d, q.fields) {
		inner, outer := q.text, slices.Clone(names)
		for _, r := range level {
			outer = append(outer, r.expression()+" AS "+backquoted(r.name))
			names = append(names, backquoted(r.name))
		}
		q.text = selectFrom(strings.Join(outer, ", "), inner, table)
		if err := q.plan(c); err != nil {
			return q.blame(c, level, inner, table, err)
		}
		for _, r := range level {
			if err := q.tryConstant(c, &r); err != nil {
				return err
			}
		}
	}
	q.expectations = len(d.Expectations)
	stored := q.Columns()
	for i, e := range d.Expectations {
		q.checks = append(q.checks, executor.Check{Name: e.Name, Condition: e.Condition, Column: len(stored) + i, Kind: checkKinds[e.Action]})
	}
	for i, f := range stored {
		if slices.ContainsFunc(d.Columns, func(c catalog.StreamingColumn) bool { return c.NotNull && strings.EqualFold(c.Name, f.Name) }) {
			q.checks = append(q.checks, executor.Check{Name: f.Name, Column: i, Kind: executor.NotNull})
		}
	}
	return nil
}

var checkKinds = map[string]executor.CheckKind{"": executor.Counted, dialect.DropRow: executor.Dropped, dialect.FailUpdate: executor.Fatal}

// selectFrom selects from a query in a table of that name; comments at their ends do not reach further.
func selectFrom(list, query, table string) string {
	return "SELECT " + list + " FROM (" + query + "\n) AS " + backquoted(table)
}

// blame finds the rule of a level that cannot be planned; failed is what the level gave.
func (q *streamQuery) blame(c *sql.Context, level []rule, inner, table string, failed error) error {
	for _, r := range level {
		if _, err := parse(c, "SELECT "+r.expression()); err != nil {
			return r.wrong(c, err)
		}
		alone := streamQuery{session: q.session, schemas: q.schemas, text: selectFrom(r.expression()+" AS "+backquoted(r.name), inner, table)}
		if err := alone.plan(c); err != nil {
			return sisterMeant(level, r.wrong(c, err))
		}
	}
	return failed
}

// sisterMeant explains the error of a rule that uses a column which a rule of its level makes: they do not see each other.
func sisterMeant(level []rule, err error) error {
	e, ok := sqlerr.As(err)
	if !ok || e.Kind != sqlerr.NoColumn {
		return err
	}
	for _, r := range level {
		if r.of != nil && r.of.Generated != "" && strings.Contains(strings.ToLower(e.Msg), strings.ToLower(`column "`+r.name+`"`)) {
			return e.WithHint("'%s' is GENERATED too, and sees as this one the columns of the query and those with a DEFAULT: write (%s) in its place", r.name, strings.TrimSpace(r.text))
		}
	}
	return err
}

// tryConstant computes a rule that reads no column, as most DEFAULTs do: if it fails or gives a NULL that is not allowed, it does so for each record,
// and the definition is to blame, not the records.
func (q *streamQuery) tryConstant(c *sql.Context, r *rule) error {
	value, known, err := q.constant(c, "SELECT "+r.expression())
	switch {
	case err != nil:
		return r.wrong(c, err)
	case known && value == nil && r.of != nil && r.of.NotNull:
		return sqlerr.New(sqlerr.OptionInvalid, "%s is NULL, and the column is NOT NULL", r.what)
	}
	return nil
}

// constant computes a SELECT of one expression. It is not known when the expression reads columns, which there are none of.
func (q *streamQuery) constant(c *sql.Context, text string) (value any, known bool, err error) {
	st, err := parse(c, text)
	if err != nil {
		return nil, false, err
	}
	if _, err := q.session.bind(c, st); err != nil {
		return nil, false, nil // the rule was planned above its query, so what is missing here are the query's columns
	}
	node, err := q.session.engine.BoundQueryPlan(c, st.text, st.ast, nil)
	if err != nil {
		return nil, false, err
	}
	rows, err := q.session.engine.Analyzer.ExecBuilder.Build(c, node, nil)
	if err != nil {
		return nil, false, err
	}
	defer func() { err = errors.Join(err, rows.Close(c)) }()
	row, err := rows.Next(c)
	if err != nil {
		return nil, false, err
	}
	return row[0], true, nil
}

// wrong says which rule an error is about.
func (r *rule) wrong(c *sql.Context, err error) error {
	e, ok := sqlerr.As(fault(c, err))
	if !ok {
		return err
	}
	named := sqlerr.New(e.Kind, "%s: %s", r.what, e.Msg)
	if e.Hint == "" {
		return named
	}
	return named.WithHint("%s", e.Hint)
}
