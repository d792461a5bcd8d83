package ops

import (
	"testing"

	"millrace/bench/data"
	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/decode/avro"
)

// wideRecords are records of 20 fields in Avro, a batch.
func wideRecords(b *testing.B) (*column.Batch, *avro.Schema) {
	b.Helper()
	s, err := avro.Parse(data.AvroSchema)
	if err != nil {
		b.Fatal(err)
	}
	var records []any
	if err := data.Avro.Each(4096, func(_ int, _, value []byte) error {
		records = append(records, string(value))
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	return recordBatch(records), s
}

// BenchmarkDecodedAvro evaluates 3 of 20 fields on batches: one text and two numbers.
func BenchmarkDecodedAvro(b *testing.B) {
	in, s := wideRecords(b)
	how := NewDecoding(s, decode.Permissive, "value", "avro")
	l := newLane(map[string]int{})
	var fields []evaluator
	for i, f := range s.Fields() {
		if f.Name == "type" || f.Name == "qty" || f.Name == "price" {
			fields = append(fields, l.bind(must(Decoded(Column(0, valueField), how, i))))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		l.batch++
		for _, e := range fields {
			if _, err := e.eval(in, nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in.N), "ns/record")
}
