package csv

import (
	"bytes"
	stdcsv "encoding/csv"
	"fmt"
	"testing"

	"millrace/internal/column"
	"millrace/internal/decode"
)

func BenchmarkDecode(b *testing.B) {
	var records [][]byte
	total := 0
	for i := range 1024 {
		r := fmt.Appendf(nil, `%d,web,%d.%02d,2026-03-01T12:34:%02d.000Z,"Praha, Dlouhá %d",true,%d.5`, i*7919, i, i%100, i%60, i, i%9)
		records, total = append(records, r), total+len(r)
	}
	kinds := []column.Kind{column.Int64, column.Text, column.Decimal, column.Timestamp, column.Text, column.Bool, column.Float64}
	var fields []Field
	for i, k := range kinds {
		fields = append(fields, Field{Field: column.Field{Name: fmt.Sprintf("c%d", i+1), Type: column.Type{Kind: k, Precision: 10, Scale: 2}}})
	}
	s, err := NewSchema(fields, Defaults())
	if err != nil {
		b.Fatal(err)
	}
	for _, wanted := range [][]int{{}, {0}, {0, 2, 3}, {0, 1, 2, 3, 4, 5, 6}} {
		b.Run(fmt.Sprintf("columns %v", wanted), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(total / len(records)))
			plan, err := s.Compile(wanted)
			if err != nil {
				b.Fatal(err)
			}
			d, slots := plan.NewDecoder(b.Context()), make([]decode.Slot, len(wanted))
			var scratch []byte
			for i := 0; b.Loop(); i++ {
				record := records[i%len(records)]
				if err := d.Locate(record, slots); err != nil {
					b.Fatal(err)
				}
				scratch = scratch[:0]
				for k, s := range slots {
					if s.Kind == decode.Lazy {
						if _, scratch, err = d.Settle(record, k, s, scratch); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
		})
	}
	b.Run("encoding/csv", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(total / len(records)))
		for i := 0; b.Loop(); i++ {
			if _, err := stdcsv.NewReader(bytes.NewReader(records[i%len(records)])).Read(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
