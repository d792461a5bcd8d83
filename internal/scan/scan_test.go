package scan_test

import (
	"fmt"
	"math"
	"testing"

	"millrace/internal/scan"
)

func TestOffsetsOfAPartition(t *testing.T) {
	at := func(from, to int64) []scan.Range { return []scan.Range{{From: from, To: to}} }
	boxes := scan.Bounds{Boxes: []scan.Box{
		{Partitions: at(0, 1), Offsets: at(5, 10)},
		{Partitions: at(0, 2), Offsets: at(8, 20)},
		{Topics: []scan.TextRange{{From: "b", To: "c"}}, Partitions: at(3, 4)},
	}}
	narrowed := boxes
	narrowed.Offsets = []scan.Range{{From: 0, To: 7}, {From: 9, To: 11}}
	for _, c := range []struct {
		name      string
		bounds    scan.Bounds
		topic     string
		partition int32
		want      string
	}{
		{"unbounded", scan.Bounds{}, "a", 3, "[[0, ∞)]"},
		{"another topic", scan.Bounds{Topics: []string{"b"}}, "a", 3, "[]"},
		{"a range of topics", scan.Bounds{TopicRanges: []scan.TextRange{{From: "a", To: "b"}}}, "a", 3, "[[0, ∞)]"},
		{"beyond the range", scan.Bounds{TopicRanges: []scan.TextRange{{From: "a", To: "b"}}}, "b", 3, "[]"},
		{"another partition", scan.Bounds{Partitions: at(0, 3)}, "a", 3, "[]"},
		{"no partition", scan.Bounds{Partitions: []scan.Range{}}, "a", 3, "[]"},
		{"offsets", scan.Bounds{Offsets: at(3, 4)}, "a", 3, "[[3, 4)]"},
		{"boxes that overlap", boxes, "a", 0, "[[5, 20)]"},
		{"one box", boxes, "a", 1, "[[8, 20)]"},
		{"no box", boxes, "a", 3, "[]"},
		{"a box without offsets", boxes, "b", 3, "[[0, ∞)]"},
		{"boxes and offsets", narrowed, "a", 0, "[[5, 7) [9, 11)]"},
	} {
		if got := fmt.Sprint(c.bounds.OffsetsOf(c.topic, c.partition)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

func TestFloatOrderIsThatOfNumbers(t *testing.T) {
	ascending := []float64{math.Inf(-1), -math.MaxFloat64, -1.5, -1, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1, 1.5, math.MaxFloat64, math.Inf(1), math.NaN()}
	for i := 1; i < len(ascending); i++ {
		if a, b := scan.FloatOrder(ascending[i-1]), scan.FloatOrder(ascending[i]); a >= b {
			t.Errorf("%v and %v become %d and %d", ascending[i-1], ascending[i], a, b)
		}
	}
	if scan.FloatOrder(math.Copysign(0, -1)) != scan.FloatOrder(0) {
		t.Error("the zeros differ")
	}
}
