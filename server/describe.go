package server

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/planner"
	"millrace/server/dialect"
)

// describeSchema is that of DESCRIBE of a table, so that tools show it the same.
var describeSchema = sql.Schema{
	{Name: "Field", Type: types.LongText}, {Name: "Type", Type: types.LongText}, {Name: "Null", Type: types.LongText},
	{Name: "Key", Type: types.LongText}, {Name: "Default", Type: types.LongText, Nullable: true}, {Name: "Extra", Type: types.LongText},
}

// describe answers DESCRIBE read_kafka(…): the columns that the call would return. The call is analysed, not run.
func (x *session) describe(c *sql.Context, d dialect.DescribeFunction, r results) error {
	st, err := parse(c, "SELECT * FROM "+d.Call)
	if err != nil {
		return err
	}
	node, err := x.bind(c, st)
	if err != nil {
		return err
	}
	schema := node.Schema(c)
	transform.Inspect(node, func(n sql.Node) bool {
		if f, ok := n.(sql.TableFunction); ok {
			schema = f.Schema(c) // knows which columns may be NULL; the nodes above do not
			return false
		}
		return true
	})
	columns := columnsOf(c, describeSchema)
	if err := r.Columns(columns); err != nil {
		return err
	}
	e := newEncoder(c, describeSchema, columns, r.Binary())
	for _, col := range schema {
		null := "NO"
		if col.Nullable {
			null = "YES"
		}
		e.row = sql.Row{col.Name, col.Type.String(), null, "", nil, ""}
		if err := r.Row(e.fill); err != nil {
			return err
		}
	}
	return r.EndRows()
}

// explainDocumentSchema is that of EXPLAIN FORMAT=JSON: one document, which may be longer than the engine's column for lines of a plan.
var explainDocumentSchema = sql.Schema{{Name: "plan", Type: types.LongText}}

// shownSchema is what the columns of a statement are for a client; s is what the engine says.
func (st *statement) shownSchema(s sql.Schema) sql.Schema {
	if e, ok := st.ast.(*sqlparser.Explain); ok && e.ExplainFormat == planner.ExplainJSON {
		return explainDocumentSchema
	}
	return s
}

// schemaOf is the schema of a query's result, found without running it.
func (x *session) schemaOf(c *sql.Context, query string) (sql.Schema, error) {
	st, err := parse(c, query)
	if err != nil {
		return nil, err
	}
	node, err := x.bind(c, st)
	if err != nil {
		return nil, err
	}
	return node.Schema(c), nil
}

// bind resolves the names of a statement, which leaves the session as it was.
func (x *session) bind(c *sql.Context, st *statement) (sql.Node, error) {
	key := "\x00" + st.text // no client can send this text
	node, err := x.engine.PrepareParsedQuery(c, key, st.text, st.ast)
	x.sql.UnprepareQuery(key)
	return node, err
}
