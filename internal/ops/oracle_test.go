package ops

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"millrace/internal/column"

	"pgregory.net/rapid"
)

// The oracle works row by row on boxed values: nil, int64, uint64, float64, string, *big.Rat (decimal), bool. It shares no code
// with the kernels.

// oracle is an expression built twice: for the kernels and as a plain function.
type oracle struct {
	expr Expr
	eval func(row []any) (value any, err error)
}

// rowFields has every kind that kernels know, nullable and not.
var rowFields = []column.Field{
	{Name: "i32", Type: column.Type{Kind: column.Int32}, Nullable: true},
	{Name: "i64", Type: column.Type{Kind: column.Int64}, Nullable: true},
	{Name: "i64n", Type: column.Type{Kind: column.Int64}},
	{Name: "u64", Type: column.Type{Kind: column.Uint64}, Nullable: true},
	{Name: "f64", Type: column.Type{Kind: column.Float64}, Nullable: true},
	{Name: "text", Type: column.Type{Kind: column.Text}, Nullable: true},
	{Name: "bytes", Type: column.Type{Kind: column.Bytes}},
	{Name: "dec", Type: column.Type{Kind: column.Decimal, Precision: 12, Scale: 2}, Nullable: true},
	{Name: "ts", Type: column.Type{Kind: column.Timestamp, Scale: 6}, Nullable: true},
	{Name: "date", Type: column.Type{Kind: column.Date}},
	{Name: "bool", Type: column.Type{Kind: column.Bool}, Nullable: true},
}

// values of a kind, few and near its limits, so that they often meet.
func valueOf(t *rapid.T, k column.Kind, name string) any {
	pick := func(xs ...any) any { return rapid.SampledFrom(xs).Draw(t, name) }
	switch k {
	case column.Bool:
		return pick(int64(0), int64(1))
	case column.Int32:
		return pick(int64(-5), int64(0), int64(1), int64(7), int64(math.MaxInt32), int64(math.MinInt32))
	case column.Int64:
		return pick(int64(-5), int64(0), int64(1), int64(7), int64(math.MaxInt64), int64(math.MinInt64), int64(1<<40))
	case column.Uint64:
		return pick(uint64(0), uint64(1), uint64(7), uint64(math.MaxInt64), uint64(1<<63), uint64(math.MaxUint64))
	case column.Float64:
		return pick(0.0, math.Copysign(0, -1), 1.0, -1.5, 7.0, math.NaN(), math.Inf(1), 1e300)
	case column.Text, column.Bytes:
		return pick("", "a", "ab", "b", "ä", "longer than the others")
	case column.Decimal:
		return pick("0.00", "-0.50", "1.50", "7.00", "-7.00", "9999999999.99", "1.00")
	case column.Timestamp:
		return pick(int64(0), int64(-1), int64(microsPerDay), int64(1), int64(3*microsPerDay))
	default:
		return pick(int64(0), int64(1), int64(-1), int64(3))
	}
}

func constantOf(t *rapid.T, typ column.Type) oracle {
	if rapid.IntRange(0, 9).Draw(t, "null constant") == 0 {
		return oracle{Const(typ, nil), func([]any) (any, error) { return nil, nil }}
	}
	v := valueOf(t, typ.Kind, "constant")
	return oracle{Const(typ, v), func([]any) (any, error) { return boxed(v, typ.Kind), nil }}
}

func boxed(v any, k column.Kind) any {
	if k == column.Decimal {
		r, _ := new(big.Rat).SetString(v.(string))
		return r
	}
	return v
}

func columnOf(i int) oracle {
	return oracle{Column(i, rowFields[i]), func(row []any) (any, error) { return row[i], nil }}
}

// compareBoxed compares as SQL does; ok is false when one is NULL.
func compareBoxed(a, b any) (c int, ok bool) {
	if a == nil || b == nil {
		return 0, false
	}
	if s, text := a.(string); text {
		return strings.Compare(s, b.(string)), true
	}
	_, af := a.(float64)
	_, bf := b.(float64)
	if af || bf {
		x, y := toFloat(a), toFloat(b)
		switch {
		case math.IsNaN(x) && math.IsNaN(y):
			return 0, true
		case math.IsNaN(x):
			return 1, true
		case math.IsNaN(y):
			return -1, true
		}
		return cmp.Compare(x, y), true
	}
	return toRat(a).Cmp(toRat(b)), true
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	default:
		f, _ := v.(*big.Rat).Float64()
		return f
	}
}

func toRat(v any) *big.Rat {
	switch v := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(v)
	case uint64:
		return new(big.Rat).SetUint64(v)
	default:
		return v.(*big.Rat)
	}
}

// operand is a column, a constant, a function, arithmetic or a choice.
func operand(t *rapid.T, depth int) oracle {
	switch rapid.IntRange(0, 11).Draw(t, "operand") {
	case 10:
		return timeFuncOracle(t)
	case 11:
		return hexOracle(t)
	case 0:
		f := rapid.SampledFrom(rowFields).Draw(t, "type")
		return constantOf(t, f.Type)
	case 1:
		x := columnOf(rapid.SampledFrom([]int{5, 6}).Draw(t, "text"))
		return oracle{must(Length(x.expr)), func(row []any) (any, error) {
			v, err := x.eval(row)
			if v == nil || err != nil {
				return nil, err
			}
			return int64(len(v.(string))), nil
		}}
	case 2:
		if depth > 0 {
			return arithmetic(t, depth-1)
		}
	case 3:
		if depth > 0 {
			return choiceOf(t, depth-1)
		}
	case 4:
		return modOf(t, depth)
	case 5:
		return textOf(t, depth)
	case 7:
		return partOracle(t)
	case 6:
		x := textOf(t, depth)
		return oracle{must(Characters(x.expr)), func(row []any) (any, error) {
			v, err := x.eval(row)
			if v == nil || err != nil {
				return nil, err
			}
			return int64(len([]rune(v.(string)))), nil
		}}
	}
	return columnOf(rapid.IntRange(0, len(rowFields)-1).Draw(t, "column"))
}

func modOf(t *rapid.T, depth int) oracle {
	x, by := operand(t, max(depth-1, 0)), rapid.SampledFrom([]int64{1, 2, 3, -3, 10, math.MaxInt64, math.MinInt64, -1, 1 << 33}).Draw(t, "by")
	e, err := Mod(x.expr, by)
	if err != nil {
		x = columnOf(1)
		e = must(Mod(x.expr, by))
	}
	return oracle{e, func(row []any) (any, error) {
		v, err := x.eval(row)
		if v == nil || err != nil {
			return nil, err
		}
		return new(big.Int).Rem(big.NewInt(v.(int64)), big.NewInt(by)).Int64(), nil
	}}
}

var errRange = fmt.Errorf("out of range")

func arithmetic(t *rapid.T, depth int) oracle {
	l, r := operand(t, depth), operand(t, depth)
	op := rapid.SampledFrom([]ArithOp{Add, Sub, Mul}).Draw(t, "op")
	e, err := Arith(op, l.expr, r.expr)
	if err != nil {
		return l
	}
	return oracle{e, func(row []any) (any, error) {
		a, err := l.eval(row)
		if err != nil {
			return nil, err
		}
		b, err := r.eval(row)
		if err != nil || a == nil || b == nil {
			return nil, err
		}
		if e.Type().Kind == column.Float64 {
			x, y := toFloat(a), toFloat(b)
			z := map[ArithOp]float64{Add: x + y, Sub: x - y, Mul: x * y}[op]
			if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
				return nil, errRange
			}
			return z, nil
		}
		x, y, z := toRat(a), toRat(b), new(big.Rat)
		switch op {
		case Add:
			z.Add(x, y)
		case Sub:
			z.Sub(x, y)
		default:
			z.Mul(x, y)
		}
		switch e.Type().Kind {
		case column.Decimal:
			scaled := new(big.Rat).Mul(z, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(e.Type().Scale)), nil)))
			if len(new(big.Int).Abs(scaled.Num()).String()) > 65 {
				return nil, errRange
			}
			return z, nil
		case column.Uint64:
			if !z.Num().IsUint64() {
				return nil, errRange
			}
			return z.Num().Uint64(), nil
		}
		if !z.Num().IsInt64() {
			return nil, errRange
		}
		return z.Num().Int64(), nil
	}}
}

func comparisonOf(t *rapid.T, depth int) oracle {
	l := operand(t, depth)
	op := CompareOp(rapid.IntRange(0, int(Ge)).Draw(t, "compare"))
	// The right side is something that compares with the left one, a column as often as a constant.
	var others []oracle
	for i, f := range rowFields {
		for _, r := range []oracle{columnOf(i), {expr: Const(f.Type, nil)}} {
			if _, err := Compare(op, l.expr, r.expr); err == nil {
				if r.eval == nil {
					r = constantOf(t, f.Type)
				}
				others = append(others, r)
			}
		}
	}
	if len(others) == 0 || rapid.IntRange(0, 3).Draw(t, "any operand") == 0 {
		return compared(t, op, l, operand(t, depth))
	}
	return compared(t, op, l, others[rapid.IntRange(0, len(others)-1).Draw(t, "right")])
}

func compared(t *rapid.T, op CompareOp, l, r oracle) oracle {
	e, err := Compare(op, l.expr, r.expr)
	if err != nil {
		x := columnOf(2)
		return compared(t, op, x, x)
	}
	day := func(v any, self, other column.Kind) any {
		if v != nil && self == column.Date && other == column.Timestamp {
			return v.(int64) * microsPerDay
		}
		return v
	}
	lk, rk := l.expr.Type().Kind, r.expr.Type().Kind
	return oracle{e, func(row []any) (any, error) {
		a, err := l.eval(row)
		if err != nil {
			return nil, err
		}
		b, err := r.eval(row)
		if err != nil {
			return nil, err
		}
		a, b = day(a, lk, rk), day(b, rk, lk)
		c, ok := compareBoxed(a, b)
		if op == NullSafeEq {
			return ok && c == 0 || a == nil && b == nil, nil
		}
		if !ok {
			return nil, nil
		}
		return map[CompareOp]bool{Eq: c == 0, Ne: c != 0, Lt: c < 0, Le: c <= 0, Gt: c > 0, Ge: c >= 0}[op], nil
	}}
}

func conditionOf(t *rapid.T, depth int) oracle {
	if depth == 0 {
		return comparisonOf(t, 1)
	}
	switch rapid.IntRange(0, 9).Draw(t, "condition") {
	case 0, 1:
		return combined(t, depth, rapid.Bool().Draw(t, "and"))
	case 2:
		x := conditionOf(t, depth-1)
		return oracle{must(Not(x.expr)), func(row []any) (any, error) {
			v, err := x.eval(row)
			if v == nil || err != nil {
				return nil, err
			}
			return !v.(bool), nil
		}}
	case 3:
		x := operand(t, depth)
		return oracle{IsNull(x.expr), func(row []any) (any, error) {
			v, err := x.eval(row)
			return v == nil, err
		}}
	case 4:
		return inList(t)
	case 7:
		return likeOf(t)
	case 8:
		x, truth := conditionOf(t, depth-1), rapid.Bool().Draw(t, "truth")
		is := IsFalse
		if truth {
			is = IsTrue
		}
		return oracle{must(is(x.expr)), func(row []any) (any, error) {
			v, err := x.eval(row)
			return v == truth, err
		}}
	case 5:
		x := columnOf(rapid.IntRange(0, len(rowFields)-1).Draw(t, "between"))
		lo, hi := constantOf(t, x.expr.Type()), constantOf(t, x.expr.Type())
		e := must(Between(x.expr, lo.expr, hi.expr))
		return oracle{e, threeValued(true, compared(t, Ge, x, lo), compared(t, Le, x, hi))}
	case 6:
		x := columnOf(rapid.SampledFrom([]int{0, 1, 4, 10}).Draw(t, "number as condition"))
		return oracle{must(And(x.expr, Const(boolType, true))), func(row []any) (any, error) {
			v, err := x.eval(row)
			if v == nil || err != nil {
				return nil, err
			}
			return toFloat(v) != 0, nil
		}}
	default:
		return comparisonOf(t, 1)
	}
}

func combined(t *rapid.T, depth int, and bool) oracle {
	var list []oracle
	var exprs []Expr
	for range rapid.IntRange(2, 4).Draw(t, "operands") {
		x := conditionOf(t, depth-1)
		list, exprs = append(list, x), append(exprs, x.expr)
	}
	make := Or
	if and {
		make = And
	}
	return oracle{must(make(exprs...)), threeValued(and, list...)}
}

// threeValued is AND or OR, every operand evaluated.
func threeValued(and bool, list ...oracle) func(row []any) (any, error) {
	return func(row []any) (any, error) {
		var out any = and
		for _, x := range list {
			v, err := x.eval(row)
			switch {
			case err != nil:
				return nil, err
			case v == !and:
				return !and, nil
			case v == nil:
				out = nil
			}
		}
		return out, nil
	}
}

func inList(t *rapid.T) oracle {
	x := columnOf(rapid.IntRange(0, len(rowFields)-1).Draw(t, "in"))
	var list []oracle
	var exprs []Expr
	for range rapid.SampledFrom([]int{1, 2, 3, 12}).Draw(t, "items") {
		c := constantOf(t, x.expr.Type())
		list, exprs = append(list, compared(t, Eq, x, c)), append(exprs, c.expr)
	}
	return oracle{must(In(x.expr, exprs)), threeValued(false, list...)}
}

// batchesOf draws a batch with its rows boxed.
func batchOfRows(t *rapid.T, n int) (*column.Batch, [][]any) {
	b := &column.Batch{}
	b.Reset(rowFields)
	rows := make([][]any, n)
	// Few distinct rows are drawn and repeated: drawing each of 1,024 rows would be slow and would not find more.
	var protos [][]any
	for range min(n, 12) {
		var row []any
		for _, f := range rowFields {
			var v any
			if !f.Nullable || rapid.IntRange(0, 4).Draw(t, "null") > 0 {
				v = valueOf(t, f.Type.Kind, "value")
			}
			row = append(row, v)
		}
		protos = append(protos, row)
	}
	step := rapid.IntRange(1, 11).Draw(t, "step")
	for i := range rows {
		proto := protos[i*step%len(protos)]
		rows[i] = make([]any, len(proto))
		for c, v := range proto {
			appendBoxed(&b.Cols[c], v)
			if v != nil {
				rows[i][c] = boxed(v, rowFields[c].Type.Kind)
			}
		}
	}
	b.N = n
	switch rapid.IntRange(0, 3).Draw(t, "selection") {
	case 0:
		b.Sel = []int32{}
	case 1:
		b.Sel = []int32{}
		keep := rapid.IntRange(1, 4).Draw(t, "keep")
		for i := range n {
			if i*7%5 < keep {
				b.Sel = append(b.Sel, int32(i))
			}
		}
	}
	return b, rows
}

func appendBoxed(v *column.Vector, x any) {
	switch x := x.(type) {
	case nil:
		v.AppendNull()
	case int64:
		v.AppendInt(x)
	case uint64:
		v.AppendInt(int64(x))
	case float64:
		v.AppendFloat(x)
	case string:
		v.AppendBytes([]byte(x))
	}
}

// liveRows lists the rows of a batch that are not filtered out.
func liveRows(b *column.Batch) []int32 {
	if b.Sel != nil {
		return b.Sel
	}
	return fillIdentity(make([]int32, b.N))
}

var batchSizes = []int{1, 7, 64, 1024}

func TestConditionsEqualTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := conditionOf(t, 3)
		l := newLane(map[string]int{})
		p := asPredicate(e.expr, l)
		for range 2 { // twice, for memory that is reused
			b, rows := batchOfRows(t, rapid.SampledFrom(batchSizes).Draw(t, "rows"))
			l.batch++
			for _, want := range []bool{true, false} {
				var expect []int32
				failed := false
				for _, i := range liveRows(b) {
					v, err := e.eval(rows[i])
					failed = failed || err != nil
					if v == want {
						expect = append(expect, i)
					}
				}
				got, err := p.choose(b, b.Sel, want, make([]int32, b.N))
				if err != nil && failed {
					return // which of several errors, and whether a short cut avoids one, is not the oracle's to say
				}
				if err != nil {
					t.Fatalf("%v: %v", e.expr, err)
				}
				if !failed && !slices.Equal(got, expect) {
					t.Fatalf("%v is %v at rows %v, want %v", e.expr, want, got, expect)
				}
			}
		}
	})
}

func TestValuesEqualTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e oracle
		if rapid.Bool().Draw(t, "condition as value") {
			e = conditionOf(t, 2)
		} else {
			e = operand(t, 3)
		}
		uses := map[string]int{}
		countUses(uses, []Expr{e.expr, e.expr}) // so that results are shared where they may be
		l := newLane(uses)
		x := l.bind(e.expr)
		for range 2 {
			b, rows := batchOfRows(t, rapid.SampledFrom(batchSizes).Draw(t, "rows"))
			l.batch++
			got, err := x.eval(b, b.Sel)
			var fails bool
			for _, i := range liveRows(b) {
				want, werr := e.eval(rows[i])
				if werr != nil {
					fails = true
					var r *rowError
					if r, _ = err.(*rowError); r == nil && e.expr.Type().Kind != column.Bool {
						t.Fatalf("%v gives no error at row %d", e.expr, i)
					}
					break
				}
				if err == nil && !sameCell(got, int(i), want) {
					t.Fatalf("%v at row %d is %s, want %v", e.expr, i, cell(got, int(i)), want)
				}
			}
			if err != nil && !fails {
				t.Fatalf("%v: %v", e.expr, err)
			}
		}
	})
}

func sameCell(v *column.Vector, i int, want any) bool {
	switch w := want.(type) {
	case nil:
		return v.IsNull(i)
	case bool:
		return !v.IsNull(i) && (v.Int[i] != 0) == w
	case *big.Rat:
		r, ok := new(big.Rat).SetString(cell(v, i))
		return ok && r.Cmp(w) == 0
	case float64:
		return !v.IsNull(i) && (v.Float[i] == w || math.IsNaN(w) && math.IsNaN(v.Float[i]))
	default:
		return !v.IsNull(i) && cell(v, i) == fmt.Sprint(w)
	}
}
