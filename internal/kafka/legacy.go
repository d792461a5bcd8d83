package kafka

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/scan"
)

// parseLegacy gathers the records of a message of magic 0 or 1, or of the compressed set within it. Logs of brokers before 0.11 may still hold some;
// speed does not matter here, so franz-go reads them and their bytes are copied.
func (p *parser) parseLegacy(ctx context.Context, at place, frame []byte, from, last, to int64) error {
	p.stats.batches++
	part := &kmsg.FetchResponseTopicPartition{Partition: at.partition, RecordBatches: frame}
	opts := kgo.ProcessFetchPartitionOpts{Offset: from, DisableCRCValidation: p.skipCRC, Partition: at.partition}
	got, next := kgo.ProcessFetchPartition(opts, part, legacyCodecs{&p.codecs}, nil)
	if got.Err != nil {
		return &corruptError{from, got.Err}
	}
	if next <= last {
		return corrupt(last, "a message of an old format cannot be read")
	}
	for _, r := range got.Records {
		if r.Offset < from || r.Offset >= to {
			continue
		}
		if err := p.reserve(ctx, len(r.Key)+len(r.Value)); err != nil {
			return err
		}
		p.legacyRecord(at, r)
	}
	return nil
}

func (p *parser) legacyRecord(at place, r *kgo.Record) {
	row := p.n
	copied := func(b []byte) (beg, end uint32) {
		beg = uint32(len(p.scratch))
		p.scratch = append(p.scratch, b...)
		return beg, uint32(len(p.scratch))
	}
	for _, f := range p.fields {
		switch f {
		case scan.Key:
			p.key.beg[row], p.key.end[row] = copied(r.Key)
			if r.Key == nil {
				p.key.nulls.set(row)
			}
		case scan.Value:
			p.value.beg[row], p.value.end[row] = copied(r.Value)
			if r.Value == nil {
				p.value.nulls.set(row)
			}
		case scan.KeyLength:
			p.keyLen.x[row] = int64(len(r.Key))
			if r.Key == nil {
				p.keyLen.nulls.set(row)
			}
		case scan.ValueLength:
			p.valueLen.x[row] = int64(len(r.Value))
			if r.Value == nil {
				p.valueLen.nulls.set(row)
			}
		case scan.Offset:
			p.off.x[row] = r.Offset
		case scan.Timestamp:
			ms := int64(-1)
			if r.Attrs.TimestampType() != noTimestamp {
				ms = r.Timestamp.UnixMilli()
			}
			p.setTime(row, ms)
		case scan.Headers:
			p.headers.none(row)
		case scan.KeySchemaID:
			p.keyID.none(row)
		case scan.ValueSchemaID:
			p.valueID.none(row)
		}
	}
	p.data = p.scratch
	p.fill(row, row+1, at, int64(r.Attrs.TimestampType()))
	p.n++
}

// isTooLarge reports whether err is about the limit of decompression.
func isTooLarge(err error) bool {
	var own *tooLargeError
	var theirs *kgo.ErrDecompressTooLarge
	return errors.As(err, &own) || errors.As(err, &theirs)
}
