package planner

import (
	"slices"
	"time"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function"
	"github.com/dolthub/go-mysql-server/sql/expression/function/aggregation"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/planner/agg"
	"millrace/planner/expr"
)

// compareInstants is a rule that runs before the engine's. Times of records are UTC whatever the session's zone is, but now() is the wall
// clock of that zone. In a comparison with such a time, now() and from_unixtime(n) are therefore replaced by the same instants in UTC, and unix_timestamp of such a
// time does not shift it by the zone. Where the zone is UTC all of them are, which spares the engine to look for the zone's file at each row.
func compareInstants(ctx *sql.Context, _ *analyzer.Analyzer, n sql.Node, _ *plan.Scope, _ analyzer.RuleSelector, _ *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
	zone, err := function.SessionTimeZone(ctx)
	if err != nil {
		return nil, transform.SameTree, err
	}
	if zone == "+00:00" || zone == "UTC" {
		return transform.NodeExprsWithOpaque(ctx, n, withoutZone)
	}
	return instants{}.visit(ctx, n)
}

// withoutZone replaces the functions that shift by the zone of the session, which is UTC.
func withoutZone(ctx *sql.Context, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
	switch e := e.(type) {
	case *function.UnixTimestamp:
		if e.Date != nil && types.IsTime(e.Date.Type(ctx)) && types.IsDecimal(e.Type(ctx)) {
			return &utcSeconds{e}, transform.NewTree, nil
		}
	case *function.FromUnixtime:
		if len(e.Children()) == 1 {
			return &utcTime{e}, transform.NewTree, nil
		}
	}
	return e, transform.SameTree, nil
}

// instants is the set of columns that hold times in UTC.
type instants map[sql.ColumnId]bool

// visit changes the comparisons in n, whose children come first, so that their columns are known.
func (known instants) visit(ctx *sql.Context, n sql.Node) (sql.Node, transform.TreeIdentity, error) {
	n, sameChildren, err := eachChild(ctx, n, func(_ int, child sql.Node) (sql.Node, transform.TreeIdentity, error) { return known.visit(ctx, child) })
	if err != nil {
		return nil, transform.SameTree, err
	}
	n, sameSubqueries, err := eachSubquery(ctx, n, func(ctx *sql.Context, sq *plan.Subquery) (sql.Node, transform.TreeIdentity, error) {
		return known.visit(ctx, sq.Query)
	})
	if err != nil {
		return nil, transform.SameTree, err
	}
	n, sameComparisons, err := transform.OneNodeExprsWithNode(ctx, n, func(ctx *sql.Context, _ sql.Node, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
		switch e := e.(type) {
		case expression.Comparer, *expression.Between:
			if known.within(ctx, e) {
				return inUTC(ctx, e)
			}
		case *function.UnixTimestamp:
			if known.is(e.Date) {
				return &utcSeconds{e}, transform.NewTree, nil
			}
		}
		return e, transform.SameTree, nil
	})
	if err != nil {
		return nil, transform.SameTree, err
	}
	known.learn(ctx, n)
	return n, sameChildren && sameSubqueries && sameComparisons, nil
}

// within reports whether e looks at a time in UTC.
func (known instants) within(ctx *sql.Context, e sql.Expression) bool {
	return transform.InspectExpr(ctx, e, func(_ *sql.Context, e sql.Expression) bool { return known.is(e) })
}

func (known instants) is(e sql.Expression) bool {
	switch e := e.(type) {
	case *expression.Alias:
		return known.is(e.Child)
	case *expression.GetField:
		return known[e.Id()]
	case *expr.Cast:
		return e.To().Kind == expr.Timestamp
	case *aggregation.Min:
		return known.is(e.Child)
	case *aggregation.Max:
		return known.is(e.Child)
	case *agg.Function:
		return known.is(e.Args()[0])
	case *function.DateAdd:
		return known.is(e.Date)
	case *function.DateSub:
		return known.is(e.Date)
	}
	return false
}

// learn adds the columns of n that are times in UTC.
func (known instants) learn(ctx *sql.Context, n sql.Node) {
	switch n := n.(type) {
	case *plan.TableAlias:
		t, ok := n.Child.(Table)
		if !ok {
			return
		}
		schema := t.Schema(ctx)
		known.learnColumns(n, func(i int) bool { return i < len(schema) && types.IsDatetimeType(schema[i].Type) })
	case *plan.SubqueryAlias:
		exprs := projected(n.Child)
		known.learnColumns(n, func(i int) bool { return i < len(exprs) && known.is(exprs[i]) })
	case sql.Projector:
		for _, e := range n.ProjectedExprs() {
			if id, ok := e.(sql.IdExpression); ok && id.Id() != 0 && known.is(e) {
				known[id.Id()] = true
			}
		}
	}
}

func (known instants) learnColumns(n plan.TableIdNode, is func(i int) bool) {
	i := 0
	n.Columns().ForEach(func(id sql.ColumnId) {
		if is(i) {
			known[id] = true
		}
		i++
	})
}

// projected gives the expressions of the columns of n, nil when they are not known.
func projected(n sql.Node) []sql.Expression {
	if p, ok := n.(sql.Projector); ok {
		return p.ProjectedExprs()
	}
	if s, ok := n.(*plan.SetOp); ok {
		return projected(s.Left())
	}
	if children := n.Children(); len(children) == 1 {
		return projected(children[0])
	}
	return nil
}

// inUTC replaces now() and from_unixtime(n) in e. What stands in functions that turn a wall clock into an instant stays one.
func inUTC(ctx *sql.Context, e sql.Expression) (sql.Expression, transform.TreeIdentity, error) {
	switch e := e.(type) {
	case *function.Now:
		if e.FunctionName() == "now" {
			return &utcNow{e}, transform.NewTree, nil
		}
	case *function.FromUnixtime:
		if len(e.Children()) == 1 {
			return &utcTime{e}, transform.NewTree, nil
		}
	case *function.UnixTimestamp, *utcSeconds, *function.ConvertTz:
		return e, transform.SameTree, nil
	}
	same := transform.SameTree
	children := slices.Clone(e.Children())
	for i, child := range children {
		c, sameChild, err := inUTC(ctx, child)
		if err != nil {
			return nil, transform.SameTree, err
		}
		children[i], same = c, same && sameChild
	}
	if same {
		return e, transform.SameTree, nil
	}
	e, err := e.WithChildren(ctx, children...)
	return e, transform.NewTree, err
}

// utcNow is now() or now(p) in UTC; for sysdate() too it is the start of the statement. It keeps the engine's text, by which rules of the engine
// recognise an expression that stands in a statement twice.
type utcNow struct{ *function.Now }

// Eval implements sql.Expression.
func (n *utcNow) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	precision := int64(0)
	if children := n.Children(); len(children) == 1 {
		v, err := children[0].Eval(ctx, row)
		if err != nil {
			return nil, err
		}
		p, ok := integerOf(v, children[0].Type(ctx))
		if !ok || p.floor < 0 || p.floor > 6 {
			// The engine has the error message.
			return n.Now.Eval(ctx, row)
		}
		precision = p.floor
	}
	unit := time.Second
	for range precision {
		unit /= 10
	}
	return ctx.QueryTime().UTC().Truncate(unit), nil
}

// WithChildren implements sql.Expression.
func (n *utcNow) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	e, err := n.Now.WithChildren(ctx, children...)
	if err != nil {
		return nil, err
	}
	now, ok := e.(*function.Now)
	if !ok {
		return e, nil
	}
	return &utcNow{now}, nil
}

// utcSeconds is unix_timestamp of a time in UTC.
type utcSeconds struct{ *function.UnixTimestamp }

// Eval implements sql.Expression.
func (u *utcSeconds) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	v, err := u.Date.Eval(ctx, row)
	if err != nil || v == nil {
		return nil, err
	}
	if v, _, err = types.DatetimeMaxPrecision.Convert(ctx, v); err != nil {
		return nil, err
	}
	at, ok := v.(time.Time)
	result := u.Type(ctx)
	micros := at.UnixMicro()
	if !ok || micros < 1_000_000 || micros > function.MaxUnixTimeMicroSecs {
		return result.Zero(), nil // as MySQL: 0 for what is before 1970 or after 3001
	}
	scale := 0
	if d, ok := result.(sql.DecimalType); ok {
		scale = int(d.Scale())
	}
	for range 6 - scale {
		micros /= 10
	}
	if !types.IsDecimal(result) {
		return micros, nil
	}
	return apd.New(micros, -int32(scale)), nil
}

// WithChildren implements sql.Expression.
func (u *utcSeconds) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	e, err := u.UnixTimestamp.WithChildren(ctx, children...)
	if err != nil {
		return nil, err
	}
	seconds, ok := e.(*function.UnixTimestamp)
	if !ok {
		return e, nil
	}
	return &utcSeconds{seconds}, nil
}

// utcTime is from_unixtime(n) in UTC.
type utcTime struct{ *function.FromUnixtime }

// Eval implements sql.Expression.
func (u *utcTime) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	v, err := u.Children()[0].Eval(ctx, row)
	if err != nil || v == nil {
		return nil, err
	}
	if v, _, err = types.Int64.Convert(ctx, v); err != nil {
		return nil, err
	}
	n, ok := v.(int64)
	if !ok || n < 0 || n > function.MaxUnixTimeSecs {
		return nil, nil
	}
	return time.Unix(n, 0).UTC(), nil
}

// WithChildren implements sql.Expression.
func (u *utcTime) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	e, err := u.FromUnixtime.WithChildren(ctx, children...)
	if err != nil {
		return nil, err
	}
	from, ok := e.(*function.FromUnixtime)
	if !ok {
		return e, nil
	}
	return &utcTime{from}, nil
}
