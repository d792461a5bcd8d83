package agg

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/expression/function/aggregation"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// Kind says which aggregate a Function is.
type Kind uint8

// The aggregates. Those of several names have the name that says most.
const (
	Sum Kind = iota
	Avg
	VarPop
	VarSamp
	StdDevPop
	StdDevSamp
	CountIf
	ApproxCountDistinct
	MinBy
	MaxBy
	CollectList
	PercentileApprox
)

// firstNew is the first kind that MySQL does not have.
const firstNew = CountIf

type kindInfo struct {
	name, doc string
	// notNull: of no values the result is not NULL either.
	notNull bool
}

// kinds describes the aggregates.
var kinds = [...]kindInfo{
	Sum:                 {name: "sum", doc: "returns the sum of the values, exact where they are"},
	Avg:                 {name: "avg", doc: "returns the average of the values, exact to four more digits where they are exact"},
	VarPop:              {name: "var_pop", doc: "returns the population variance of the values"},
	VarSamp:             {name: "var_samp", doc: "returns the sample variance of the values"},
	StdDevPop:           {name: "stddev_pop", doc: "returns the population standard deviation of the values"},
	StdDevSamp:          {name: "stddev_samp", doc: "returns the sample standard deviation of the values"},
	CountIf:             {name: "count_if", doc: "returns the number of rows where the condition is true", notNull: true},
	ApproxCountDistinct: {name: "approx_count_distinct", doc: "returns about how many different values there are", notNull: true},
	MinBy:               {name: "min_by", doc: "returns the first argument where the second is least"},
	MaxBy:               {name: "max_by", doc: "returns the first argument where the second is greatest"},
	CollectList:         {name: "collect_list", doc: "returns the values as a JSON array", notNull: true},
	PercentileApprox:    {name: "percentile_approx", doc: "returns a value of about the given rank"},
}

// state is what a group, or a window frame, has seen.
type state interface {
	// add takes the values of the arguments in a row. They are not changed later.
	add(ctx *sql.Context, values []any) error
	// value is the result; more may be added after it.
	value(ctx *sql.Context) (any, error)
}

// remover is a state that can forget a row exactly, so that a frame that moves on need not be computed afresh.
type remover interface {
	// remove takes back what add took.
	remove(ctx *sql.Context, values []any) error
}

// Function is an aggregate over a group or a window.
type Function struct {
	kind   Kind
	args   []sql.Expression
	typ    sql.Type
	fresh  func() state
	window *sql.WindowDefinition
	id     sql.ColumnId
	// Precision is that of the sketch of ApproxCountDistinct, Fraction and Accuracy are what PercentileApprox asks for.
	Precision uint8
	Fraction  float64
	Accuracy  int64
}

var (
	_ sql.FunctionExpression = (*Function)(nil)
	_ sql.Aggregation        = (*Function)(nil)
	_ sql.CollationCoercible = (*Function)(nil)
)

// Kind says which aggregate f is.
func (f *Function) Kind() Kind { return f.kind }

// Args are the arguments.
func (f *Function) Args() []sql.Expression { return f.args }

// FunctionName implements sql.FunctionExpression.
func (f *Function) FunctionName() string { return kinds[f.kind].name }

// Description implements sql.FunctionExpression.
func (f *Function) Description() string { return kinds[f.kind].doc }

// Resolved implements sql.Expression.
func (f *Function) Resolved() bool {
	return expression.ExpressionsResolved(f.args...) && (f.window == nil || expression.ExpressionsResolved(f.window.ToExpressions()...))
}

func (f *Function) String() string {
	return f.text(func(e sql.Expression) string { return e.String() }, func(w *sql.WindowDefinition) string { return w.String() })
}

// DebugString implements sql.DebugStringer.
func (f *Function) DebugString(ctx *sql.Context) string {
	return f.text(func(e sql.Expression) string { return sql.DebugString(ctx, e) }, func(w *sql.WindowDefinition) string { return sql.DebugString(ctx, w) })
}

func (f *Function) text(of func(sql.Expression) string, window func(*sql.WindowDefinition) string) string {
	texts := make([]string, len(f.args))
	for i, a := range f.args {
		texts[i] = of(a)
	}
	name := strings.ToUpper(f.FunctionName())
	if f.window == nil {
		return name + "(" + strings.Join(texts, ",") + ")"
	}
	p := sql.NewTreePrinter()
	_ = p.WriteNode("%s", name) // a printer that is written to once cannot fail
	_ = p.WriteChildren(append([]string{window(f.window)}, texts...)...)
	return p.String()
}

// Type implements sql.Expression.
func (f *Function) Type(*sql.Context) sql.Type { return f.typ }

// IsNullable implements sql.Expression: of no values most aggregates are NULL.
func (f *Function) IsNullable(*sql.Context) bool { return !kinds[f.kind].notNull }

// CollationCoercibility implements sql.CollationCoercible.
func (f *Function) CollationCoercibility(ctx *sql.Context) (sql.CollationID, byte) {
	if typed, ok := f.typ.(sql.CollationCoercible); ok {
		collation, _ := typed.CollationCoercibility(ctx)
		return collation, 2
	}
	return sql.Collation_binary, 5
}

// Eval implements sql.Expression. An aggregate has no value in a row: groups have buffers, windows have functions.
func (f *Function) Eval(*sql.Context, sql.Row) (any, error) {
	return nil, fmt.Errorf("'%s' was evaluated on a row, not on a group", f.FunctionName())
}

// Children implements sql.Expression.
func (f *Function) Children() []sql.Expression {
	if f.window == nil {
		return f.args
	}
	return append(slices.Clone(f.args), f.window.ToExpressions()...)
}

// WithChildren implements sql.Expression.
func (f *Function) WithChildren(ctx *sql.Context, children ...sql.Expression) (sql.Expression, error) {
	if len(children) < len(f.args) || f.window == nil && len(children) > len(f.args) {
		return nil, sql.ErrInvalidChildrenNumber.New(f, len(children), len(f.args))
	}
	n := *f
	n.args = slices.Clone(children[:len(f.args)])
	if f.window != nil {
		var err error
		if n.window, err = f.window.FromExpressions(ctx, children[len(f.args):]); err != nil {
			return nil, err
		}
	}
	return &n, nil
}

// Id implements sql.IdExpression.
func (f *Function) Id() sql.ColumnId { return f.id }

// WithId implements sql.IdExpression.
func (f *Function) WithId(id sql.ColumnId) sql.IdExpression {
	n := *f
	n.id = id
	return &n
}

// Window implements sql.WindowAdaptableExpression.
func (f *Function) Window() *sql.WindowDefinition { return f.window }

// WithWindow implements sql.WindowAdaptableExpression.
func (f *Function) WithWindow(_ *sql.Context, window *sql.WindowDefinition) sql.WindowAdaptableExpression {
	n := *f
	n.window = window
	return &n
}

// arguments evaluates the arguments of an aggregate. Each group has its own: DISTINCT keeps in them what it has seen.
type arguments struct {
	args   []sql.Expression
	values []any
}

func (f *Function) arguments(ctx *sql.Context) (arguments, error) {
	a := arguments{make([]sql.Expression, len(f.args)), make([]any, len(f.args))}
	for i, e := range f.args {
		var err error
		if a.args[i], err = transform.Clone(ctx, e); err != nil {
			return arguments{}, err
		}
	}
	return a, nil
}

func (a *arguments) eval(ctx *sql.Context, row sql.Row) ([]any, error) {
	for i, e := range a.args {
		v, err := e.Eval(ctx, row)
		if err != nil {
			return nil, err
		}
		if a.values[i], err = sql.UnwrapAny(ctx, v); err != nil {
			return nil, err
		}
	}
	return a.values, nil
}

// Dispose implements sql.Disposable.
func (a *arguments) Dispose(ctx *sql.Context) {
	for _, e := range a.args {
		expression.Dispose(ctx, e)
	}
}

// buffer is a group.
type buffer struct {
	arguments
	state state
}

// NewBuffer implements sql.Aggregation.
func (f *Function) NewBuffer(ctx *sql.Context) (sql.AggregationBuffer, error) {
	args, err := f.arguments(ctx)
	if err != nil {
		return nil, err
	}
	return &buffer{args, f.fresh()}, nil
}

// Update implements sql.AggregationBuffer.
func (b *buffer) Update(ctx *sql.Context, row sql.Row) error {
	values, err := b.eval(ctx, row)
	if err != nil {
		return err
	}
	return b.state.add(ctx, values)
}

// Eval implements sql.AggregationBuffer.
func (b *buffer) Eval(ctx *sql.Context) (any, error) { return b.state.value(ctx) }

// window is the aggregate over the frames of partitions, one after the other. From frame to frame it adds the rows that come in. Rows that drop out are
// removed where the state can do that; else the frame is computed afresh.
type window struct {
	arguments
	framer sql.WindowFramer
	fresh  func() state
	state  state
	// at is the frame that state has seen.
	at sql.WindowInterval
}

// NewWindowFunction implements sql.WindowAdaptableExpression.
func (f *Function) NewWindowFunction(ctx *sql.Context) (sql.WindowFunction, error) {
	args, err := f.arguments(ctx)
	if err != nil {
		return nil, err
	}
	// The engine's knows which frame a window has when it names none.
	base, err := aggregation.NewSumAgg(f.args[0]).WithWindow(ctx, f.window)
	if err != nil {
		return nil, err
	}
	return &window{arguments: args, framer: base.DefaultFramer(), fresh: f.fresh}, nil
}

// DefaultFramer implements sql.WindowFunction.
func (w *window) DefaultFramer() sql.WindowFramer { return w.framer }

// StartPartition implements sql.WindowFunction.
func (w *window) StartPartition(_ *sql.Context, part sql.WindowInterval, _ sql.WindowBuffer) error {
	w.restart(part.Start)
	return nil
}

func (w *window) restart(at int) {
	w.state, w.at = w.fresh(), sql.WindowInterval{Start: at, End: at}
}

// Compute implements sql.WindowFunction.
func (w *window) Compute(ctx *sql.Context, frame sql.WindowInterval, buf sql.WindowBuffer) (any, error) {
	if frame.End < frame.Start {
		frame.End = frame.Start
	}
	leaves, removes := w.state.(remover)
	if frame.End < w.at.End || frame.Start < w.at.Start || frame.Start > w.at.End || frame.Start > w.at.Start && !removes {
		w.restart(frame.Start)
	}
	for ; w.at.Start < frame.Start; w.at.Start++ {
		values, err := w.eval(ctx, buf[w.at.Start])
		if err != nil {
			return nil, err
		}
		if err := leaves.remove(ctx, values); err != nil {
			return nil, err
		}
	}
	for ; w.at.End < frame.End; w.at.End++ {
		values, err := w.eval(ctx, buf[w.at.End])
		if err != nil {
			return nil, err
		}
		if err := w.state.add(ctx, values); err != nil {
			return nil, err
		}
	}
	return w.state.value(ctx)
}
