package server

import (
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/catalog"
	"millrace/streaming"
	"millrace/streaming/sqltable"
)

// widen plans the query anew with casts around columns that the list declares with wider types, as in
//
//	SELECT (id)::BIGINT AS id, name FROM (query) AS t
//
// Where the same vectors hold both, as those of all texts, there is nothing to cast.
func (q *streamQuery) widen(c *sql.Context, d *catalog.Streaming, table string) error {
	var list []string
	casts := false
	for _, given := range q.columns {
		expression := backquoted(given.Name)
		i := slices.IndexFunc(d.Columns, func(l catalog.StreamingColumn) bool { return strings.EqualFold(l.Name, given.Name) })
		if i >= 0 && d.Columns[i].Cast != "" {
			declared, err := q.castType(c, d.Columns[i].Cast)
			if err != nil {
				return err
			}
			if declared.Type != given.Type && streaming.Widens(declared, given) {
				expression = "(" + expression + ")::" + d.Columns[i].Cast + " AS " + expression
				casts = true
			}
		}
		list = append(list, expression)
	}
	if !casts {
		return nil
	}
	q.text = selectFrom(strings.Join(list, ", "), q.text, table)
	return q.plan(c)
}

// castType is the type that a cast gives.
func (q *streamQuery) castType(c *sql.Context, cast string) (streaming.Column, error) {
	st, err := parse(c, "SELECT NULL::"+cast)
	if err != nil {
		return streaming.Column{}, err
	}
	if _, err := q.session.bind(c, st); err != nil {
		return streaming.Column{}, err
	}
	node, err := q.session.engine.BoundQueryPlan(c, st.text, st.ast, nil)
	if err != nil {
		return streaming.Column{}, err
	}
	t := node.Schema(c)[0].Type
	f, err := sqltable.FieldOf("", t, true)
	return streaming.Column{Field: f, SQL: typeText(t)}, err
}
