package kafka_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/testkit"
)

// FuzzParseBatches parses bytes as an answer. Whatever they are, nothing may panic, no row may lie outside the range, little memory may be taken, and
// where franz-go finds nothing wrong either, the rows are the same.
func FuzzParseBatches(f *testing.F) {
	for codec := range testkit.Codecs {
		recs := testkit.JSONRecords(5, 1)
		recs[2].Headers = []kmsg.Header{{Key: "a", Value: []byte{0xff}}, {Key: "b"}}
		in := testkit.Batch{First: 10, Codec: codec, BaseTime: 1_700_000_000_000, MaxTime: 1_700_000_000_004, Records: recs}.Encode(f)
		in = append(in, testkit.Batch{First: 20, Attrs: 0x30, Records: []kmsg.Record{{Key: []byte{0, 0, 0, 0}}}}.Encode(f)...)
		f.Add(in, int64(11), int64(30))
	}
	f.Add(append(message(0, 3, 0, nil, []byte("v3"), 0), message(1, 4, 5000, []byte("k4"), nil, 0)...), int64(0), int64(5))
	f.Fuzz(func(t *testing.T, in []byte, from, until int64) {
		var col testkit.Collector
		sink, err := col.Sink(0)
		if err != nil {
			t.Fatal(err)
		}
		p := kafka.NewParser(allFields, kafka.Config{SkipCRC: true, MaxBatchBytes: 1 << 20}, scan.Bounds{}, sink)
		defer p.Close()
		next, err := p.Parse(in, from, until, nil)
		rows := col.All()
		for _, r := range rows {
			if o := r[4].(int64); o < from || o >= until || o >= next {
				t.Fatalf("offset %d, range [%d, %d), next %d", o, from, until, next)
			}
		}
		if n := p.ScratchCap(); n > 16<<20 {
			t.Fatalf("%d bytes of input took %d of scratch", len(in), n)
		}
		if err != nil {
			return
		}
		var want []testkit.Row
		for at := from; len(in) > 17; { // batch by batch, because franz-go passes over one that it cannot read without an error
			size := 12 + int(int32(binary.BigEndian.Uint32(in[8:])))
			if size > len(in) {
				break
			}
			part := &kmsg.FetchResponseTopicPartition{Partition: 3, RecordBatches: in[:size]}
			opts := kgo.ProcessFetchPartitionOpts{Offset: at, Topic: "t", Partition: 3, DisableCRCValidation: true}
			got, to := kgo.ProcessFetchPartition(opts, part, kgo.DefaultDecompressor(), nil)
			after, err := kafka.Position(in[:size], at)
			if err != nil || got.Err != nil || to != after {
				return
			}
			in, at = in[size:], to
			want = append(want, wanted(got.Records, from, until)...)
		}
		for i, r := range rows {
			r[7] = nil
			// franz-go holds a time in nanoseconds, so that what is far from now overflows.
			if us, ok := r[5].(int64); (!ok || us < -9e15 || us > 9e15) && i < len(want) {
				r[5], want[i][5] = nil, nil
			}
		}
		if d := diff(want, rows); d != "" {
			t.Fatal(d)
		}
	})
}

// wanted are the rows for records that lie in a range.
func wanted(records []*kgo.Record, from, to int64) []testkit.Row {
	var out []testkit.Row
	for _, r := range records {
		if r.Offset < from || r.Offset >= to {
			continue
		}
		row := expected(r)
		row[7] = nil // keys that are no UTF-8 are shown in different ways
		out = append(out, row)
	}
	return out
}

// framed is snappy-java's stream format with blocks of size bytes.
func framed(raw []byte, size int) []byte {
	out := append([]byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}, 0, 0, 0, 1, 0, 0, 0, 1)
	for len(raw) > 0 {
		n := min(size, len(raw))
		block := snappy.Encode(nil, raw[:n])
		out = binary.BigEndian.AppendUint32(out, uint32(len(block)))
		out = append(out, block...)
		raw = raw[n:]
	}
	return out
}

// lz4Frame compresses raw with blocks that may refer to each other where linked.
func lz4Frame(t testing.TB, raw []byte, opts ...lz4.Option) []byte {
	var buf bytes.Buffer
	w := lz4.NewWriter(&buf)
	if err := w.Apply(opts...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func sample(n int) []byte {
	var raw []byte
	for _, r := range testkit.JSONRecords(n, 9) {
		raw = append(raw, r.Value...)
	}
	return raw
}

func TestFramingsAreRead(t *testing.T) {
	raw := sample(3000)
	for name, x := range map[string]struct {
		codec int
		in    []byte
	}{
		"snappy, one block":      {2, snappy.Encode(nil, raw)},
		"snappy, many blocks":    {2, framed(raw, 32<<10)},
		"snappy, stream of none": {2, framed(nil, 1)},
		"lz4":                    {3, lz4Frame(t, raw)},
		"lz4, small blocks":      {3, lz4Frame(t, raw, lz4.BlockSizeOption(lz4.Block64Kb), lz4.BlockChecksumOption(true))},
		"lz4, content size":      {3, lz4Frame(t, raw, lz4.SizeOption(uint64(len(raw))), lz4.ChecksumOption(false))},
		"lz4, two frames":        {3, append(lz4Frame(t, raw[:1000]), lz4Frame(t, raw[1000:])...)},
		"lz4, stored":            {3, lz4Frame(t, []byte{1, 2, 3})},
		"gzip":                   {1, testkit.Compress(t, 1, raw)},
		"zstd":                   {4, testkit.Compress(t, 4, raw)},
	} {
		t.Run(name, func(t *testing.T) {
			want := raw
			switch name {
			case "lz4, stored":
				want = []byte{1, 2, 3}
			case "snappy, stream of none":
				want = nil
			}
			got, err := kafka.Decompress([]byte("before"), x.in, x.codec, 1<<30)
			if err != nil || !bytes.Equal(got, append([]byte("before"), want...)) {
				t.Fatalf("%v; %d bytes, want %d", err, len(got), len(want)+6)
			}
			for n := range min(len(x.in), 300) { // cut short: an error or less, no panic
				_, _ = kafka.Decompress(nil, x.in[:n], x.codec, 1<<20)
			}
			if _, err := kafka.Decompress(nil, x.in, x.codec, 100); len(want) > 100 && !kafka.IsTooLarge(err) {
				t.Errorf("100 bytes allowed: %v", err)
			}
		})
	}
}

func fuzzCodec(f *testing.F, codec int) {
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := kafka.Decompress(nil, in, codec, 1<<20)
		if err == nil && len(out) > 1<<20 {
			t.Fatalf("%d bytes", len(out))
		}
		if cap(out) > 16<<20 {
			t.Fatalf("%d bytes of input took %d", len(in), cap(out))
		}
	})
}

func FuzzSnappy(f *testing.F) {
	f.Add(snappy.Encode(nil, sample(3)))
	f.Add(framed(sample(3), 100))
	fuzzCodec(f, 2)
}

func FuzzLZ4(f *testing.F) {
	f.Add(lz4Frame(f, sample(3)))
	f.Add(lz4Frame(f, sample(3), lz4.BlockChecksumOption(true), lz4.SizeOption(uint64(len(sample(3))))))
	fuzzCodec(f, 3)
}

func FuzzGzipAndZstd(f *testing.F) {
	f.Add(testkit.Compress(f, 1, sample(3)), true)
	f.Add(testkit.Compress(f, 4, sample(3)), false)
	f.Fuzz(func(t *testing.T, in []byte, gzip bool) {
		codec := 4
		if gzip {
			codec = 1
		}
		if out, err := kafka.Decompress(nil, in, codec, 1<<20); err == nil && len(out) > 1<<20 {
			t.Fatalf("%d bytes", len(out))
		}
	})
}
