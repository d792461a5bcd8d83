package ops

import (
	"context"
	"fmt"
	"io"
	"testing"

	"millrace/internal/column"
	"millrace/internal/scan"
)

const benchRows = 4096

// benchBatch has an offset, a length with some NULLs, a text and a JSON record per row.
func benchBatch() (*column.Batch, []column.Field) {
	offset, length := ints(), ints()
	text, rec := texts(), records()
	for i := range benchRows {
		offset.AppendInt(int64(i))
		if i%10 == 3 {
			length.AppendNull()
		} else {
			length.AppendInt(int64(i * 7919 % 300))
		}
		text.AppendBytes(fmt.Appendf(nil, "type-%d", i%7))
		rec.AppendBytes(fmt.Appendf(nil, `{"user_id":%d,"type":"type-%d","amount":%d.25,"note":"%0100d"}`, i%1000, i%7, i, i))
	}
	fields := []column.Field{
		{Name: "offset", Type: column.Type{Kind: column.Int64}}, int64Field, textField, bytesField,
	}
	return batchOf(offset, length, text, rec), fields
}

// nopSource pushes one batch b.N times, on one lane.
type nopSource struct {
	memorySource
	b *column.Batch
	n int
}

func (s *nopSource) Run(ctx context.Context, newSink func(int) (scan.Sink, error)) error {
	sink, err := newSink(0)
	if err != nil {
		return err
	}
	for range s.n {
		if err := sink.Push(ctx, s.b); err != nil {
			return err
		}
	}
	return sink.Finish(ctx)
}

func BenchmarkRun(b *testing.B) {
	batch, fields := benchBatch()
	offset, length, text, rec := Column(0, fields[0]), Column(1, fields[1]), Column(2, fields[2]), Column(3, fields[3])
	i64 := column.Type{Kind: column.Int64}
	amount := must(Cast(pathOf(rec, "amount"), column.Type{Kind: column.Decimal, Precision: 12, Scale: 2}, false))
	user := must(Cast(pathOf(rec, "user_id"), i64, false))
	count := []Aggregate{{Func: Count}}
	for _, c := range []struct {
		name string
		p    Pipeline
	}{
		{"count", Pipeline{Aggregates: count}},
		{"filter half", Pipeline{Filter: []Expr{must(Compare(Lt, offset, int64Const(benchRows/2)))}, Aggregates: count}},
		{"filter range with NULLs", Pipeline{Filter: []Expr{must(Between(length, int64Const(50), int64Const(100)))}, Aggregates: count}},
		{"filter or", Pipeline{Filter: []Expr{must(Or(must(Compare(Lt, offset, int64Const(100))), must(Compare(Eq, length, int64Const(7)))))}, Aggregates: count}},
		{"filter text", Pipeline{Filter: []Expr{must(Compare(Eq, text, Const(column.Type{Kind: column.Text}, "type-3")))}, Aggregates: count}},
		{"sum", Pipeline{Aggregates: []Aggregate{{Func: Sum, Arg: offset}}}},
		{"sum with NULLs", Pipeline{Aggregates: []Aggregate{{Func: Sum, Arg: length}}}},
		{"sum of length", Pipeline{Aggregates: []Aggregate{{Func: Sum, Arg: must(Length(rec))}}}},
		{"min max avg", Pipeline{Aggregates: []Aggregate{{Func: Min, Arg: offset}, {Func: Max, Arg: offset}, {Func: Avg, Arg: offset}}}},
		{"group by int", Pipeline{GroupBy: []Expr{length}, Aggregates: count}},
		{"group by text", Pipeline{GroupBy: []Expr{text}, Aggregates: []Aggregate{{Func: Count}, {Func: Sum, Arg: offset}}}},
		{"group by two", Pipeline{GroupBy: []Expr{text, length}, Aggregates: count}},
		{"json group by one sum another", Pipeline{GroupBy: []Expr{pathOf(rec, "type")}, Aggregates: []Aggregate{{Func: Count}, {Func: Sum, Arg: amount}}}},
		{"json three predicates", Pipeline{Filter: []Expr{
			must(Compare(Eq, user, int64Const(500))), must(Compare(Gt, amount, Const(column.Type{Kind: column.Decimal}, "100"))),
			must(Compare(Eq, pathOf(rec, "type"), Const(column.Type{Kind: column.Text}, "type-3"))),
		}, Aggregates: count}},
		{"project offset", Pipeline{Project: []Expr{offset}}},
		{"project all", Pipeline{Project: []Expr{offset, length, text, rec}}},
		{"project one in a hundred", Pipeline{Filter: []Expr{must(Compare(Lt, offset, int64Const(benchRows/100)))}, Project: []Expr{offset, rec}}},
	} {
		c.p.Input, c.p.Limit = fields, -1
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			r := Run(b.Context(), &nopSource{b: batch, n: b.N}, must(c.p.Compile()), RunOptions{})
			defer r.Close()
			for {
				if _, err := r.Next(b.Context()); err == io.EOF {
					break
				} else if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
	}
}
