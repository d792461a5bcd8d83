package server

import (
	"maps"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/catalog"
	"millrace/internal/sqlerr"
	"millrace/server/dialect"
	"millrace/streaming"
	"millrace/streaming/sqltable"
)

// rulesOf are the columns of a list as the catalog keeps them.
func rulesOf(list []dialect.StreamingColumn) []catalog.StreamingColumn {
	var columns []catalog.StreamingColumn
	for _, c := range list {
		columns = append(columns, catalog.StreamingColumn{Name: c.Name, Cast: c.Cast, NotNull: c.NotNull, Default: c.Default, Generated: c.Generated, Comment: c.Comment})
	}
	return columns
}

func expectationsOf(list []dialect.Expectation) []catalog.Expectation {
	var all []catalog.Expectation
	for _, e := range list {
		all = append(all, catalog.Expectation{Name: e.Name, Condition: e.Condition, Action: e.Action})
	}
	return all
}

// statementOf reads the statement of a definition, which ALTER changes and SHOW CREATE shows.
func statementOf(d *catalog.Streaming) (dialect.CreateStreamingTable, dialect.Mode, error) {
	mode := dialectMode(sql.NewSqlModeFromString(d.SQLMode))
	r, err := dialect.Rewrite(d.Create, mode)
	if err != nil {
		return dialect.CreateStreamingTable{}, mode, err
	}
	create, ok := r.Statement.(dialect.CreateStreamingTable)
	if !ok {
		return create, mode, sqlerr.New(sqlerr.Unexpected, "the catalog holds another statement than CREATE STREAMING TABLE")
	}
	return create, mode, nil
}

// retold is a definition whose statement is changed.
func retold(d *catalog.Streaming, change func(*dialect.CreateStreamingTable) error) (catalog.Streaming, error) {
	out := *d
	create, mode, err := statementOf(d)
	if err == nil {
		err = change(&create)
	}
	if err != nil {
		return out, err
	}
	out.Create = create.Text(mode)
	return out, nil
}

// list makes the list of columns of a statement have all columns of its table: those that nobody listed, and those that came with a newer schema. It reports whether some lacked.
func list(create *dialect.CreateStreamingTable, columns []streaming.Column) (changed bool) {
	for _, col := range columns {
		if !slices.ContainsFunc(create.Columns, func(c dialect.StreamingColumn) bool { return strings.EqualFold(c.Name, col.Name) }) {
			create.Columns = append(create.Columns, dialect.StreamingColumn{Name: col.Name, Written: col.SQL, NotNull: col.NotNull, Comment: col.Comment})
			changed = true
		}
	}
	return changed
}

// shownStatement is the statement that makes a table as it is now.
func (x *session) shownStatement(c *sql.Context, n streaming.Name, t catalog.Table) (string, error) {
	if t.Streaming.Columns == nil {
		return t.Streaming.Create, nil // the columns are those of the query, whatever they are
	}
	columns, err := x.columnsOf(c, n, t)
	if err != nil {
		return "", err
	}
	create, mode, err := statementOf(t.Streaming)
	if err != nil {
		return "", err
	}
	if !list(&create, columns) {
		return t.Streaming.Create, nil
	}
	return create.Text(mode), nil
}

// retoldSettings writes the properties and the schedule of a definition into its statement.
func retoldSettings(d catalog.Streaming) (catalog.Streaming, error) {
	return retold(&d, func(create *dialect.CreateStreamingTable) error {
		create.Properties = create.Properties[:0]
		for _, name := range slices.Sorted(maps.Keys(d.Properties)) {
			create.Properties = append(create.Properties, dialect.Property{Name: name, Value: d.Properties[name]})
		}
		create.Schedule = nil
		if d.Schedule != nil {
			create.Schedule = written(d.Schedule)
		}
		return nil
	})
}

// columnsOf are the columns of a streaming table, also those that nobody listed.
func (x *session) columnsOf(c *sql.Context, n streaming.Name, t catalog.Table) ([]streaming.Column, error) {
	schema, _, err := x.engine.columnsOf(c, n.Database, t)
	if err != nil {
		return nil, err
	}
	fields, err := sqltable.FieldsOf(schema.Schema)
	if err != nil {
		return nil, err
	}
	columns := make([]streaming.Column, len(fields))
	for i, col := range schema.Schema {
		columns[i] = streaming.Column{Field: fields[i], SQL: typeText(col.Type), NotNull: !col.Nullable, Comment: col.Comment}
	}
	return columns, nil
}

// altered is what ADD COLUMN and ALTER COLUMN make of a table.
func (x *session) altered(c *sql.Context, n streaming.Name, t catalog.Table, own dialect.AlterStreamingTable, add []streaming.Column) (streaming.Alteration, error) {
	columns, err := x.columnsOf(c, n, t)
	if err != nil {
		return streaming.Alteration{}, err
	}
	a := streaming.Alteration{Add: add}
	var listed []catalog.StreamingColumn
	a.Definition, err = retold(t.Streaming, func(create *dialect.CreateStreamingTable) error {
		list(create, columns)
		for _, change := range own.Comments {
			if !comment(columns, create.Columns, change) {
				return sqlerr.New(sqlerr.NoColumn, "table '%s' has no column '%s'", n, change.Column)
			}
		}
		create.Columns = append(create.Columns, own.Add...)
		listed = rulesOf(create.Columns)
		return nil
	})
	a.Definition.Columns = listed
	a.Columns = append(columns, add...)
	return a, err
}

// comment changes the comment of a column in both lists, and reports whether there is such a column.
func comment(columns []streaming.Column, list []dialect.StreamingColumn, change dialect.ColumnComment) bool {
	for i := range list {
		if strings.EqualFold(list[i].Name, change.Column) {
			list[i].Comment = change.Comment
		}
	}
	for i := range columns {
		if strings.EqualFold(columns[i].Name, change.Column) {
			columns[i].Comment = change.Comment
			return true
		}
	}
	return false
}
