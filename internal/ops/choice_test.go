package ops

import (
	"strings"
	"testing"
	"unicode"

	"millrace/internal/column"

	"pgregory.net/rapid"
)

// choiceOf is a CASE or COALESCE over columns and constants of one type.
func choiceOf(t *rapid.T, depth int) oracle {
	i := rapid.SampledFrom([]int{0, 1, 3, 4, 5, 6, 7, 8, 9}).Draw(t, "value type")
	value := func() oracle {
		if rapid.IntRange(0, 2).Draw(t, "constant value") == 0 {
			return constantOf(t, rowFields[i].Type)
		}
		if depth > 0 && rapid.IntRange(0, 3).Draw(t, "nested") == 0 {
			if x := choiceOf(t, depth-1); x.expr.Type() == rowFields[i].Type {
				return x
			}
		}
		return columnOf(i)
	}
	coalesce := rapid.Bool().Draw(t, "coalesce")
	var conds, values []oracle
	var branches []When
	var list []Expr
	for range rapid.IntRange(1, 3).Draw(t, "branches") {
		v := value()
		values, list = append(values, v), append(list, v.expr)
		if !coalesce {
			c := conditionOf(t, depth)
			conds, branches = append(conds, c), append(branches, When{c.expr, v.expr})
		}
	}
	// The last value is a column, so that there is a type.
	last := columnOf(i)
	var e Expr
	if coalesce {
		e = must(Coalesce(append(list, last.expr)...))
	} else {
		e = must(Case(branches, last.expr))
	}
	return oracle{e, func(row []any) (any, error) {
		for k, v := range values {
			if !coalesce {
				if c, err := conds[k].eval(row); err != nil {
					return nil, err
				} else if c == true {
					return v.eval(row)
				}
				continue
			}
			if x, err := v.eval(row); x != nil || err != nil {
				return x, err
			}
		}
		return last.eval(row)
	}}
}

func TestCaseWithoutElseIsNullWhereNothingIsChosen(t *testing.T) {
	x := Column(2, rowFields[2])
	e := must(Case([]When{{must(Compare(Gt, x, int64Const(1))), x}}, nil))
	if !e.Nullable() {
		t.Error("it is not nullable")
	}
	b := batchOf(ints(0, 1, 2), ints(0, 1, 2), ints(0, 1, 2))
	v, err := newLane(map[string]int{}).bind(e).eval(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !v.IsNull(0) || !v.IsNull(1) || v.IsNull(2) || v.Int[2] != 2 {
		t.Errorf("got %v %v %v", cell(v, 0), cell(v, 1), cell(v, 2))
	}
}

func TestCaseRefusesMixedTypes(t *testing.T) {
	when := must(Compare(Gt, Column(2, rowFields[2]), int64Const(1)))
	for _, c := range [][2]Expr{
		{Column(2, rowFields[2]), Column(5, rowFields[5])},
		{Column(2, rowFields[2]), Column(3, rowFields[3])},
		{Column(5, rowFields[5]), Column(6, rowFields[6])},
		{Const(column.Type{Kind: column.Int64}, nil), Const(column.Type{Kind: column.Text}, nil)},
	} {
		if e, err := Case([]When{{when, c[0]}}, c[1]); err == nil {
			t.Errorf("%v is accepted", e)
		}
	}
}

// Two branches use one expression at different rows, and what is made of it is used again after that.
func TestSharedResultsSurviveBranches(t *testing.T) {
	text := column.Field{Name: "t", Type: column.Type{Kind: column.Text}, Nullable: true}
	n := column.Field{Name: "n", Type: column.Type{Kind: column.Int64}}
	x := must(Coalesce(Column(1, text), Const(text.Type, "none")))
	upper := must(Fold("upper", x, unicode.ToUpper))
	low, high := must(Compare(Lt, Column(0, n), int64Const(2))), must(Compare(Ge, Column(0, n), int64Const(2)))
	both := must(Case([]When{{low, upper}, {high, x}}, nil))
	again := must(Case([]When{{low, upper}}, nil))
	uses := map[string]int{}
	countUses(uses, []Expr{both, again})
	l := newLane(uses)
	first, second := l.bind(both), l.bind(again)
	for _, want := range [][2]string{{"A B c d", "A B NULL NULL"}, {"A B c d", "A B NULL NULL"}} {
		b := batchOf(ints(0, 1, 2, 3), texts("a", "b", "c", "d"))
		l.batch++
		for k, x := range []evaluator{first, second} {
			v, err := x.eval(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join([]string{cell(v, 0), cell(v, 1), cell(v, 2), cell(v, 3)}, " "); got != want[k] {
				t.Errorf("expression %d gives %s, want %s", k, got, want[k])
			}
		}
	}
}
