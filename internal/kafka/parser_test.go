package kafka_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/column"
	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/testkit"
)

// parsed is what our parser makes of an answer.
func parsed(t testing.TB, in []byte, from, to int64, cfg kafka.Config, fields []scan.Field) ([]testkit.Row, error) {
	t.Helper()
	var col testkit.Collector
	sink, err := col.Sink(0)
	if err != nil {
		t.Fatal(err)
	}
	p := kafka.NewParser(fields, cfg, scan.Bounds{}, sink)
	defer p.Close()
	_, err = p.Parse(in, from, to, nil)
	return col.All(), err
}

// reference is what franz-go makes of it.
func reference(in []byte, from, to int64) ([]testkit.Row, error) {
	part := &kmsg.FetchResponseTopicPartition{Partition: 3, RecordBatches: in}
	got, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Offset: from, Topic: "t", Partition: 3}, part, kgo.DefaultDecompressor(), nil)
	var out []testkit.Row
	for _, r := range got.Records {
		if r.Offset < to {
			row := expected(r)
			if r.Timestamp.UnixMilli() == -1 {
				row[5] = nil
			}
			out = append(out, row)
		}
	}
	return out, got.Err
}

func TestParserAgreesWithFranzGo(t *testing.T) {
	for codec, name := range testkit.CodecNames {
		for _, n := range []int{1, 10, 500, 9_000} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				var in []byte
				first := int64(100)
				for i, size := range []int{n, 1, n / 2, n} {
					if size == 0 {
						continue
					}
					recs := testkit.JSONRecords(size, int64(i))
					recs[0].Headers = []kmsg.Header{{Key: "a", Value: []byte("b")}, {Key: "null", Value: nil}, {Key: "bytes", Value: []byte{0xff}}}
					recs[size/3].Headers = []kmsg.Header{{Key: "__value_schema_id", Value: []byte{1}}, {Key: "__key_schema_id", Value: []byte{}}, {Key: "__value_schema_id", Value: []byte{0, 0, 0, 0, 7}}}
					recs[size-1].Key = nil
					recs[size/2].Value = nil
					b := testkit.Batch{First: first, Codec: codec, BaseTime: 1_700_000_000_000, MaxTime: 1_700_000_000_000 + int64(size), Records: recs}
					if i == 2 {
						b.Attrs, b.Last = 0x08, first+int64(size)+5 // log append time; compacted at its end
					}
					in = append(in, b.Encode(t)...)
					first += int64(size) + 10
				}
				for _, r := range [][2]int64{{0, first}, {100 + int64(n)/2, first}, {0, 101 + int64(n)/2}, {101, 103}} {
					want, err := reference(in, r[0], r[1])
					if err != nil {
						t.Fatal(err)
					}
					got, err := parsed(t, in, r[0], r[1], kafka.Config{}, allFields)
					if err != nil {
						t.Fatal(err)
					}
					if d := diff(want, got); d != "" {
						t.Fatalf("offsets %v: %s", r, d)
					}
					for _, fields := range [][]scan.Field{nil, {scan.Topic}, {scan.KeyLength}} {
						got, err := parsed(t, in, r[0], r[1], kafka.Config{}, fields)
						if err != nil || len(got) != len(want) {
							t.Fatalf("offsets %v, columns %v: %d rows, want %d; %v", r, fields, len(got), len(want), err)
						}
					}
				}
			})
		}
	}
}

func TestTimestampsOutsideTheCalendarAreNull(t *testing.T) {
	for ms, want := range map[int64]any{
		-1: nil, 0: int64(0), -2: int64(-2000), 253402300799999: int64(253402300799999000), 253402300800000: nil,
		-62135596800000: int64(-62135596800000000), -62135596800001: nil, 1<<63 - 1: nil, -1 << 63: nil,
	} {
		in := testkit.Batch{BaseTime: ms, MaxTime: ms, Records: []kmsg.Record{{}}}.Encode(t)
		got, err := parsed(t, in, 0, 1, kafka.Config{}, []scan.Field{scan.Timestamp})
		if err != nil || len(got) != 1 || got[0][0] != want {
			t.Errorf("%d ms: %v, want %v; %v", ms, got, want, err)
		}
	}
}

// message encodes a message of the formats before Kafka 0.11.
func message(magic byte, offset, ms int64, key, value []byte, attrs byte) []byte {
	body := []byte{magic, attrs}
	if magic == 1 {
		body = binary.BigEndian.AppendUint64(body, uint64(ms))
	}
	for _, f := range [][]byte{key, value} {
		if f == nil {
			body = binary.BigEndian.AppendUint32(body, 0xffffffff)
			continue
		}
		body = binary.BigEndian.AppendUint32(body, uint32(len(f)))
		body = append(body, f...)
	}
	out := binary.BigEndian.AppendUint64(nil, uint64(offset))
	out = binary.BigEndian.AppendUint32(out, uint32(4+len(body)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
	return append(out, body...)
}

func TestOldMessageFormatsAreRead(t *testing.T) {
	row := func(key, value any, offset int64, ts any, typ int64) testkit.Row {
		length := func(x any) any {
			if s, ok := x.(string); ok {
				return int64(len(s))
			}
			return nil
		}
		return testkit.Row{key, value, "t", int64(3), offset, ts, typ, nil, length(key), length(value), nil, nil}
	}
	inner := append(message(1, 0, 1000, []byte("k5"), []byte("v5"), 0), message(1, 1, 2000, nil, []byte("v6"), 0)...)
	in := message(0, 3, 0, nil, []byte("v3"), 0)
	in = append(in, message(1, 4, 5000, []byte("k4"), nil, 0)...)
	in = append(in, message(1, 6, 2000, nil, testkit.Compress(t, 1, inner), 1)...)
	in = append(in, testkit.Batch{First: 7, BaseTime: 9, Records: []kmsg.Record{{Value: []byte("v7")}}}.Encode(t)...)
	want := []testkit.Row{
		row(nil, "v3", 3, nil, -1), row("k4", nil, 4, int64(5_000_000), 0), row("k5", "v5", 5, int64(1_000_000), 0), row(nil, "v6", 6, int64(2_000_000), 0),
		row(nil, "v7", 7, int64(9000), 0),
	}
	got, err := parsed(t, in, 0, 100, kafka.Config{}, allFields)
	if d := diff(want, got); d != "" || err != nil {
		t.Fatalf("%v %s", err, d)
	}
	if got, err := parsed(t, in, 4, 6, kafka.Config{}, nil); err != nil || len(got) != 2 {
		t.Fatalf("%d rows between offsets 4 and 6, want 2; %v", len(got), err)
	}
}

func TestCorruptBatchesAreErrors(t *testing.T) {
	good := func() testkit.Batch {
		return testkit.Batch{First: 7, Records: testkit.JSONRecords(3, 1), BaseTime: 1, MaxTime: 4}
	}
	flip := func(b testkit.Batch, at int, to byte) []byte {
		out := b.Encode(t)
		out[at] = to
		return testkit.Seal(out)
	}
	broken := good()
	broken.Codec = 3
	broken.Compress = func(b []byte) []byte { return []byte("not lz4 at all") }
	many := good()
	many.NumOffset = 100
	more := good()
	more.NumOffset, more.Last = 1, 20
	wrongCRC := good().Encode(t)
	wrongCRC[70] ^= 1
	for name, c := range map[string]struct {
		in   []byte
		want string
	}{
		"checksum":                     {wrongCRC, "checksum"},
		"lz4":                          {broken.Encode(t), "lz4"},
		"more records than offsets":    {many.Encode(t), "claims 103 records"},
		"more records than there are":  {more.Encode(t), "record"},
		"record longer than its batch": {flip(good(), 61, 0xfe), "record"},
		"unknown codec":                {flip(good(), 22, 5), "codec 5"},
		"unknown magic":                {flip(good(), 16, 3), "magic"},
		"negative base":                {flip(good(), 0, 0x80), "negative"},
		"short length":                 {flip(good(), 10, 0)[:200], ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parsed(t, c.in, 0, 100, kafka.Config{}, allFields)
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
	t.Run("cut short", func(t *testing.T) {
		whole := good().Encode(t)
		for n := range whole {
			if rows, err := parsed(t, whole[:n], 0, 100, kafka.Config{}, allFields); err != nil || len(rows) > 0 {
				t.Fatalf("%d bytes: %d rows, %v", n, len(rows), err)
			}
		}
	})
}

func TestDecompressionIsBounded(t *testing.T) {
	zeros := make([]byte, 64<<20)
	for codec, name := range testkit.CodecNames {
		if codec == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			bomb := testkit.Batch{Codec: codec, Records: []kmsg.Record{{Value: zeros}}}.Encode(t)
			var col testkit.Collector
			sink, err := col.Sink(0)
			if err != nil {
				t.Fatal(err)
			}
			p := kafka.NewParser([]scan.Field{scan.ValueLength}, kafka.Config{MaxBatchBytes: 1 << 20}, scan.Bounds{}, sink)
			defer p.Close()
			if _, err := p.Parse(bomb, 0, 1, nil); !kafka.IsTooLarge(err) {
				t.Fatalf("%d bytes that decompress to 64 MiB, 1 MiB allowed: %v", len(bomb), err)
			}
			if n := p.ScratchCap(); n > 8<<20 {
				t.Errorf("%d bytes were allocated", n)
			}
			// Within the limit it is a large record.
			if rows, err := parsed(t, bomb, 0, 1, kafka.Config{}, []scan.Field{scan.ValueLength}); err != nil || rows[0][0] != int64(len(zeros)) {
				t.Errorf("%v %v", rows, err)
			}
		})
	}
}

// discard is a Sink that keeps nothing.
type discard struct{ rows int }

func (d *discard) Push(_ context.Context, b *column.Batch) error { d.rows += b.N; return nil }
func (d *discard) Finish(context.Context) error                  { return nil }

func benchmarkAnswer(b testing.TB, codec int) []byte {
	var in []byte
	for i := range 16 {
		recs := testkit.JSONRecords(400, int64(i))
		in = append(in, testkit.Batch{First: int64(i) * 400, Codec: codec, BaseTime: 1_700_000_000_000, MaxTime: 1_700_000_000_400, Records: recs}.Encode(b)...)
	}
	return in
}

const benchmarkRecords = 16 * 400

// BenchmarkParse parses the same answer with our parser, for several queries, and with franz-go's.
func BenchmarkParse(b *testing.B) {
	queries := []struct {
		name   string
		fields []scan.Field
	}{
		{"count", nil},
		{"lengths", []scan.Field{scan.KeyLength, scan.ValueLength}},
		{"keyvalue", []scan.Field{scan.Key, scan.Value}},
		{"all", allFields},
	}
	for codec, name := range testkit.CodecNames {
		in := benchmarkAnswer(b, codec)
		report := func(b *testing.B) {
			b.ReportAllocs()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchmarkRecords, "ns/record")
		}
		for _, q := range queries {
			b.Run(name+"/"+q.name, func(b *testing.B) {
				sink := &discard{}
				p := kafka.NewParser(q.fields, kafka.Config{}, scan.Bounds{}, sink)
				defer p.Close()
				for b.Loop() {
					if _, err := p.Parse(in, 0, 1<<40, nil); err != nil {
						b.Fatal(err)
					}
				}
				if sink.rows != b.N*benchmarkRecords {
					b.Fatalf("%d rows", sink.rows)
				}
				report(b)
			})
		}
		b.Run(name+"/franz-go", func(b *testing.B) {
			dec := kgo.DefaultDecompressor()
			for b.Loop() {
				part := &kmsg.FetchResponseTopicPartition{Partition: 3, RecordBatches: in}
				got, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "t", Partition: 3}, part, dec, nil)
				if len(got.Records) != benchmarkRecords {
					b.Fatal(got.Err)
				}
			}
			report(b)
		})
	}
}

func TestParsingAllocatesNothingPerRecord(t *testing.T) {
	for codec, name := range testkit.CodecNames {
		in := benchmarkAnswer(t, codec)
		p := kafka.NewParser([]scan.Field{scan.Key, scan.Value, scan.Topic, scan.Offset, scan.Timestamp}, kafka.Config{}, scan.Bounds{}, &discard{})
		defer p.Close()
		n := testing.AllocsPerRun(20, func() {
			if _, err := p.Parse(in, 0, 1<<40, nil); err != nil {
				t.Fatal(err)
			}
		})
		if n > 200 { // a few per batch, of the decoders; more under the race detector
			t.Errorf("%s: %v allocations for %d records", name, n, benchmarkRecords)
		}
	}
}
