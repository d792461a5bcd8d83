package ops

import (
	"slices"
	"testing"

	"millrace/internal/column"
)

// TestDoublesAreInNoListOfNulls: x IN (NULL, NULL) over doubles looked for integers in a vector that has none.
func TestDoublesAreInNoListOfNulls(t *testing.T) {
	f := column.Field{Name: "f", Type: column.Type{Kind: column.Float64}}
	null := Const(f.Type, nil)
	src := &memorySource{lanes: [][]*column.Batch{{batchOf(column.Vector{Type: f.Type, Float: []float64{1, 2}})}}}
	for _, filter := range []Expr{must(In(Column(0, f), []Expr{null, null})), must(Not(must(In(Column(0, f), []Expr{null, null}))))} {
		p := Pipeline{Input: []column.Field{f}, Filter: []Expr{filter}, Aggregates: []Aggregate{{Func: Count}}, Limit: -1}
		if rows, err := run(t, src, p, RunOptions{}); err != nil || !slices.Equal(rows, []string{"0"}) {
			t.Errorf("%v: %v, %v", filter, rows, err)
		}
	}
}
