package ops

import (
	"fmt"
	"math"
	"testing"

	"millrace/internal/column"
)

// A key chooses the rows that a comparison with a constant chooses.
func TestKeysChooseAsConstantsDo(t *testing.T) {
	integers, texts := column.Field{Name: "i", Type: column.Type{Kind: column.Int64}, Nullable: true}, column.Field{Name: "t", Type: column.Type{Kind: column.Text}, Nullable: true}
	var b column.Batch
	b.Reset([]column.Field{integers, texts})
	words := []string{"", "a", "b", "ab", "é"}
	for i := range 100 {
		if i%7 == 0 {
			b.Cols[0].AppendNull()
			b.Cols[1].AppendNull()
			continue
		}
		b.Cols[0].AppendInt([]int64{0, 1, -1, math.MaxInt64, math.MinInt64}[i%5])
		b.Cols[1].AppendBytes([]byte(words[i%5]))
	}
	b.N = 100
	x, y := Column(0, integers), Column(1, texts)
	keyed := make([]Expr, 2)
	for i, e := range []Expr{x, y} {
		var err error
		if keyed[i], err = Key(e, i); err != nil {
			t.Fatal(err)
		}
	}
	p, err := (&Pipeline{Input: []column.Field{integers, texts}, Filter: keyed, Project: []Expr{x, y}, Limit: -1}).Compile()
	if err != nil {
		t.Fatal(err)
	}
	rows := func(p *Plan) string {
		f := p.bindFilter(newLane(p.uses))
		sel, failed := f.pass(&b)
		if failed != nil {
			t.Fatal(failed)
		}
		return fmt.Sprint(sel)
	}
	for _, n := range []int64{0, 1, -1, 2, math.MaxInt64, math.MinInt64} {
		for _, word := range append(words, "none") {
			ci, err := Compare(Eq, x, Const(column.Type{Kind: column.Int64}, n))
			if err != nil {
				t.Fatal(err)
			}
			ct, err := Compare(Eq, y, Const(column.Type{Kind: column.Text}, word))
			if err != nil {
				t.Fatal(err)
			}
			constant, err := (&Pipeline{Input: []column.Field{integers, texts}, Filter: []Expr{ci, ct}, Project: []Expr{x, y}, Limit: -1}).Compile()
			if err != nil {
				t.Fatal(err)
			}
			if got, want := rows(p.WithKeys([]KeyValue{{Int: n}, {Text: word}})), rows(constant); got != want {
				t.Errorf("%d, %q: %s, want %s", n, word, got, want)
			}
		}
	}
}

func TestKeysAreColumnsWithOneEquality(t *testing.T) {
	for kind, allowed := range map[column.Kind]bool{column.Int32: true, column.Int64: true, column.Text: true, column.Bytes: true, column.Uint64: false, column.Float64: false, column.Decimal: false, column.Timestamp: false, column.JSON: false} {
		_, err := Key(Column(0, column.Field{Name: "x", Type: column.Type{Kind: kind}}), 0)
		if allowed != (err == nil) {
			t.Errorf("%v: %v", kind, err)
		}
	}
	if _, err := Key(Const(column.Type{Kind: column.Int64}, 1), 0); err == nil {
		t.Error("a constant is a key")
	}
}
