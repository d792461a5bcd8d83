package server

import (
	"errors"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
	"millrace/planner"
	"millrace/streaming/sqltable"
)

// insertError tells an INSERT that failed over a value what MySQL would: the column and the row, under the number that drivers and object mappers look at.
// The engine says what it could not convert, but not for which column.
func (x *session) insertError(c *sql.Context, st *statement, err error) error {
	insert, ok := st.ast.(*sqlparser.Insert)
	if !ok {
		return err
	}
	var failed sql.WrappedInsertError
	if !errors.As(err, &failed) {
		return err
	}
	db := insert.Table.DbQualifier.String()
	if db == "" {
		db = c.GetCurrentDatabase()
	}
	table, _, lookup := x.engine.Analyzer.Catalog.Table(c, db, insert.Table.Name.String())
	if lookup != nil {
		return err // it was dropped meanwhile; what is known is told
	}
	schema := table.Schema(c)
	if len(schema) != len(failed.OffendingRow) {
		return err
	}
	row := sqltable.Inserted(c) + 1
	for i, v := range failed.OffendingRow {
		if v == nil {
			if sql.ErrInsertIntoNonNullableProvidedNull.Is(failed.Cause) && !schema[i].Nullable {
				return sqlerr.New(sqlerr.NotNull, "Column '%s' cannot be null", schema[i].Name).WithCause(err)
			}
			continue
		}
		if e := planner.Refused(c, schema[i], v, row); e != nil {
			return e.WithCause(err)
		}
	}
	return err
}
