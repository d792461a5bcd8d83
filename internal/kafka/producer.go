package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/sqlerr"
)

// Producer writes records to topics. It has connections of its own. Send, Flush, Begin, Commit and Abort are called by one goroutine, one at a time; Close
// may come from any, once nothing else is called any more.
//
// A record that cannot be written is found out later than it was sent: the first such error is given by the next Send and by Flush, names the row, and stays
// until Abort.
type Producer struct {
	cluster *Cluster
	opts    ProducerOptions
	client  *client

	// Topics that were met, with the number of their partitions.
	topics map[string]int

	// slab and arena are memory that records sent next are put in. Neither is reused: the garbage collector has it when the last record is acknowledged.
	slab  *slab
	arena []byte

	delivered atomic.Int64
	// batches, bytes and compressed are of what was acknowledged.
	batches, bytes, compressed atomic.Int64
	failed                     atomic.Bool
	mu                         sync.Mutex
	err                        error // of the least row that failed
	row                        int64

	// The watch looks whether records that wait are acknowledged.
	stop, stopped chan struct{}
	closing       sync.Once

	// left says that an Abort goes on behind its caller and will close the producer.
	left bool
}

// Outgoing is a record to be written. What its fields refer to may be reused once Send has returned.
type Outgoing struct {
	Topic string
	// Key and Value are nil for none.
	Key, Value []byte
	Headers    []Header
	// Partition is AnyPartition for the partitioner to choose.
	Partition int32
	// Timestamp is in milliseconds since 1970, negative for now.
	Timestamp int64
	// Row is what errors call the record by.
	Row int64
}

// Header is a header of a record. Value is nil for none.
type Header struct {
	Key   string
	Value []byte
}

// slab is a run of records that share the function that is told of their fate.
type slab struct {
	p       *Producer
	used    int
	records [slabSize]kgo.Record
	rows    [slabSize]int64
	done    func(*kgo.Record, error)
}

const (
	slabSize  = 128
	arenaSize = 64 << 10
)

// NewProducer makes a producer and connects it. A transactional one first ends what a producer with the same id has left open.
func (c *Cluster) NewProducer(ctx context.Context, o ProducerOptions) (*Producer, error) {
	o = o.withDefaults()
	opts, err := o.client()
	if err != nil {
		return nil, err
	}
	p := &Producer{cluster: c, opts: o, topics: map[string]int{}, stop: make(chan struct{}), stopped: make(chan struct{})}
	c.group.mu.Lock()
	p.client, err = c.group.open(c.cfg.Brokers, append(opts, kgo.WithHooks(batchHook{p}))...)
	c.group.mu.Unlock()
	if err != nil {
		return nil, err
	}
	go p.watch()
	if err := p.connect(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Producer) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.cluster.cfg.ConnectTimeout)
	defer cancel()
	if err := p.client.connect(ctx, p.cluster.cfg, true); err != nil {
		return err
	}
	if p.opts.Unsafe || p.opts.Acks != AcksAll {
		return nil
	}
	if _, _, err := p.client.kgo.ProducerID(ctx); err != nil {
		return p.initError(ctx, err)
	}
	return nil
}

// Close ends the producer: what was not flushed may or may not be written, a transaction that is open is left to the broker's time-out.
func (p *Producer) Close() {
	if !p.left {
		p.shut()
	}
}

func (p *Producer) shut() {
	p.closing.Do(func() { close(p.stop) })
	<-p.stopped
	p.client.kgo.Close()
}

// watch ends the client when nothing is acknowledged for too long. (The client's own time-out for records goes by their timestamps, which may be of any time.)
func (p *Producer) watch() {
	defer close(p.stopped)
	tick := time.NewTicker(min(p.opts.DeliveryTimeout/4, time.Second))
	defer tick.Stop()
	seen, since := int64(-1), time.Now()
	for {
		select {
		case <-p.stop:
			return
		case now := <-tick.C:
			n := p.delivered.Load()
			if n != seen || p.client.kgo.BufferedProduceRecords() == 0 {
				seen, since = n, now
			}
			if now.Sub(since) >= p.opts.DeliveryTimeout {
				p.fail(-1, p.silentError())
				p.client.kgo.Close()
				return
			}
		}
	}
}

// Delivered is how many records were acknowledged.
func (p *Producer) Delivered() int64 { return p.delivered.Load() }

// Acknowledged is what brokers have taken.
type Acknowledged struct {
	// Batches are record batches; Bytes are those of their records, and Compressed what was sent for them.
	Batches, Bytes, Compressed int64
}

// Acknowledged is what was acknowledged so far.
func (p *Producer) Acknowledged() Acknowledged {
	return Acknowledged{p.batches.Load(), p.bytes.Load(), p.compressed.Load()}
}

// batchHook counts the batches of a producer.
type batchHook struct{ p *Producer }

var _ kgo.HookProduceBatchWritten = batchHook{}

// OnProduceBatchWritten implements kgo.HookProduceBatchWritten.
func (h batchHook) OnProduceBatchWritten(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.ProduceBatchMetrics) {
	h.p.batches.Add(1)
	h.p.bytes.Add(int64(m.UncompressedBytes))
	h.p.compressed.Add(int64(m.CompressedBytes))
}

// Partitions gives the number of partitions of a topic, which must exist. It is asked for once, and again with fresh.
func (p *Producer) Partitions(ctx context.Context, topic string, fresh bool) (int, error) {
	if n, ok := p.topics[topic]; ok && !fresh {
		return n, nil
	}
	n, err := p.cluster.Partitions(ctx, topic)
	if err == nil {
		p.topics[topic] = n
	}
	return n, err
}

// Send hands a record over, and waits while too much is on its way. Its error may be that of a record that was sent before.
func (p *Producer) Send(ctx context.Context, m *Outgoing) error {
	if p.failed.Load() {
		return p.failure()
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if p.slab == nil || p.slab.used == slabSize {
		p.slab = &slab{p: p}
		p.slab.done = p.slab.finished
	}
	s := p.slab
	r := &s.records[s.used]
	s.rows[s.used] = m.Row
	s.used++
	r.Topic, r.Partition = m.Topic, m.Partition
	r.Key, r.Value = p.keep(m.Key), p.keep(m.Value)
	if m.Timestamp >= 0 {
		r.Timestamp = time.UnixMilli(m.Timestamp)
	}
	if len(m.Headers) > 0 {
		r.Headers = make([]kgo.RecordHeader, len(m.Headers))
		for i, h := range m.Headers {
			r.Headers[i] = kgo.RecordHeader{Key: h.Key, Value: p.keep(h.Value)}
		}
	}
	p.client.kgo.Produce(ctx, r, s.done)
	return nil
}

// keep copies bytes into the arena. Nothing stays what it is, nil or not.
func (p *Producer) keep(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	if len(b) > cap(p.arena)-len(p.arena) {
		p.arena = make([]byte, 0, max(arenaSize, len(b)))
	}
	at := len(p.arena)
	p.arena = append(p.arena, b...)
	return p.arena[at:len(p.arena):len(p.arena)]
}

// finished is told by the client what became of a record.
func (s *slab) finished(r *kgo.Record, err error) {
	if err == nil {
		s.p.delivered.Add(1)
		return
	}
	for i := range s.records[:] {
		if &s.records[i] == r {
			s.p.fail(s.rows[i], s.p.recordError(r, s.rows[i], err))
			return
		}
	}
}

// fail notes the error of a row.
func (p *Producer) fail(row int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// What fails because the statement or the client is ending tells nothing about the row, and may come first.
	aborted := errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrAborting) || errors.Is(err, kgo.ErrClientClosed)
	if p.err == nil || !aborted && row < p.row {
		p.err, p.row = err, row
	}
	p.failed.Store(true)
}

func (p *Producer) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Flush waits until every record that was sent is acknowledged or has failed.
func (p *Producer) Flush(ctx context.Context) error {
	p.slab, p.arena = nil, nil
	if err := p.client.kgo.Flush(ctx); err != nil {
		return context.Cause(ctx)
	}
	if p.failed.Load() {
		return p.failure()
	}
	return nil
}

// Partitions gives the number of partitions of a topic, which must exist.
func (c *Cluster) Partitions(ctx context.Context, topic string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	cl, err := c.group.controlClient()
	if err != nil {
		return 0, err
	}
	defer c.group.release(cl)
	if err := cl.connect(ctx, c.cfg, true); err != nil {
		return 0, err
	}
	sel := Selection{Topics: []string{topic}}
	wait := newBackoff()
	giveUp := time.Now().Add(missingTopicWait)
	for {
		now, err := c.look(ctx, cl, topic)
		if err != nil {
			return 0, c.cfg.requestError(ctx, err)
		}
		t, ok := now[topic]
		var pending error
		switch class := classify(t.code); {
		case !ok, class == codeMissing, class == codeIdentity:
			pending = topicNotFound(topic)
		case class == codeDenied:
			return 0, topicNotAuthorized(topic, "DESCRIBE")
		case t.code == 0 || class != codeTransient && t.partitions > 0:
			return int(t.partitions), nil
		case class == codeTransient:
			pending = noLeader(topic, -1, nil)
		default:
			return 0, sqlerr.New(sqlerr.KafkaTopicNotFound, "'%s' is not a topic name that Kafka allows", topic).WithCause(fmt.Errorf("error code %d", t.code))
		}
		if sqlerr.HasKind(pending, sqlerr.KafkaTopicNotFound) && time.Now().After(giveUp) {
			return 0, c.withNearest(ctx, cl, sel, pending)
		}
		if err := wait.sleep(ctx); err != nil {
			if canceled(ctx) {
				return 0, context.Cause(ctx)
			}
			return 0, pending
		}
	}
}
