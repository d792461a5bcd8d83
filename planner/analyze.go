package planner

import (
	"context"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/rowexec"

	"millrace/internal/sqlerr"
)

// ExplainJSON is the format that the parsed EXPLAIN of a FORMAT=JSON carries. The engine knows its own formats only; this one of them, the tree
// for its developers, is not offered under its own name.
const ExplainJSON = "debug"

// explainer is asked before the engine builds the iterator of an operator. It answers EXPLAIN ANALYZE and EXPLAIN FORMAT=JSON itself,
// measures the operators of a plan that is analysed, counts the rows that operators of the engine keep, cleans up after a CREATE TABLE … AS SELECT
// that fails, and has SHOW COLUMNS show what columns are filled with. VALUES in FROM, and orders by more than columns, it gives itself.
type explainer struct {
	engine  *rowexec.BaseBuilder
	options *Options
}

var _ sql.NodeExecBuilder = explainer{}

// Build implements sql.NodeExecBuilder: nil leaves n to the engine.
func (x explainer) Build(ctx *sql.Context, n sql.Node, row sql.Row) (sql.RowIter, error) {
	if s := statementMemoryOf(ctx); s != nil {
		s.begin(n)
	}
	if d, ok := n.(*plan.DescribeQuery); ok && (d.Format.Analyze || d.Format.Debug) {
		return x.explain(ctx, d, row)
	}
	if c, ok := n.(*plan.TableCopier); ok {
		return x.createSelect(ctx, c, row)
	}
	if s, ok := n.(*plan.ShowColumns); ok {
		return x.showColumns(ctx, s, row)
	}
	if i, ok := n.(*plan.InsertInto); ok && i.Ignore {
		if iter, err := x.insertIgnore(ctx, i, row); iter != nil || err != nil {
			return iter, err
		}
	}
	if f, ok := n.(*fitted); ok {
		return x.fitted(ctx, f, row)
	}
	if v, ok := n.(*plan.CreateView); ok && v.IsReplace {
		db := v.Database()
		if privileged, ok := db.(mysql_db.PrivilegedDatabase); ok {
			db = privileged.Unwrap()
		}
		if r, ok := db.(ViewReplacer); ok {
			return x.replaceView(ctx, v, r, row)
		}
	}
	if s := statementMemoryOf(ctx); s != nil {
		if k := s.claim(n); k != nil {
			iter, err := x.engine.Build(ctx, n, row)
			if err != nil {
				return nil, err
			}
			return k.begin(iter), nil
		}
		inputs, what, most := keepsRows(ctx, n)
		for _, input := range inputs {
			s.expect(ctx, x.options, input, what, most)
		}
	}
	m := measuredOf(ctx)
	if m == nil {
		return x.own(ctx, n, row)
	}
	f := m.profile.figures(n)
	if f == nil || f == m.figures {
		return x.own(ctx, n, row) // unknown, or the call below comes back
	}
	start := time.Now()
	iter, err := x.engine.Build(withMeasured(ctx, &measured{m.profile, f}), n, row)
	f.nanos.Add(int64(time.Since(start)))
	f.loops.Add(1)
	if err != nil {
		return nil, err
	}
	return &measuringIter{iter, f}, nil
}

// own builds the operators that the engine has wrong, or too slow.
func (x explainer) own(ctx *sql.Context, n sql.Node, row sql.Row) (sql.RowIter, error) {
	switch n := n.(type) {
	case *plan.ValueDerivedTable:
		return valueRows(ctx, n, row)
	case *plan.Distinct: // without DISTINCT ON, which is not MySQL's
		return x.distinctRows(ctx, n, row)
	case *plan.GroupBy:
		return x.groupedRows(ctx, n, row)
	case *plan.SetOp:
		return x.setRows(ctx, n, row)
	}
	return x.sorted(ctx, n, row)
}

// explain answers EXPLAIN: of a query that is analysed, after it has run.
func (x explainer) explain(ctx *sql.Context, d *plan.DescribeQuery, row sql.Row) (sql.RowIter, error) {
	var p *profile
	if d.Format.Analyze {
		var err error
		if p, err = x.analyze(ctx, d.Child, row); err != nil {
			return nil, err
		}
	}
	if d.Format.Debug {
		text, err := document(ctx, d.Child, p)
		if err != nil {
			return nil, err
		}
		return sql.RowsToRowIter(sql.NewRow(text)), nil
	}
	text, err := analyzedTree(ctx, d.Child, p)
	if err != nil {
		return nil, err
	}
	var rows []sql.Row
	for line := range strings.Lines(text) {
		rows = append(rows, sql.NewRow(strings.TrimRight(line, "\r\n")))
	}
	return sql.RowsToRowIter(rows...), nil
}

// Taker takes the rows of a query.
type Taker func(ctx *sql.Context, schema sql.Schema, rows sql.RowIter) error

type takerKey struct{}

// WithTaker gives the rows of the query that EXPLAIN ANALYZE runs to somebody, as batches where a client would get them so. The taker does not close them.
func WithTaker(ctx *sql.Context, take Taker) *sql.Context {
	return ctx.WithContext(context.WithValue(ctx.Context, takerKey{}, take))
}

// analyze runs a query and discards its rows, unless somebody takes them. An error of the query is the statement's.
func (x explainer) analyze(ctx *sql.Context, n sql.Node, row sql.Row) (*profile, error) {
	if _, into := n.(*plan.Into); into || !n.IsReadOnly() {
		return nil, sqlerr.New(sqlerr.NotSupported, "EXPLAIN ANALYZE runs its statement, which may only be a query that changes nothing").
			WithHint("EXPLAIN without ANALYZE shows the plan of this statement")
	}
	if end, err := endless(ctx, n, false); err != nil {
		return nil, err
	} else if end {
		return nil, needsEnd("EXPLAIN ANALYZE takes all rows")
	}
	p := newProfile(ctx, n)
	ctx = withMeasured(ctx, &measured{profile: p})
	start := time.Now()
	iter, err := x.engine.Build(ctx, n, row)
	if err != nil {
		return nil, err
	}
	root, ok := iter.(*measuringIter)
	if !ok {
		root = &measuringIter{iter, new(figures)}
	}
	if take, ok := ctx.Value(takerKey{}).(Taker); ok {
		err = take(ctx, n.Schema(ctx), root.given())
	} else {
		err = root.drain(ctx)
	}
	if closing := root.Close(ctx); err == nil {
		err = closing
	}
	if err != nil {
		return nil, err
	}
	p.total, p.rows = time.Since(start), root.figures.rows.Load()
	return p, nil
}
