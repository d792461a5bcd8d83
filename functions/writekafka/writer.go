package writekafka

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"millrace/functions/readkafka"
	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/kafka"
	"millrace/internal/memory"
	"millrace/internal/sqlerr"
)

// Writer writes batches of rows. It belongs to one goroutine.
type Writer struct {
	plan     *Plan
	producer *kafka.Producer
	message  kafka.Outgoing
	// key and value make the bytes of a record, in memory that the next row takes again; key is nil for none.
	key, value           encoder
	keyBytes, valueBytes []byte
	// texts are columns whose text has to be UTF-8.
	texts []int
	// topic is the name of the last row's topic, of which partitions is the number: of a column, texts are compared, not made.
	topic      string
	partitions int
	// held is the memory of rows that wait to be acknowledged.
	held memory.Account
	// letters takes rows that cannot be written, nil when they end the write.
	letters *deadLetters
}

// Open connects. The plan's topic must exist.
func (p *Plan) Open(ctx context.Context, env readkafka.Env) (*Writer, error) {
	cluster, err := env.Pool.Cluster(ctx, p.args.Cluster)
	if err != nil {
		return nil, err
	}
	w := &Writer{plan: p, keyBytes: []byte{}, valueBytes: []byte{}} // no bytes are not NULL
	if p.args.Format.valueRegistered() {
		w.value, err = p.registered(ctx, env)
	} else {
		w.value, err = p.valueEncoder()
	}
	if err == nil && p.key >= 0 && p.fields[p.key].Type.Kind != column.Invalid {
		if p.args.Format.keyRegistered() {
			w.key, err = p.registeredKey(ctx, env)
		} else {
			w.key, err = p.plainKey()
		}
	}
	if err != nil {
		return nil, err
	}
	w.texts = p.encodedTexts(w.key, w.value)
	options := p.args.Producer
	if env.Memory != nil {
		if options.BufferBytes, err = w.take(env.Memory(ctx), options.BufferBytes); err != nil {
			return nil, err
		}
	}
	producer, err := cluster.NewProducer(ctx, options)
	if err != nil {
		w.held.Close()
		return nil, err
	}
	w.producer = producer
	if p.args.Topic != "" {
		if err := w.to(ctx, []byte(p.args.Topic)); err != nil {
			w.Close()
			return nil, err
		}
	}
	if p.args.ErrorTopic != "" {
		if _, err := producer.Partitions(ctx, p.args.ErrorTopic, false); err != nil {
			w.Close()
			return nil, err
		}
		w.letters = newDeadLetters(p)
	}
	return w, nil
}

// leastBuffer is what a producer makes do with, unless told otherwise.
const leastBuffer = 1 << 20

// take takes memory for n bytes that wait to be acknowledged, or for fewer where there are not so many and the call does not name the number.
func (w *Writer) take(budget *memory.Budget, n int64) (int64, error) {
	w.held = budget.Account()
	for ask := n; ; ask /= 2 {
		if w.held.Set(ask) {
			return ask, nil
		}
		if w.plan.args.buffered || ask/2 < leastBuffer {
			return 0, sqlerr.New(sqlerr.ScanMemory, "the rows that wait to be acknowledged need %d bytes of memory, more than there are", ask).
				WithHint("run fewer statements at once, lower 'kafka.buffer.memory', or raise --memory-limit")
		}
	}
}

// to makes a topic the one that rows go to.
func (w *Writer) to(ctx context.Context, topic []byte) error {
	if string(topic) == w.topic {
		return nil
	}
	name := string(topic)
	if err := readkafka.CheckTopic(name); err != nil {
		return sqlerr.New(sqlerr.SinkRow, "%w", err)
	}
	n, err := w.producer.Partitions(ctx, name, false)
	if err != nil {
		return err
	}
	w.topic, w.partitions = name, n
	return nil
}

// Restart counts rows anew, for errors to name.
func (w *Writer) Restart() { w.message.Row = 0 }

// TopicOf is the topic that a row of a batch goes to.
func (p *Plan) TopicOf(b *column.Batch, row int) string {
	if p.topic < 0 {
		return p.args.Topic
	}
	if v := &b.Cols[p.topic]; !v.IsNull(row) {
		return string(v.View(row))
	}
	return ""
}

// Written is what a writer has done.
type Written struct {
	// Rows were written where they belong, SetAside to the topic for those that cannot be.
	Rows, SetAside int64
	kafka.Acknowledged
}

// Written tells of the rows that were given to Write, once they are flushed.
func (w *Writer) Written() Written {
	n := Written{Rows: w.message.Row, Acknowledged: w.producer.Acknowledged()}
	if w.letters != nil {
		n.SetAside = w.letters.rows
		n.Rows -= n.SetAside
	}
	return n
}

// Warning tells of rows that went to the topic for those that cannot be written; empty for none.
func (w *Writer) Warning() string {
	if w.letters == nil || w.letters.rows == 0 {
		return ""
	}
	return fmt.Sprintf("rows that cannot be written, now in topic '%s': %d; the first: %s", w.letters.message.Topic, w.letters.rows, w.letters.first)
}

// Delivered is how many rows were acknowledged.
func (w *Writer) Delivered() int64 { return w.producer.Delivered() }

// Write hands the rows of a batch over. An error may be that of an earlier row; after one, nothing but Close makes sense.
func (w *Writer) Write(ctx context.Context, b *column.Batch) error {
	w.value.begin(b)
	if w.key != nil {
		w.key.begin(b)
	}
	for k := range b.Live() {
		i := k
		if b.Sel != nil {
			i = int(b.Sel[k])
		}
		w.message.Row++
		if err := w.row(ctx, b, i); err != nil {
			wrong, ok := sqlerr.As(err)
			if !ok || wrong.Kind != sqlerr.SinkRow || w.letters == nil {
				return err
			}
			if err := w.letters.send(ctx, w.producer, b, i, w.message.Row, wrong); err != nil {
				return err
			}
			continue
		}
		if err := w.producer.Send(ctx, &w.message); err != nil {
			return err
		}
	}
	return nil
}

// Flush waits until every row is acknowledged.
func (w *Writer) Flush(ctx context.Context) error { return w.producer.Flush(ctx) }

// Begin begins the transaction that rows are then written in; of an exactlyOnce writer only, as what follows.
func (w *Writer) Begin() error { return w.producer.Begin() }

// Commit waits for all rows and commits the transaction; it is kafka.Producer.Commit.
func (w *Writer) Commit(ctx context.Context, m *kafka.Mark) (unknown bool, err error) {
	return w.producer.Commit(ctx, m)
}

// AwaitVisible is kafka.Producer.AwaitVisible.
func (w *Writer) AwaitVisible(ctx context.Context) { w.producer.AwaitVisible(ctx) }

// Abort takes back what was written since Begin.
func (w *Writer) Abort(ctx context.Context) error { return w.producer.Abort(ctx) }

// Close ends the connections. What was not flushed may or may not be written.
func (w *Writer) Close() {
	w.producer.Close()
	w.held.Close()
}

// wrong is the error for the present row.
func (w *Writer) wrong(format string, args ...any) error {
	return sqlerr.New(sqlerr.SinkRow, "row %d cannot be written: "+format, append([]any{w.message.Row}, args...)...)
}

// row makes the message of a row.
func (w *Writer) row(ctx context.Context, b *column.Batch, i int) error {
	p, m := w.plan, &w.message
	if p.topic >= 0 {
		v := &b.Cols[p.topic]
		if v.IsNull(i) {
			return w.wrong("its column 'topic' is NULL")
		}
		if err := w.to(ctx, v.View(i)); err != nil {
			if e, ok := sqlerr.As(err); ok && (e.Kind == sqlerr.SinkRow || e.Kind == sqlerr.KafkaTopicNotFound) {
				wrong, _ := sqlerr.As(w.wrong("%s", e.Msg))
				return wrong.WithHint("%s", e.Hint)
			}
			return err
		}
	}
	m.Topic = w.topic
	if err := w.encode(b, i); err != nil {
		return err
	}
	m.Headers = m.Headers[:0]
	if p.headers >= 0 && !b.Cols[p.headers].IsNull(i) {
		if err := w.headers(b.Cols[p.headers].View(i)); err != nil {
			return err
		}
	}
	m.Partition = kafka.AnyPartition
	if p.partition >= 0 && !b.Cols[p.partition].IsNull(i) {
		if err := w.partition(ctx, b.Cols[p.partition].Int[i]); err != nil {
			return err
		}
	}
	m.Timestamp = -1
	if p.timestamp >= 0 && !b.Cols[p.timestamp].IsNull(i) {
		if err := w.timestamp(&b.Cols[p.timestamp], i); err != nil {
			return err
		}
	}
	if w.letters != nil && len(m.Key)+len(m.Value) >= w.letters.most { // without them the producer tells
		return w.wrong("its record of %d bytes is too large for 'kafka.max.request.size'", len(m.Key)+len(m.Value))
	}
	return nil
}

// encode makes key and value.
func (w *Writer) encode(b *column.Batch, i int) (err error) {
	if err := w.checkTexts(b, i); err != nil {
		return err
	}
	m, null := &w.message, true
	m.Key = nil
	if w.key != nil {
		if w.keyBytes, null, err = w.key.append(w.keyBytes[:0], b, i); err != nil {
			return w.blame(err)
		}
		if !null {
			m.Key = w.keyBytes
		}
	}
	if w.valueBytes, null, err = w.value.append(w.valueBytes[:0], b, i); err != nil {
		return w.blame(err)
	}
	m.Value = w.valueBytes
	if null {
		m.Value = nil
	}
	return nil
}

// blame gives an error of an encoder the number of the row.
func (w *Writer) blame(err error) error {
	var wrong wrongRow
	if errors.As(err, &wrong) {
		return w.wrong("%s", string(wrong))
	}
	return err
}

func floor(n, by int64) int64 {
	q := n / by
	if n%by < 0 {
		q--
	}
	return q
}

// timestamp takes the time of a record, in milliseconds since 1970 when it is a number. Text is what drivers send for times, and read as a cast reads it.
func (w *Writer) timestamp(v *column.Vector, i int) error {
	m := &w.message
	switch w.plan.fields[w.plan.timestamp].Type.Kind {
	case column.Timestamp:
		m.Timestamp = floor(v.Int[i], 1000)
	case column.Text:
		micros, _, fault := convert.Timestamp(v.View(i))
		if fault != convert.OK {
			return w.wrong("its column 'timestamp' is %s, expected a time", convert.Quote(v.View(i)))
		}
		m.Timestamp = floor(micros, 1000)
	default:
		m.Timestamp = v.Int[i]
	}
	switch {
	case m.Timestamp < 0:
		return w.wrong("its column 'timestamp' is before 1970, which brokers refuse")
	case m.Timestamp > latestTimestamp:
		return w.wrong("its column 'timestamp' is after 2262-04-11 23:47:16.854, the latest that can be written; a number is in milliseconds")
	}
	return nil
}

// latestTimestamp is the latest time of a record, in milliseconds: the client counts its nanoseconds.
const latestTimestamp = math.MaxInt64 / 1_000_000

// partition checks the partition that a row names. One that does not exist may have been added.
func (w *Writer) partition(ctx context.Context, n int64) error {
	if n >= int64(w.partitions) && n < 1<<31 {
		known, err := w.producer.Partitions(ctx, w.topic, true)
		if err != nil {
			return err
		}
		w.partitions = known
	}
	if n < 0 || n >= int64(w.partitions) {
		return w.wrong("topic '%s' has no partition %d; it has %d partitions", w.topic, n, w.partitions)
	}
	w.message.Partition = int32(n)
	return nil
}

// headers reads what read_kafka shows headers as: [{"key": "k", "value": "v"}, …], where a value that is no text is {"base64": "…"}, or null.
func (w *Writer) headers(text []byte) error {
	var list []struct {
		Key   *string         `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	malformed := func() error {
		return w.wrong("its column 'headers' is %s, expected [{\"key\": \"k\", \"value\": \"v\"}]", convert.Quote(text))
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return malformed()
	}
	for _, h := range list {
		var (
			value  []byte
			plain  *string
			binary struct {
				Base64 *string `json:"base64"`
			}
		)
		switch {
		case h.Key == nil:
			return malformed()
		case len(h.Value) == 0 || string(h.Value) == "null":
		case json.Unmarshal(h.Value, &plain) == nil:
			value = append([]byte{}, *plain...)
		case json.Unmarshal(h.Value, &binary) == nil && binary.Base64 != nil:
			var err error
			if value, err = base64.StdEncoding.DecodeString(*binary.Base64); err != nil {
				return malformed()
			}
		default:
			return malformed()
		}
		w.message.Headers = append(w.message.Headers, kafka.Header{Key: *h.Key, Value: value})
	}
	return nil
}

// Marked is kafka.Producer.Marked.
func (w *Writer) Marked(ctx context.Context, group, topic string) (*kafka.Mark, error) {
	return w.producer.Marked(ctx, group, topic)
}
