package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
	"millrace/server/dialect"
	"millrace/server/wire"
)

// wireSession is a session as the protocol sees it.
type wireSession struct{ *session }

var _ wire.Session = wireSession{}

// Query implements wire.Session.
func (x wireSession) Query(ctx context.Context, text string, r *wire.Results) error {
	return x.query(ctx, text, r)
}

// Prepare implements wire.Session. The statement is parsed and its names are resolved; the plan is made at each execution, since the values
// of placeholders decide what can be pushed down.
func (x wireSession) Prepare(ctx context.Context, text string) (*wire.Stmt, error) {
	c, err := x.engine.ProcessList.BeginOperation(x.context(ctx, ""))
	if err != nil {
		return nil, fault(ctx, err)
	}
	defer x.engine.ProcessList.EndOperation(c)
	st, err := parse(c, text)
	if err != nil {
		err = fault(c, err)
		x.failed(redact(text), time.Now(), err)
		x.warnOfError(ctx, err)
		return nil, err
	}
	p := &wire.Stmt{Params: st.params, Plan: st}
	switch own := st.own.(type) {
	case dialect.Unsupported:
		return nil, dialect.NotSupportedAt(st.text, own.Pos, "%s is not supported yet", own.What)
	case dialect.DescribeFunction:
		p.Columns = columnsOf(c, describeSchema)
		return p, nil
	}
	if st.ast == nil {
		return p, nil
	}
	c = c.WithQuery(st.shown.text) // for hints in errors
	node, err := x.bind(c, st)
	if err != nil {
		err = st.shown.scrubError(fault(c, err))
		x.failed(st.shown, time.Now(), err)
		x.warnOfError(ctx, err)
		return nil, err
	}
	if !schemaDecided(c, node) {
		return p, nil
	}
	switch node.(type) {
	case *plan.InsertInto, *plan.Update, *plan.UpdateJoin, *plan.DeleteFrom:
		// They have a schema for the engine's own use; a client gets no rows.
	default:
		if schema := st.shownSchema(node.Schema(c)); !types.IsOkResultSchema(schema) {
			p.Columns = columnsOf(c, schema)
		}
	}
	return p, nil
}

// schemaDecided is false while a placeholder decides which columns a table function has: then PREPARE reports none and EXECUTE the real ones.
func schemaDecided(c *sql.Context, node sql.Node) bool {
	decided := true
	transform.InspectWithOpaque(c, node, func(_ *sql.Context, n sql.Node) bool {
		if f, ok := n.(interface{ SchemaDecided() bool }); ok && !f.SchemaDecided() {
			decided = false
		}
		return decided
	})
	return decided
}

// Execute implements wire.Session.
func (x wireSession) Execute(ctx context.Context, p *wire.Stmt, params []wire.Param, r *wire.Results) error {
	st := p.Plan.(*statement)
	if len(params) != p.Params {
		return sqlerr.New(sqlerr.BadParameters, "the statement has %d placeholders, %d values were given", p.Params, len(params))
	}
	if keys, ok := x.keptKeys(st, params); ok {
		return x.run(ctx, st, bindings{keys: keys}, r)
	}
	values := make(map[string]sqlparser.Expr, len(params))
	for i, param := range params {
		v, err := literal(param)
		if err != nil {
			return fmt.Errorf("placeholder %d: %w", i+1, err)
		}
		values["v"+strconv.Itoa(i+1)] = v
	}
	if len(values) == 0 {
		values = nil
	}
	return x.run(ctx, st, bindings{literals: values}, r)
}

// literal is a value as the engine's parser would have read it.
func literal(p wire.Param) (sqlparser.Expr, error) {
	switch v := p.V.(type) {
	case nil:
		return &sqlparser.NullVal{}, nil
	case int64:
		return sqlparser.NewIntVal(strconv.AppendInt(nil, v, 10)), nil
	case uint64:
		return sqlparser.NewIntVal(strconv.AppendUint(nil, v, 10)), nil
	case float64:
		// The exponent makes it a DOUBLE; plain digits would be a DECIMAL.
		return sqlparser.NewFloatVal(strconv.AppendFloat(nil, v, 'e', -1, 64)), nil
	case []byte:
		return sqlparser.NewHexVal(fmt.Appendf(nil, "%X", v)), nil
	case string:
		if p.Type == wire.TypeNewDecimal || p.Type == wire.TypeDecimal {
			if _, err := strconv.ParseFloat(v, 64); err != nil {
				return nil, sqlerr.New(sqlerr.BadValue, "'%s' is not a decimal number", v)
			}
			return sqlparser.NewFloatVal([]byte(v)), nil
		}
		return sqlparser.NewStrVal([]byte(v)), nil
	default:
		return nil, sqlerr.New(sqlerr.BadParameters, "values of type %T are not known", p.V)
	}
}

// CloseStmt implements wire.Session. Statements hold memory only.
func (x wireSession) CloseStmt(*wire.Stmt) {}

// UseDB implements wire.Session.
func (x wireSession) UseDB(ctx context.Context, db string) error { return x.use(ctx, db) }

// Reset implements wire.Session.
func (x wireSession) Reset(context.Context) error {
	x.reset()
	return nil
}

// FieldList implements wire.Session.
func (x wireSession) FieldList(ctx context.Context, table, wildcard string) ([]wire.Column, error) {
	c := x.context(ctx, "")
	schema, err := x.schemaOf(c, "SELECT * FROM `"+strings.ReplaceAll(table, "`", "``")+"`")
	if err != nil {
		return nil, fault(ctx, err)
	}
	var columns []wire.Column
	for _, col := range columnsOf(c, schema) {
		if wildcard != "" {
			match := expression.NewLike(expression.NewLiteral(col.Name, types.LongText), expression.NewLiteral(wildcard, types.LongText), nil)
			if ok, err := match.Eval(c, nil); err != nil {
				return nil, fault(ctx, err)
			} else if ok != true {
				continue
			}
		}
		columns = append(columns, col)
	}
	return columns, nil
}

// State implements wire.Session.
func (x wireSession) State() (status, warnings uint16, db string) { return x.state() }

// Statistics implements wire.Session: the line that mysqladmin status shows.
func (x wireSession) Statistics() string {
	up := time.Since(x.engine.started)
	questions := x.engine.questions.Load()
	return fmt.Sprintf("Uptime: %d  Threads: %d  Questions: %d  Slow queries: %d  Opens: 0  Flush tables: 0  Open tables: 0  Queries per second avg: %.3f",
		int(up.Seconds()), len(x.engine.ProcessList.Processes()), questions, x.engine.metrics.slowCount.Load(), float64(questions)/max(up.Seconds(), 1))
}

// Kill implements wire.Session.
func (x wireSession) Kill(ctx context.Context, id uint32) error {
	return x.query(ctx, "KILL CONNECTION "+strconv.FormatUint(uint64(id), 10), &discard{})
}

// Close implements wire.Session.
func (x wireSession) Close() { x.close() }

// discard takes the answer of a statement that has none worth keeping.
type discard struct{ rows int64 }

func (*discard) OK(uint64, uint64, string) error { return nil }
func (*discard) Columns([]wire.Column) error     { return nil }
func (*discard) EndRows() error                  { return nil }
func (*discard) SetMore(bool)                    {}
func (*discard) Multi() bool                     { return false }
func (*discard) Binary() bool                    { return false }
func (d *discard) RowCount() int64               { return d.rows }
func (d *discard) Row(func([]byte) ([]byte, error)) error {
	d.rows++
	return nil
}
