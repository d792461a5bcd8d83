package testkit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Codecs are the compression codecs by the number that batches name them by.
var Codecs = []kgo.CompressionCodec{
	kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
}

// CodecNames are the names of Codecs.
var CodecNames = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// Batch describes a record batch to encode. Records need OffsetDelta ascending from what the batch's begin is; everything else is free.
type Batch struct {
	First int64
	// Last is the last offset, where it is not that of the last record.
	Last      int64
	Codec     int
	Attrs     int16 // beside the codec
	Producer  int64
	BaseTime  int64
	MaxTime   int64
	Records   []kmsg.Record
	Compress  func([]byte) []byte // instead of Codec's own
	NumOffset int32               // added to the number of records that the header claims
}

// Encode gives the bytes of b as a broker would send them.
func (b Batch) Encode(t testing.TB) []byte {
	t.Helper()
	var raw []byte
	last := b.Last
	for _, r := range b.Records {
		r.Length = 0
		body := r.AppendTo(nil)[1:] // without the length, here one byte of 0
		raw = binary.AppendVarint(raw, int64(len(body)))
		raw = append(raw, body...)
		last = max(last, b.First+int64(r.OffsetDelta))
	}
	switch {
	case b.Compress != nil:
		raw = b.Compress(raw)
	case b.Codec != 0:
		raw = Compress(t, b.Codec, raw)
	}
	rb := kmsg.RecordBatch{
		FirstOffset: b.First, Length: int32(49 + len(raw)), Magic: 2, Attributes: b.Attrs | int16(b.Codec),
		LastOffsetDelta: int32(last - b.First), FirstTimestamp: b.BaseTime, MaxTimestamp: b.MaxTime, ProducerID: b.Producer,
		NumRecords: int32(len(b.Records)) + b.NumOffset, Records: raw,
	}
	out := rb.AppendTo(nil)
	return Seal(out)
}

// Seal sets the checksum of an encoded batch to what its bytes are now.
func Seal(batch []byte) []byte {
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], crc32.MakeTable(crc32.Castagnoli)))
	return batch
}

// Compress compresses raw as a producer would.
func Compress(t testing.TB, codec int, raw []byte) []byte {
	t.Helper()
	c, err := kgo.DefaultCompressor(Codecs[codec])
	if err != nil {
		t.Fatal(err)
	}
	if c == nil {
		return raw
	}
	out, used := c.Compress(new(bytes.Buffer), raw)
	if int(used) != codec {
		t.Fatalf("compressed with codec %d, not %d", used, codec)
	}
	return bytes.Clone(out)
}

// JSONRecords makes n records with keys and JSON values of about 200 bytes, a millisecond apart, from seed on.
func JSONRecords(n int, seed int64) []kmsg.Record {
	out := make([]kmsg.Record, n)
	for i := range out {
		k := seed*1_000_003 + int64(i)*7919
		out[i] = kmsg.Record{
			OffsetDelta: int32(i), TimestampDelta64: int64(i),
			Key: fmt.Appendf(nil, "user-%06d", k%100_000),
			Value: fmt.Appendf(nil, `{"id":%d,"user":"user-%06d","country":"%c%c","amount":%d.%02d,"items":[%d,%d,%d],"note":"%x","ok":%t}`,
				k, k%100_000, 'A'+k%26, 'A'+k/26%26, k%10_000, k%100, k%7, k%11, k%13, k*0x9e3779b97f4a7c, k%2 == 0),
		}
	}
	return out
}
