package server

import (
	"errors"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/column"
	"millrace/internal/export"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
	"millrace/planner"
	"millrace/server/dialect"
	"millrace/streaming/sqltable"
)

// mayWriteFiles is the error for who may not write files of the server: it takes FILE, as INTO OUTFILE of MySQL does.
func (e *engine) mayWriteFiles(c *sql.Context, what string) error {
	if e.users.UserHasPrivileges(c, sql.NewPrivilegedOperation(sql.PrivilegeCheckSubject{}, sql.PrivilegeType_File)) {
		return nil
	}
	return sqlerr.New(sqlerr.PrivilegeNeeded, "you may not %s", what).WithHint("it needs the privilege FILE: GRANT FILE ON *.* TO …")
}

// export runs EXPORT. The query needs what it needs by itself.
func (x *session) export(c *sql.Context, own dialect.Export, r results) (err error) {
	if err := x.engine.mayWriteFiles(c, "export to a file"); err != nil {
		return err
	}
	format, err := export.Format(own.Format)
	if err != nil {
		return err
	}
	pairs := make([]option.Pair, len(own.Options))
	for i, o := range own.Options {
		pairs[i] = option.Pair{Name: o.Name, Value: o.Value}
	}
	plan, err := export.NewPlan(format, pairs, x.engine.version)
	if err != nil {
		return err
	}
	if _, err := x.engine.exports.Local(own.File); err != nil {
		return err
	}
	schema, rows, err := x.exported(c, own)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close(c)) }()
	file, err := x.engine.exports.Create(own.File, own.Overwrite)
	if err != nil {
		return err
	}
	n, err := x.writeFile(c, plan, file, schema, rows)
	if err != nil {
		return errors.Join(err, file.Abort())
	}
	if err := file.Commit(); err != nil {
		return err
	}
	row := sql.Row{own.File, n, file.Bytes}
	return x.answerRows(c, exportSchema, sql.RowsToRowIter(row), r)
}

// exportSchema is the answer of EXPORT.
var exportSchema = sql.Schema{
	{Name: "file", Type: types.LongText}, {Name: "rows", Type: types.Int64}, {Name: "bytes", Type: types.Int64},
}

// exported starts the query of an EXPORT.
func (x *session) exported(c *sql.Context, own dialect.Export) (sql.Schema, sql.RowIter, error) {
	st, err := parse(c, own.Query)
	if err != nil {
		return nil, nil, err
	}
	if _, ok := st.ast.(sqlparser.SelectStatement); !ok {
		return nil, nil, sqlerr.New(sqlerr.NotSupported, "EXPORT takes a query").WithHint("EXPORT (SELECT …) TO 'file' FORMAT parquet")
	}
	if st.params > 0 {
		return nil, nil, sqlerr.New(sqlerr.NotSupported, "the query of EXPORT may have no placeholders")
	}
	for _, v := range st.session {
		v.column.StoredProcVal = x.sessionValue(v.name)
	}
	if strings.Contains(strings.ToLower(st.text), "stream") {
		planned, err := x.engine.BoundQueryPlan(c, st.text, st.ast, nil)
		if err == nil {
			err = planner.NeedsEnd(c, planned, "EXPORT takes all rows")
		}
		if err != nil {
			return nil, nil, err
		}
	}
	schema, rows, err := x.execute(c, st, nil)
	if err != nil {
		return nil, nil, err
	}
	if types.IsOkResultSchema(schema) || len(schema) == 0 {
		return nil, nil, errors.Join(sqlerr.New(sqlerr.NotSupported, "the query of EXPORT gives no rows"), rows.Close(c))
	}
	return schema, rows, nil
}

// exportFields are the columns of a file. What no table can hold is text there.
func exportFields(schema sql.Schema) []column.Field {
	fields := make([]column.Field, len(schema))
	for i, c := range schema {
		f, err := sqltable.FieldOf(c.Name, c.Type, true)
		if err != nil {
			f = column.Field{Name: c.Name, Type: column.Type{Kind: column.Text}, Nullable: true}
		}
		fields[i] = f
	}
	return fields
}

// writeFile writes all rows, as batches where the root of the plan has them.
func (x *session) writeFile(c *sql.Context, plan export.Plan, file *export.File, schema sql.Schema, rows sql.RowIter) (n int64, err error) {
	fields := exportFields(schema)
	out, err := plan.Open(file, fields)
	if err != nil {
		return 0, err
	}
	take := func(b *column.Batch) error {
		if err := c.Err(); err != nil {
			return err
		}
		n += int64(b.Live())
		return out.Write(b)
	}
	if err := eachBatch(c, schema, fields, rows, take); err != nil {
		return n, err
	}
	return n, out.Close()
}
