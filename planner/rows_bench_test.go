package planner

import (
	"testing"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/column"
)

// BenchmarkRows measures what a row costs on its way from a batch to the engine, for all columns and for the few that queries want.
func BenchmarkRows(b *testing.B) {
	for _, c := range []struct{ name, query string }{
		{"all", "SELECT * FROM records()"},
		{"value", "SELECT `value` FROM records()"},
		{"topic-partition-offset", "SELECT topic, `partition`, `offset` FROM records()"},
	} {
		b.Run(c.name, func(b *testing.B) {
			e := newTestEngine(b, generate(1, 8192))
			e.log.lanes, e.log.batch = 1, 1024
			node, err := e.engine.AnalyzeQuery(e.ctx, c.query)
			if err != nil {
				b.Fatal(err)
			}
			s := node.(*Scan)
			var batch column.Batch
			batch.Reset(s.plan.Fields())
			for i := range e.log.all[:1024] {
				for j, f := range s.request.Fields {
					e.log.all[i].fill(&batch.Cols[j], f)
				}
				batch.N++
			}
			out := newRowBuilder(s)
			b.ReportAllocs()
			var kept sql.Row
			for n := 0; n < b.N; {
				out.fill(&batch)
				for row, ok := out.take(); ok; row, ok = out.take() {
					kept = row
					n++
				}
			}
			if len(kept) == 0 {
				b.Fatal("no row")
			}
		})
	}
}

// BenchmarkAnalyze measures what the rules add to the planning of a statement, with a scan in it and without.
func BenchmarkAnalyze(b *testing.B) {
	for _, c := range []struct{ name, query string }{
		{"scan", "SELECT `key`, length(`value`) FROM records() WHERE `partition` = 1 AND `offset` > 5 AND `key` = 'k1' LIMIT 10"},
		{"plain", "SELECT 1"},
	} {
		for _, on := range []string{"on", "off"} {
			b.Run(c.name+"/"+on, func(b *testing.B) {
				e := newTestEngine(b, nil)
				e.pushdown(on)
				b.ReportAllocs()
				for range b.N {
					if _, err := e.engine.AnalyzeQuery(e.ctx, c.query); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
