package pgstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// benchColumns are those of the benchmarks of pebblestore: what a table of events looks like.
func benchColumns() []store.Column {
	field := func(name string, k column.Kind) store.Column {
		return store.Column{Field: column.Field{Name: name, Type: column.Type{Kind: k}, Nullable: true}}
	}
	return []store.Column{
		field("id", column.Int64), field("type", column.Text), field("user", column.Text), field("amount", column.Float64), field("ts", column.Timestamp),
		field("part", column.Int32),
	}
}

func benchBatch(r *rand.Rand, from, n int) *column.Batch {
	b := &column.Batch{N: n, Cols: make([]column.Vector, 6)}
	for i, c := range benchColumns() {
		b.Cols[i].Type = c.Type
	}
	for i := from; i < from+n; i++ {
		b.Cols[0].AppendInt(int64(i) * 7)
		b.Cols[1].AppendBytes(fmt.Appendf(nil, "type-%d", r.IntN(8)))
		b.Cols[2].AppendBytes(fmt.Appendf(nil, "user-%06d", r.IntN(200000)))
		b.Cols[3].AppendFloat(float64(r.IntN(100000)) / 100)
		b.Cols[4].AppendInt(1.7e15 + int64(i)*1000 + r.Int64N(5000))
		b.Cols[5].AppendInt(int64(i % 8))
	}
	return b
}

func benchStore(b *testing.B) *Store {
	b.Helper()
	s, err := openNamed(newName(b), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	if err := s.CreateTable(b.Context(), store.TableSpec{ID: "t", Columns: benchColumns()}); err != nil {
		b.Fatal(err)
	}
	return s
}

func perRow(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
}

func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			s := benchStore(b)
			batch := benchBatch(rand.New(rand.NewPCG(1, 1)), 0, n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Commit(b.Context(), &store.Commit{Table: "t", Writes: []store.Write{{Table: "t", SchemaVersion: 1, Rows: batch}}}); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b, n)
		})
	}
}

// BenchmarkBareCopy is what a program does that only copies the same rows, with pgx's own CopyFrom: no numbers, no index, no positions.
func BenchmarkBareCopy(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			name := newName(b)
			c, err := pgx.Connect(b.Context(), needServer(b))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = c.Close(b.Context()) }()
			_, err = c.Exec(b.Context(), strings.ReplaceAll(`create schema NAME; create table NAME.t (id bigint, type text, "user" text, amount double precision, ts timestamp, part integer)`, "NAME", name))
			if err != nil {
				b.Fatal(err)
			}
			batch := benchBatch(rand.New(rand.NewPCG(1, 1)), 0, n)
			rows := make([][]any, n)
			for i := range rows {
				rows[i] = []any{
					batch.Cols[0].Int[i], string(batch.Cols[1].View(i)), string(batch.Cols[2].View(i)), batch.Cols[3].Float[i], time.UnixMicro(batch.Cols[4].Int[i]), int32(batch.Cols[5].Int[i]),
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.CopyFrom(b.Context(), pgx.Identifier{name, "t"}, []string{"id", "type", "user", "amount", "ts", "part"}, pgx.CopyFromRows(rows)); err != nil {
					b.Fatal(err)
				}
			}
			perRow(b, n)
		})
	}
}

// fillBench writes rows in 20 commits.
func fillBench(b *testing.B, s *Store, rows int) {
	b.Helper()
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 20 {
		if _, err := s.Commit(b.Context(), &store.Commit{Table: "t", Writes: []store.Write{{Table: "t", SchemaVersion: 1, Rows: benchBatch(r, i*rows/20, rows/20)}}}); err != nil {
			b.Fatal(err)
		}
	}
}

// counter is a Sink that counts rows.
type counter struct{ rows int }

func (c *counter) Push(_ context.Context, b *column.Batch) error { c.rows += b.Live(); return nil }
func (c *counter) Finish(context.Context) error                  { return nil }

func BenchmarkScan(b *testing.B) {
	const rows = 1_000_000
	s := benchStore(b)
	fillBench(b, s, rows)
	from := int64(1.7e15) + rows/2*1000
	for _, c := range []struct {
		name string
		spec store.ScanSpec
	}{
		{"all columns", store.ScanSpec{Columns: []int{0, 1, 2, 3, 4, 5}}},
		{"two columns", store.ScanSpec{Columns: []int{1, 3}}},
		{"1 % by time", store.ScanSpec{Columns: []int{3}, Where: []store.Condition{{Column: 4, Ranges: []store.Range{{Min: store.Int(from), Max: store.Int(from + rows/100*1000)}}}}}},
		{"one id", store.ScanSpec{Columns: []int{0, 1}, Where: []store.Condition{{Column: 0, Ranges: []store.Range{store.Point(store.Int(7 * 1234))}}}}},
		{"count", store.ScanSpec{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				snap, err := s.Snapshot(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				c.spec.Table, c.spec.Limit = "t", -1
				src, err := snap.Scan(b.Context(), c.spec)
				if err != nil {
					b.Fatal(err)
				}
				if err := src.Run(b.Context(), func(int) (scan.Sink, error) { return new(counter), nil }); err != nil {
					b.Fatal(err)
				}
				src.Close()
				snap.Close()
			}
			perRow(b, rows)
		})
	}
}
