package ops

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"millrace/internal/column"

	"pgregory.net/rapid"
)

// TestRunsEqualTheOracle: whatever the lanes, the sizes of batches and queue, and the limit, a run hands out rows of the oracle's
// answer, as many as it should.
func TestRunsEqualTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		filter := conditionOf(t, 1)
		var list []oracle
		p := Pipeline{Input: rowFields, Filter: []Expr{filter.expr}, Limit: -1}
		for range rapid.IntRange(1, 4).Draw(t, "columns") {
			e := operand(t, 1)
			list = append(list, e)
			p.Project = append(p.Project, e.expr)
		}
		if rapid.Bool().Draw(t, "limited") {
			p.Limit = int64(rapid.IntRange(0, 50).Draw(t, "limit"))
			p.Offset = int64(rapid.IntRange(0, 20).Draw(t, "offset"))
		}
		src := &memorySource{}
		var want []string
		failed := false
		for range rapid.IntRange(1, 4).Draw(t, "lanes") {
			var lane []*column.Batch
			for range rapid.IntRange(0, 3).Draw(t, "batches") {
				b, rows := batchOfRows(t, rapid.SampledFrom([]int{1, 7, 64}).Draw(t, "rows"))
				lane = append(lane, b)
				for _, i := range liveRows(b) {
					pass, err := filter.eval(rows[i])
					failed = failed || err != nil
					if pass != true {
						continue
					}
					var cells []string
					for _, e := range list {
						v, err := e.eval(rows[i])
						failed = failed || err != nil
						cells = append(cells, boxedText(v, e.expr.Type().Kind))
					}
					want = append(want, strings.Join(cells, "|"))
				}
			}
			src.lanes = append(src.lanes, lane)
		}
		o := RunOptions{
			MaxBatchRows:  rapid.SampledFrom([]int{1, 7, 1024}).Draw(t, "batch rows"),
			MaxBatchBytes: rapid.SampledFrom([]int{1, 100, 1 << 20}).Draw(t, "batch bytes"),
			QueueBytes:    rapid.SampledFrom([]int{1, 1 << 20}).Draw(t, "queue"),
		}
		r := Run(t.Context(), src, must(p.Compile()), o)
		defer r.Close()
		var got []string
		for {
			b, err := r.Next(t.Context())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				if !failed {
					t.Fatal(err)
				}
				return
			}
			if b.N == 0 || b.N > o.MaxBatchRows {
				t.Fatalf("a batch of %d rows", b.N)
			}
			for i := range b.N {
				var cells []string
				for c := range b.Cols {
					cells = append(cells, outputText(&b.Cols[c], i))
				}
				got = append(got, strings.Join(cells, "|"))
			}
		}
		if failed {
			return // a limit was met first, or a short cut avoided the error
		}
		count := max(0, len(want)-int(p.Offset))
		if p.Limit >= 0 {
			count = min(count, int(p.Limit))
		}
		if len(got) != count {
			t.Fatalf("got %d rows, want %d", len(got), count)
		}
		if len(src.lanes) == 1 {
			if first := min(int(p.Offset), len(want)); !slices.Equal(got, want[first:first+count]) {
				t.Fatalf("got %v, want %v", got, want[first:first+count])
			}
			return
		}
		// Lanes interleave: every row must be one of the answer, none more often than there.
		left := map[string]int{}
		for _, row := range want {
			left[row]++
		}
		for _, row := range got {
			if left[row]--; left[row] < 0 {
				t.Fatalf("row %q is handed out too often", row)
			}
		}
	})
}

func boxedText(v any, k column.Kind) string {
	if v != nil && k == column.Decimal {
		return keyText(v)
	}
	if v == nil {
		return "NULL"
	}
	return fmt.Sprint(v)
}

func outputText(v *column.Vector, i int) string {
	if v.Type.Kind == column.Decimal && !v.IsNull(i) {
		return cellKey(v, i)
	}
	return cell(v, i)
}
