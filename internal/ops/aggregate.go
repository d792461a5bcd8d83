package ops

import (
	"encoding/binary"
	"fmt"

	"millrace/internal/column"
)

// Func is an aggregate function.
type Func uint8

// The aggregate functions. All but Count without an argument leave NULLs out; over no values the result is NULL, that of a count 0.
const (
	Count Func = iota
	CountDistinct
	Sum
	Min
	Max
	Avg
	VarPop
	VarSamp
	StdDevPop
	StdDevSamp
	// CountIf counts the rows where Arg is TRUE.
	CountIf
	// ApproxCountDistinct estimates what CountDistinct counts.
	ApproxCountDistinct
	// MinBy and MaxBy are Arg where By is least and greatest. Rows where By is NULL are left out.
	MinBy
	MaxBy
	// CollectList is a JSON array of all values.
	CollectList
	// PercentileApprox is a value of about the rank that Fraction says.
	PercentileApprox
	// Any is the value of some row of the group, NULL or not. All that a plan has are of one row.
	Any
	functions // how many there are
)

func (f Func) String() string {
	return [...]string{"count", "count distinct", "sum", "min", "max", "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp",
		"count_if", "approx_count_distinct", "min_by", "max_by", "collect_list", "percentile_approx", "any"}[f]
}

// Aggregate is a function over the rows of a group.
type Aggregate struct {
	Func Func
	// Arg is nil for COUNT(*).
	Arg Expr
	// By is the second argument of the functions that have two.
	By Expr
	// Precision is that of the sketch of ApproxCountDistinct.
	Precision uint8
	// Fraction and Accuracy are those of PercentileApprox.
	Fraction float64
	Accuracy int64
	// Merge says that Arg has results of the aggregate, each over some of a group's rows, which the source has computed: COUNT adds them up, SUM keeps their
	// type, MIN and MAX are as ever. AVG has sums in Arg, and in By of how many values each is; As is its type. The other functions cannot be merged.
	Merge bool
	As    column.Type
}

func (a Aggregate) String() string {
	switch {
	case a.Merge && a.By != nil:
		return fmt.Sprintf("merge %v(%v, %v)", a.Func, a.Arg, a.By)
	case a.Merge:
		return fmt.Sprintf("merge %v(%v)", a.Func, a.Arg)
	case a.Arg == nil:
		return "count(*)"
	case a.Func == CountDistinct:
		return fmt.Sprintf("count(distinct %v)", a.Arg)
	case a.By != nil:
		return fmt.Sprintf("%v(%v, %v)", a.Func, a.Arg, a.By)
	default:
		return fmt.Sprintf("%v(%v)", a.Func, a.Arg)
	}
}

// arguments are the expressions that a is over.
func (a Aggregate) arguments() []Expr {
	var list []Expr
	for _, e := range []Expr{a.Arg, a.By} {
		if e != nil {
			list = append(list, e)
		}
	}
	return list
}

// mostDigits is the precision of MySQL's widest DECIMAL.
const mostDigits = 65

// averageDigits is how many fractional digits AVG adds, MySQL's div_precision_increment.
const averageDigits = 4

func (a Aggregate) resultType() (column.Type, error) {
	if a.Func == Count && !a.Merge {
		return column.Type{Kind: column.Int64}, nil
	}
	if a.Arg == nil {
		return column.Type{}, fmt.Errorf("ops: aggregate '%v' needs an argument", a.Func)
	}
	t := a.Arg.Type()
	refused := unsupported("'%v' of %v is not computed on batches", a.Func, t)
	if a.Merge {
		switch {
		case a.Func == Count && t.Kind == column.Int64, a.Func == Sum && t.Kind == column.Decimal:
			return t, nil
		case a.Func == Avg && t.Kind == column.Decimal && a.By != nil && a.By.Type().Kind == column.Int64 && a.As.Kind == column.Decimal && a.As.Scale >= t.Scale:
			return a.As, nil
		case a.Func != Min && a.Func != Max:
			return column.Type{}, refused
		}
	}
	switch a.Func {
	case Any:
		return t, nil
	case CountDistinct, ApproxCountDistinct:
		if !groupable(t) {
			return column.Type{}, refused
		}
		return column.Type{Kind: column.Int64}, nil
	case CountIf:
		if t.Kind != column.Bool {
			return column.Type{}, refused
		}
		return column.Type{Kind: column.Int64}, nil
	case MinBy, MaxBy:
		if a.By == nil || !groupable(t) || !groupable(a.By.Type()) {
			return column.Type{}, refused
		}
		return t, nil
	case CollectList:
		if t.Kind == column.Time || t.Kind == column.Invalid {
			return column.Type{}, refused
		}
		return column.Type{Kind: column.JSON}, nil
	case PercentileApprox:
		if t.Kind == column.Bool || t.Kind.IsView() || t.Kind == column.Invalid || a.Accuracy < 1 {
			return column.Type{}, refused
		}
		return t, nil
	case Min, Max:
		if t.Kind == column.JSON || t.Kind == column.Invalid {
			return column.Type{}, refused
		}
		return t, nil
	}
	switch t.Kind {
	case column.Float64:
		return t, nil
	case column.Bool, column.Int32, column.Int64, column.Uint64, column.Decimal:
	default:
		return column.Type{}, refused
	}
	precision := integerDigits(t)
	switch a.Func {
	case Sum:
		return column.Type{Kind: column.Decimal, Precision: min(precision+22, mostDigits), Scale: t.Scale}, nil
	case VarPop, VarSamp, StdDevPop, StdDevSamp:
		return column.Type{Kind: column.Float64}, nil
	}
	return column.Type{Kind: column.Decimal, Precision: min(precision+averageDigits, mostDigits), Scale: averageScale(t)}, nil
}

// Result describes the column of a's results.
func (a Aggregate) Result() (column.Field, error) {
	t, err := a.resultType()
	return column.Field{Name: a.String(), Type: t, Nullable: !a.Func.counts() && a.Func != CollectList}, err
}

// counts reports whether f is 0, not NULL, where there are no values.
func (f Func) counts() bool {
	return f == Count || f == CountDistinct || f == CountIf || f == ApproxCountDistinct
}

// integerDigits is the precision of an exact type.
func integerDigits(t column.Type) uint8 {
	switch t.Kind {
	case column.Bool:
		return 1
	case column.Int32:
		return 10
	case column.Int64:
		return 19
	case column.Uint64:
		return 20
	default:
		return t.Precision
	}
}

func averageScale(t column.Type) uint8 {
	if t.Kind != column.Decimal {
		return averageDigits
	}
	return max(t.Scale, min(t.Scale+averageDigits, 30))
}

// accumulator is the state of one aggregate over all groups of a lane. It is used by one goroutine at a time.
//
// Order of calls: grow before the first add, merge or decode that names a new group; emit when nothing else follows. All the others may come in any
// order.
type accumulator interface {
	// grow makes groups the number of groups. Groups never become fewer.
	grow(groups int)
	// add takes rows sel of v (the first n when nil). groups[k] is the group of the k-th of them; nil puts all into group 0. by is the second
	// argument of those that have one.
	add(v, by *column.Vector, n int, sel []int32, groups []int32)
	// merge takes the state of from, made by the same aggregate: its group g belongs to to[g].
	merge(from accumulator, to []int32)
	// encode appends the state of group g to dst. It leaves the state as it is.
	encode(dst []byte, g int) []byte
	// decode merges what encode of the same aggregate wrote at the start of state into group g, and gives what follows. It keeps nothing of state. Bytes
	// that no encode wrote are an error, never a panic.
	decode(g int, state []byte) (rest []byte, err error)
	// emit appends the result of group g.
	emit(g int, out *column.Vector)
	// bytes is the memory held.
	bytes() int
}

func (a Aggregate) accumulator() accumulator {
	t, _ := a.resultType() // checked by Compile
	switch a.Func {
	case Count:
		if a.Merge {
			return &adder{}
		}
		return &counter{all: a.Arg == nil}
	case Any:
		return newAnyRow(t)
	case CountDistinct:
		return newDistinct(a.Arg.Type())
	case CountIf:
		return &adder{}
	case ApproxCountDistinct:
		return &approxDistinct{precision: a.Precision}
	case MinBy:
		return newExtremeBy(t, a.By.Type(), -1)
	case MaxBy:
		return newExtremeBy(t, a.By.Type(), 1)
	case CollectList:
		return &list{}
	case PercentileApprox:
		return &percentile{kind: t.Kind, fraction: a.Fraction, accuracy: a.Accuracy}
	case Min, Max:
		sign := -1
		if a.Func == Max {
			sign = 1
		}
		return newExtreme(a.Arg.Type().Kind, sign)
	}
	arg := a.Arg.Type()
	if a.Merge && a.Func == Avg {
		return &mergedAverage{exactSum{arg: arg, out: t, average: true}}
	}
	moments, double := a.Func != Sum && a.Func != Avg, arg.Kind == column.Float64
	switch {
	case moments && double:
		return &floatMoments{spread: spreadOf(a.Func)}
	case moments:
		return &exactMoments{spread: spreadOf(a.Func), arg: arg}
	case double:
		return &floatSum{average: a.Func == Avg}
	default:
		return &exactSum{arg: arg, out: t, average: a.Func == Avg}
	}
}

// counter is COUNT.
type counter struct {
	all bool
	n   []int64
}

func (c *counter) grow(groups int) { c.n = grown(c.n, groups) }

func (c *counter) add(v, _ *column.Vector, n int, sel []int32, groups []int32) {
	if sel != nil {
		n = len(sel)
	}
	if groups == nil {
		c.n[0] += int64(n)
		if !c.all {
			c.n[0] -= int64(nulls(v, n, sel))
		}
		return
	}
	if c.all || v.Valid == nil {
		for _, g := range groups[:n] {
			c.n[g]++
		}
		return
	}
	for k, g := range groups[:n] {
		i := k
		if sel != nil {
			i = int(sel[k])
		}
		c.n[g] += int64(v.Valid[i>>6] >> (uint(i) & 63) & 1)
	}
}

// adder is a count by numbers to add up: COUNT_IF, as TRUE is 1, and COUNT of parts that were counted.
type adder struct{ counter }

func (c *adder) add(v, _ *column.Vector, n int, sel []int32, groups []int32) {
	eachValid(v, n, sel, groups, func(i, g int) { c.n[g] += v.Int[i] })
}

func (c *adder) merge(from accumulator, to []int32) {
	c.counter.merge(&from.(*adder).counter, to)
}

func nulls(v *column.Vector, n int, sel []int32) int {
	if v.Valid == nil || sel == nil {
		return v.NullCount(n)
	}
	valid := 0
	for _, i := range sel {
		valid += int(v.Valid[i>>6] >> (uint(i) & 63) & 1)
	}
	return len(sel) - valid
}

func (c *counter) merge(from accumulator, to []int32) {
	for g, n := range from.(*counter).n {
		c.n[to[g]] += n
	}
}

func (c *counter) encode(dst []byte, g int) []byte { return binary.AppendVarint(dst, c.n[g]) }

func (c *counter) decode(g int, state []byte) ([]byte, error) {
	r := stateReader{rest: state}
	c.n[g] += r.int()
	return r.end()
}

func (c *counter) emit(g int, out *column.Vector) { out.AppendInt(c.n[g]) }
func (c *counter) bytes() int                     { return 8 * cap(c.n) }

// grown extends s with zeros to n elements.
func grown[T any](s []T, n int) []T {
	if n <= len(s) {
		return s
	}
	if n > cap(s) {
		return append(s, make([]T, n-len(s))...)
	}
	old := len(s)
	s = s[:n]
	clear(s[old:])
	return s
}
