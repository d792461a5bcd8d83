package sqltable

import (
	"errors"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// Inserter implements sql.InsertableTable.
func (t *Table) Inserter(ctx *sql.Context) sql.RowInserter {
	i := &inserter{table: t, appender: NewAppender(ctx, t.Schema(ctx), t.fields)}
	i.rows.Reset(t.fields)
	return i
}

// inserter gathers the rows of one INSERT and commits them together when it is closed: all of them or none.
type inserter struct {
	table    *Table
	appender *Appender
	rows     column.Batch
	// mark is the number of rows before the part of the statement that may still be discarded: with IGNORE, each row by itself.
	mark int
}

// StatementBegin implements sql.EditOpenerCloser.
func (i *inserter) StatementBegin(*sql.Context) { i.mark = i.rows.N }

// DiscardChanges implements sql.EditOpenerCloser.
func (i *inserter) DiscardChanges(*sql.Context, error) error {
	i.rows.Truncate(i.mark)
	return nil
}

// StatementComplete implements sql.EditOpenerCloser.
func (i *inserter) StatementComplete(*sql.Context) error {
	i.mark = i.rows.N
	return nil
}

// Insert implements sql.RowInserter.
func (i *inserter) Insert(ctx *sql.Context, row sql.Row) error {
	if i.table.Streaming {
		return sqlerr.New(sqlerr.NotSupported, "INSERT into a streaming table is not supported").WithHint("its rows come from its topics; SHOW CREATE TABLE %s shows its query", quoted(i.table.Name()))
	}
	if err := i.appender.Append(&i.rows, row); err != nil {
		return err
	}
	if st, ok := ctx.Value(statementKey{}).(*statement); ok {
		st.inserted.Add(1)
	}
	if limit := i.table.InsertBytes; limit > 0 && i.rows.N%1024 == 0 && i.rows.Bytes() > limit {
		return sqlerr.New(sqlerr.ScanMemory, "the rows of the statement need more than its %d bytes of memory", limit).WithHint("insert them in several statements, or raise --memory-limit")
	}
	return nil
}

// Close implements sql.Closer: it commits.
func (i *inserter) Close(ctx *sql.Context) error {
	if i.rows.N == 0 {
		return nil
	}
	defer i.rows.Reset(i.table.fields)
	for {
		schema, err := i.table.store.Schema(ctx, i.table.ID)
		if err != nil {
			return i.gone(err)
		}
		batch, err := Arrange(&i.rows, i.table.fields, schema)
		if err != nil {
			return err
		}
		_, err = i.table.store.Commit(ctx, &store.Commit{Table: i.table.ID, Writes: []store.Write{{Table: i.table.ID, SchemaVersion: schema.Version, Rows: batch}}})
		switch {
		case errors.Is(err, store.ErrSchemaChanged), errors.Is(err, store.ErrRetry):
			if ctx.Err() != nil {
				return ctx.Err()
			}
		default:
			return i.gone(err)
		}
	}
}

// gone makes a table that was dropped meanwhile an error of the user's.
func (i *inserter) gone(err error) error {
	if errors.Is(err, store.ErrNoTable) {
		return sqlerr.New(sqlerr.NoTable, "table '%s' does not exist", i.table.Name())
	}
	return err
}

// Arrange gives the columns of a batch the order of a schema; columns that the batch lacks have their defaults. The result shares the batch's memory.
func Arrange(b *column.Batch, fields []column.Field, schema *store.Schema) (*column.Batch, error) {
	out := &column.Batch{N: b.N, Sel: b.Sel, Cols: make([]column.Vector, len(schema.Columns))}
	at := make(map[string]int, len(fields))
	for i, f := range fields {
		at[f.Name] = i
	}
	for i := range schema.Columns {
		c := &schema.Columns[i]
		k, ok := at[c.Name]
		if ok {
			out.Cols[i] = b.Cols[k]
			out.Cols[i].Type = c.Type
			delete(at, c.Name)
			continue
		}
		out.Cols[i].Reset(c.Type)
		for range b.N {
			c.Default.AppendTo(&out.Cols[i])
		}
	}
	for name := range at {
		return nil, sqlerr.New(sqlerr.NoColumn, "the table has no column '%s' any more", name).WithHint("run the statement again")
	}
	return out, nil
}
