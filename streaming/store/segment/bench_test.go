package segment

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"millrace/internal/column"
)

const benchRows = 65536

func benchColumns() map[string]*column.Vector {
	r := rand.New(rand.NewPCG(1, 2))
	vs := map[string]*column.Vector{
		"offset":  {Type: column.Type{Kind: column.Int64}},
		"time":    {Type: column.Type{Kind: column.Timestamp}},
		"amount":  {Type: column.Type{Kind: column.Float64}},
		"type":    {Type: column.Type{Kind: column.Text}},
		"user":    {Type: column.Type{Kind: column.Text}},
		"comment": {Type: column.Type{Kind: column.Text}},
	}
	for i := range benchRows {
		vs["offset"].AppendInt(1e9 + int64(i))
		vs["time"].AppendInt(1.7e15 + int64(i)*1000 + r.Int64N(5000))
		vs["amount"].AppendFloat(float64(r.IntN(100000)) / 100)
		vs["type"].AppendBytes(fmt.Appendf(nil, "type-%d", r.IntN(8)))
		vs["user"].AppendBytes(fmt.Appendf(nil, "user-%06d", r.IntN(20000)))
		vs["comment"].AppendBytes(fmt.Appendf(nil, "order %d of user %d went to %x", i, r.IntN(20000), r.Uint64()))
	}
	return vs
}

func BenchmarkEncode(b *testing.B) {
	for name, v := range benchColumns() {
		for _, o := range []Options{{}, {Level: Dense, Filter: true}} {
			b.Run(fmt.Sprintf("%s/dense=%v", name, o.Level == Dense), func(b *testing.B) {
				b.ReportAllocs()
				var e Encoder
				var blob []byte
				for range b.N {
					blob, _ = e.Encode(blob[:0], v, Rows{N: benchRows}, o)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
				b.ReportMetric(float64(len(blob))/benchRows, "bytes/row")
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, v := range benchColumns() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var e Encoder
			blob, _ := e.Encode(nil, v, Rows{N: benchRows}, Options{})
			var c Column
			var s Scratch
			for range b.N {
				if err := c.Decode(blob, v.Type, benchRows, &s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
	}
}
