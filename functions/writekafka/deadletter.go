package writekafka

import (
	"context"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/kafka"
	"millrace/internal/sqlerr"
)

// deadLetters takes the rows that cannot be written: each becomes an object in a topic of their own, with what is wrong with it, by the names that Managed I/O has
// for these: {"error_message": "…", "failed_row": {…}}. It is written as the rows are, so of a transaction both are there or neither.
type deadLetters struct {
	row     *objectEncoder
	message kafka.Outgoing
	bytes   []byte
	// most bounds a record.
	most int
	// rows is how many there were, first what was wrong with the first.
	rows  int64
	first string
}

func newDeadLetters(p *Plan) *deadLetters {
	all := make([]int, len(p.fields))
	for i := range all {
		all[i] = i
	}
	return &deadLetters{
		row: newObject(p.fields, all, false), most: int(p.args.Producer.BatchBytes),
		message: kafka.Outgoing{Topic: p.args.ErrorTopic, Partition: kafka.AnyPartition, Timestamp: -1},
	}
}

// envelopeBytes is what Kafka adds to the bytes of a record at most.
const envelopeBytes = 256

// send hands over what is left of row i of b, which is number row.
func (d *deadLetters) send(ctx context.Context, to *kafka.Producer, b *column.Batch, i int, row int64, wrong *sqlerr.Error) error {
	if d.rows++; d.first == "" {
		d.first = wrong.Msg
	}
	dst := append(d.bytes[:0], `{"error_message":`...)
	dst = convert.AppendJSONString(dst, []byte(wrong.Msg))
	dst = append(dst, `,"failed_row":`...)
	at := len(dst)
	dst, _, err := d.row.append(dst, b, i)
	if err != nil {
		return err
	}
	if len(dst)+envelopeBytes > d.most { // a row may be too large for this topic, too: then what was wrong with it is left
		dst = append(dst[:at], "null"...)
	}
	d.bytes = append(dst, '}')
	d.message.Value, d.message.Row = d.bytes, row
	return to.Send(ctx, &d.message)
}
