package ops

import (
	"errors"
	"io"
	"testing"

	"millrace/internal/memory"
	"millrace/internal/spill"
)

// BenchmarkSpill: 400,000 rows into as many groups, or in order; in memory, and with a tenth of what that takes.
func BenchmarkSpill(b *testing.B) {
	const rows = 400_000
	src := many(2, 50, rows/100)
	text := Column(1, textField)
	for _, c := range []struct {
		name string
		p    Pipeline
	}{
		{"groups", Pipeline{Input: manyFields, GroupBy: []Expr{number}, Aggregates: []Aggregate{{Func: Count}, {Func: Sum, Arg: number}, {Func: Max, Arg: text}}, Limit: -1}},
		{"distinct", Pipeline{Input: manyFields, Aggregates: []Aggregate{{Func: CountDistinct, Arg: number}}, Limit: -1}},
		{"sort", Pipeline{Input: manyFields, Project: []Expr{number, text}, OrderBy: []Order{{number, false}}, Limit: -1}},
	} {
		plan := must(c.p.Compile())
		run := func(b *testing.B, o RunOptions) (held, spilled int64) {
			r := Run(b.Context(), src, plan, o)
			defer r.Close()
			for {
				if _, err := r.Next(b.Context()); errors.Is(err, io.EOF) {
					return r.MemoryBytes(), r.SpilledBytes()
				} else if err != nil {
					b.Fatal(err)
				}
			}
		}
		all, _ := run(b, RunOptions{})
		for _, o := range []struct {
			name  string
			limit int64
		}{{"memory", 0}, {"disk", all / 10}} {
			b.Run(c.name+"/"+o.name, func(b *testing.B) {
				space := must(spill.Open(spill.Options{Dir: b.TempDir()}))
				b.ReportAllocs()
				var held, spilled int64
				for b.Loop() {
					held, spilled = run(b, RunOptions{Memory: memory.New(o.limit), Temp: space})
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
				b.ReportMetric(float64(held)/(1<<20), "MiB-held")
				b.ReportMetric(float64(spilled)/(1<<20), "MiB-spilled")
			})
		}
	}
}
