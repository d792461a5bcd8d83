package columns

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/math"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
)

// rows is the size of a batch, a typical Kafka record batch of small events.
const rows = 1024

// record is where a parser has found key and value in the decompressed bytes; a key of length -1 is NULL.
type record struct {
	offset, timestamp            int64
	keyBeg, keyEnd, beg, valueTo int
}

// data is a decompressed batch: 200-byte values, 8-byte keys, a tenth of them NULL.
func data() ([]byte, []record) {
	var buf []byte
	recs := make([]record, rows)
	for i := range recs {
		r := &recs[i]
		r.offset, r.timestamp = int64(1000+i), int64(1700000000000+i)
		buf = append(buf, 0, 0, 0, 0, 0) // the record's header
		r.keyBeg, r.keyEnd = len(buf), len(buf)+8
		if i%10 == 0 {
			r.keyEnd = -1
		} else {
			buf = append(buf, "key-0000"...)
		}
		r.beg = len(buf)
		for range 200 {
			buf = append(buf, 'v')
		}
		r.valueTo = len(buf)
	}
	return buf, recs
}

var (
	offsetType    = column.Type{Kind: column.Int64}
	timestampType = column.Type{Kind: column.Timestamp, Scale: 3}
	bytesType     = column.Type{Kind: column.Bytes}
	batchFields   = []column.Field{
		{Name: "offset", Type: offsetType}, {Name: "timestamp", Type: timestampType}, {Name: "key", Type: bytesType, Nullable: true}, {Name: "value", Type: bytesType},
	}
)

// fillViews is what internal/kafka does: bytes stay where they were decompressed.
func fillViews(b *column.Batch, buf []byte, recs []record) {
	b.Reset(batchFields)
	offset, timestamp, key, value := &b.Cols[0], &b.Cols[1], &b.Cols[2], &b.Cols[3]
	key.Data, value.Data = buf, buf
	for i := range recs {
		r := &recs[i]
		offset.Int = append(offset.Int, r.offset)
		timestamp.Int = append(timestamp.Int, r.timestamp*1000)
		end := r.keyEnd
		if end < 0 {
			end = r.keyBeg
			key.SetNull(i, rows)
		}
		key.Beg, key.End = append(key.Beg, uint32(r.keyBeg)), append(key.End, uint32(end))
		value.Beg, value.End = append(value.Beg, uint32(r.beg)), append(value.End, uint32(r.valueTo))
	}
	b.N = len(recs)
	// Reset would keep the shared buffer as scratch memory of both.
	b.Cols[2].Data, b.Cols[3].Data = buf, buf
}

func BenchmarkFill(b *testing.B) {
	buf, recs := data()
	perRow := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	}
	b.Run("own views", func(b *testing.B) {
		b.ReportAllocs()
		var batch column.Batch
		for b.Loop() {
			fillViews(&batch, buf, recs)
			batch.Cols[2].Data, batch.Cols[3].Data = nil, nil
		}
		perRow(b)
	})
	b.Run("own copies", func(b *testing.B) {
		b.ReportAllocs()
		var batch column.Batch
		for b.Loop() {
			batch.Reset(batchFields)
			for i := range recs {
				r := &recs[i]
				batch.Cols[0].AppendInt(r.offset)
				batch.Cols[1].AppendInt(r.timestamp * 1000)
				if r.keyEnd < 0 {
					batch.Cols[2].AppendNull()
				} else {
					batch.Cols[2].AppendBytes(buf[r.keyBeg:r.keyEnd])
				}
				batch.Cols[3].AppendBytes(buf[r.beg:r.valueTo])
			}
		}
		perRow(b)
	})
	builders := map[string]func() (key, value array.Builder, appendTo func(array.Builder, []byte)){
		"arrow Binary": func() (array.Builder, array.Builder, func(array.Builder, []byte)) {
			make := func() array.Builder {
				return array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
			}
			return make(), make(), func(b array.Builder, v []byte) { b.(*array.BinaryBuilder).Append(v) }
		},
		"arrow BinaryView": func() (array.Builder, array.Builder, func(array.Builder, []byte)) {
			make := func() array.Builder { return array.NewBinaryViewBuilder(memory.DefaultAllocator) }
			return make(), make(), func(b array.Builder, v []byte) { b.(*array.BinaryViewBuilder).Append(v) }
		},
	}
	for _, name := range []string{"arrow Binary", "arrow BinaryView"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			key, value, add := builders[name]()
			offset := array.NewInt64Builder(memory.DefaultAllocator)
			timestamp := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Microsecond})
			all := []array.Builder{offset, timestamp, key, value}
			for b.Loop() {
				for _, x := range all {
					x.Reserve(rows)
				}
				for i := range recs {
					r := &recs[i]
					offset.UnsafeAppend(r.offset)
					timestamp.UnsafeAppend(arrow.Timestamp(r.timestamp * 1000))
					if r.keyEnd < 0 {
						key.AppendNull()
					} else {
						add(key, buf[r.keyBeg:r.keyEnd])
					}
					add(value, buf[r.beg:r.valueTo])
				}
				for _, x := range all {
					x.NewArray().Release()
				}
			}
			perRow(b)
		})
	}
	b.Run("arrow over reused buffers", func(b *testing.B) {
		b.ReportAllocs()
		var w wrapped
		for b.Loop() {
			for _, a := range w.fill(buf, recs) {
				a.Release()
			}
		}
		perRow(b)
	})
}

// wrapped builds arrow arrays by hand over memory that is used again, which is as cheap as they get: values must still lie side
// by side. Memory is only ours again once every array on it is released.
type wrapped struct {
	offset, timestamp  []int64
	keyEnds, valueEnds []int32
	keys, values       []byte
	valid              []byte
}

func (w *wrapped) fill(buf []byte, recs []record) [4]arrow.Array {
	w.offset, w.timestamp, w.keys, w.values = w.offset[:0], w.timestamp[:0], w.keys[:0], w.values[:0]
	w.keyEnds, w.valueEnds = append(w.keyEnds[:0], 0), append(w.valueEnds[:0], 0)
	w.valid = append(w.valid[:0], make([]byte, (len(recs)+7)/8)...)
	nulls := 0
	for i := range recs {
		r := &recs[i]
		w.offset, w.timestamp = append(w.offset, r.offset), append(w.timestamp, r.timestamp*1000)
		if r.keyEnd < 0 {
			nulls++
		} else {
			w.keys = append(w.keys, buf[r.keyBeg:r.keyEnd]...)
			w.valid[i>>3] |= 1 << (i & 7)
		}
		w.values = append(w.values, buf[r.beg:r.valueTo]...)
		w.keyEnds, w.valueEnds = append(w.keyEnds, int32(len(w.keys))), append(w.valueEnds, int32(len(w.values)))
	}
	n := len(recs)
	of := memory.NewBufferBytes
	data := func(t arrow.DataType, nulls int, buffers ...*memory.Buffer) arrow.ArrayData {
		return array.NewData(t, n, buffers, nil, nulls, 0)
	}
	return [4]arrow.Array{
		array.NewInt64Data(data(arrow.PrimitiveTypes.Int64, 0, nil, of(arrow.Int64Traits.CastToBytes(w.offset)))),
		array.NewTimestampData(data(&arrow.TimestampType{Unit: arrow.Microsecond}, 0, nil, of(arrow.Int64Traits.CastToBytes(w.timestamp)))),
		array.NewBinaryData(data(arrow.BinaryTypes.Binary, nulls, of(w.valid), of(arrow.Int32Traits.CastToBytes(w.keyEnds)), of(w.keys))),
		array.NewBinaryData(data(arrow.BinaryTypes.Binary, 0, nil, of(arrow.Int32Traits.CastToBytes(w.valueEnds)), of(w.values))),
	}
}

// source pushes one batch n times.
type source struct {
	b *column.Batch
	n int
}

func (s *source) Splits() []scan.Split { return nil }
func (s *source) Stats() scan.Stats    { return scan.Stats{} }
func (s *source) Warnings() []string   { return nil }
func (s *source) Close()               {}

func (s *source) Run(ctx context.Context, newSink func(int) (scan.Sink, error)) error {
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

// own runs one aggregate over the batch, b.N times.
func own(b *testing.B, a ops.Aggregate, filter ...ops.Expr) {
	b.ReportAllocs()
	buf, recs := data()
	var batch column.Batch
	fillViews(&batch, buf, recs)
	plan, err := (&ops.Pipeline{Input: batchFields, Filter: filter, Aggregates: []ops.Aggregate{a}, Limit: -1}).Compile()
	if err != nil {
		b.Fatal(err)
	}
	r := ops.Run(b.Context(), &source{&batch, b.N}, plan, ops.RunOptions{})
	defer r.Close()
	for {
		if _, err := r.Next(b.Context()); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}

// arrays are offset and value as arrow arrays.
func arrays() (*array.Int64, *array.Binary) {
	buf, recs := data()
	ints := array.NewInt64Builder(memory.DefaultAllocator)
	bytes := array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary)
	for _, r := range recs {
		ints.Append(r.offset)
		bytes.Append(buf[r.beg:r.valueTo])
	}
	return ints.NewInt64Array(), bytes.NewBinaryArray()
}

func BenchmarkFilterAndCount(b *testing.B) {
	offset := ops.Column(0, batchFields[0])
	b.Run("own", func(b *testing.B) {
		below, err := ops.Compare(ops.Lt, offset, ops.Const(offsetType, 1000+rows/2))
		if err != nil {
			b.Fatal(err)
		}
		own(b, ops.Aggregate{Func: ops.Count}, below)
	})
	b.Run("arrow loop over Int64Values", func(b *testing.B) {
		b.ReportAllocs()
		ints, _ := arrays()
		sel := make([]int32, rows)
		for b.Loop() {
			n := 0
			for i, v := range ints.Int64Values() {
				if v < 1000+rows/2 {
					sel[n] = int32(i)
					n++
				}
			}
			if n != rows/2 {
				b.Fatal(n)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	})
}

// BenchmarkSum: ours is exact in 128 bits, arrow's wraps.
func BenchmarkSum(b *testing.B) {
	b.Run("own", func(b *testing.B) { own(b, ops.Aggregate{Func: ops.Sum, Arg: ops.Column(0, batchFields[0])}) })
	b.Run("arrow math", func(b *testing.B) {
		b.ReportAllocs()
		ints, _ := arrays()
		for b.Loop() {
			if math.Int64.Sum(ints) == 0 {
				b.Fatal("no sum")
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	})
}

func BenchmarkSumOfLengths(b *testing.B) {
	b.Run("own", func(b *testing.B) {
		length, err := ops.Length(ops.Column(3, batchFields[3]))
		if err != nil {
			b.Fatal(err)
		}
		own(b, ops.Aggregate{Func: ops.Sum, Arg: length})
	})
	b.Run("arrow loop over ValueLen", func(b *testing.B) {
		b.ReportAllocs()
		_, bytes := arrays()
		for b.Loop() {
			n := 0
			for i := range bytes.Len() {
				if bytes.IsValid(i) {
					n += bytes.ValueLen(i)
				}
			}
			if n == 0 {
				b.Fatal("no length")
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
	})
}
