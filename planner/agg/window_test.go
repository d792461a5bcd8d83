package agg

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/apd/v3"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/types"
	"pgregory.net/rapid"
)

// TestFramesEqualGroups: whichever way frames move over a partition, their values are those of a group of the same rows.
func TestFramesEqualGroups(t *testing.T) {
	ctx := sql.NewEmptyContext()
	field := func(typ sql.Type) sql.Expression { return expression.NewGetField(0, typ, "x", true) }
	decimals := types.MustCreateColumnDecimalType(20, 2)
	functions := map[string]sql.Expression{}
	for name, make := range map[string]func(*sql.Context, sql.Expression) sql.Expression{
		"sum": NewSum, "avg": NewAvg, "var_pop": NewSpread(VarPop), "stddev_samp": NewSpread(StdDevSamp),
	} {
		functions[name+" of integers"], functions[name+" of decimals"], functions[name+" of doubles"] = make(ctx, field(types.Int64)), make(ctx, field(decimals)), make(ctx, field(types.Float64))
		functions[name+" of unsigned"] = make(ctx, field(types.Uint64))
	}
	values := map[string]func(n int64) any{
		"integers": func(n int64) any { return n * 1_000_000_007_000 }, "decimals": func(n int64) any { return apd.New(n*12345, -2) },
		"doubles": func(n int64) any { return float64(n) / 4 }, "unsigned": func(n int64) any { return uint64(n) << 40 },
	}
	for name, e := range functions {
		f := e.(*Function)
		var kind string
		if _, err := fmt.Sscanf(name, f.FunctionName()+" of %s", &kind); err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			var rows sql.WindowBuffer
			for _, n := range rapid.SliceOfN(rapid.Int64Range(-50, 50), 1, 12).Draw(t, "values") {
				switch {
				case n%5 == 0:
					rows = append(rows, sql.Row{nil})
				default:
					rows = append(rows, sql.Row{values[kind](n)})
				}
			}
			args, err := f.arguments(ctx)
			if err != nil {
				t.Fatal(err)
			}
			w := &window{arguments: args, fresh: f.fresh}
			if err := w.StartPartition(ctx, sql.WindowInterval{Start: 0, End: len(rows)}, rows); err != nil {
				t.Fatal(err)
			}
			for range rapid.IntRange(1, 6).Draw(t, "frames") {
				start := rapid.IntRange(0, len(rows)).Draw(t, "start")
				frame := sql.WindowInterval{Start: start, End: rapid.IntRange(start, len(rows)).Draw(t, "end")}
				got, err := w.Compute(ctx, frame, rows)
				if err != nil {
					t.Fatal(err)
				}
				group, err := f.NewBuffer(ctx)
				if err != nil {
					t.Fatal(err)
				}
				for _, row := range rows[frame.Start:frame.End] {
					if err := group.Update(ctx, row); err != nil {
						t.Fatal(err)
					}
				}
				if want, err := group.Eval(ctx); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("%s over %v of %v is %v, want %v, %v", name, frame, rows, got, want, err)
				}
			}
		})
	}
}
