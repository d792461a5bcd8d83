package kafka

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// hasID reports whether id is one: brokers before 2.8 know none.
func hasID(id [16]byte) bool { return id != [16]byte{} }

// ask is one partition of a fetch request.
type ask struct {
	*partition
	offset int64
	bytes  int32
}

// call is a fetch on its way, or its answer once done is closed.
type call struct {
	asks   []ask
	broker int32
	done   chan struct{}

	resp *kmsg.FetchResponse
	err  error
	// took is the time from request to answer.
	took time.Duration
}

// fetch sends a request for asks, which have one leader. The goroutine that waits for the answer ends when the answer or ctx's end comes; whoever
// calls fetch waits for done.
func (l *lane) fetch(ctx context.Context, asks ...ask) *call {
	c := &call{asks: asks, broker: asks[0].source(), done: make(chan struct{})}
	req := l.request(asks)
	l.src.stats.requests.Add(1)
	go func() {
		defer close(c.done)
		ctx, cancel := context.WithTimeout(ctx, l.src.cfg.FetchMaxWait+l.src.cfg.RequestTimeout)
		defer cancel()
		sent := time.Now()
		resp, err := l.client.kgo.Broker(int(c.broker)).Request(ctx, req)
		c.took = time.Since(sent)
		if err != nil {
			c.err = err
			return
		}
		c.resp = resp.(*kmsg.FetchResponse)
	}()
	return c
}

func (l *lane) request(asks []ask) *kmsg.FetchRequest {
	cfg := &l.src.cfg
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32(cfg.FetchMaxWait / time.Millisecond)
	req.MinBytes = cfg.FetchMinBytes
	req.IsolationLevel = int8(l.src.spec.Isolation)
	req.SessionID, req.SessionEpoch = 0, -1 // no fetch session
	if len(asks) == 1 && asks[0].wantsNear() {
		req.Rack = cfg.Rack // the leader may then name a follower in it
	}
	req.Topics = make([]kmsg.FetchRequestTopic, 0, 1)
	// What bounds an answer is the sum of its partitions' bounds. The bound of the whole is left wide: a broker that reaches it in the midst of a
	// partition may leave out which transactions were aborted (kfake does).
	req.MaxBytes = math.MaxInt32
	var last *topicRef
	for _, a := range asks {
		if a.topic != last {
			last = a.topic
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = last.name, last.id // by id from version 13 on, by name before
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition = a.number
		p.CurrentLeaderEpoch = a.leads().epoch
		p.FetchOffset = a.offset
		p.PartitionMaxBytes = a.bytes
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, p)
	}
	return req
}

var errLeftOut = errors.New("the broker's answer leaves the partition out")

// answer is the part of a call's answer that is for one ask.
func (c *call) answer(a *ask) (*kmsg.FetchResponseTopicPartition, error) {
	if c.err != nil {
		return nil, c.err
	}
	for i := range c.resp.Topics {
		t := &c.resp.Topics[i]
		if t.Topic != a.topic.name && (!hasID(t.TopicID) || t.TopicID != a.topic.id) {
			continue
		}
		for j := range t.Partitions {
			if t.Partitions[j].Partition == a.number {
				return &t.Partitions[j], nil
			}
		}
	}
	return nil, errLeftOut
}

// pace sizes the fetches of a lane. It starts small and doubles as long as bytes then arrive clearly faster. Over a link with latency they do up to
// megabytes; a broker nearby may spend more on assembling a large answer than a round trip costs.
type pace struct {
	size  int32
	fixed bool // the user gave the size
	cap   int32

	// got and took add up full answers of the present size. best is the rate, in bytes a second, of half the size, 0 when it was not tried.
	got     int64
	took    time.Duration
	answers int
	best    float64
	settled bool
}

const (
	// paceAnswers is the number of full answers that a size is judged by.
	paceAnswers = 4
	// paceGain is how much faster bytes must come for the larger size to be kept.
	paceGain = 1.15
)

// newPace is the pace of a lane whose rows are limited, -1 for all, and that may hold memory bytes, 0 for any number: an answer that is parsed, what it
// decompresses to, and another one on its way.
func newPace(cfg *Config, limit, memory int64) pace {
	if n := cfg.fetchBytes(); n > 0 {
		return pace{size: n, fixed: true, cap: n}
	}
	most := int32(maxFetchBytes)
	if memory > 0 {
		most = int32(min(max(memory/4, firstFetchBytes), maxFetchBytes))
	}
	if limit >= 0 && limit <= smallLimit {
		return pace{size: firstFetchBytesLimit, cap: most}
	}
	return pace{size: firstFetchBytes, cap: most}
}

// fetchBytes is how much the user lets a fetch of one partition bring, 0 when that is left to us.
func (c *Config) fetchBytes() int32 {
	if c.FetchMaxBytes > 0 && (c.PartitionMaxBytes <= 0 || c.FetchMaxBytes < c.PartitionMaxBytes) {
		return c.FetchMaxBytes
	}
	return max(c.PartitionMaxBytes, 0)
}

// togetherBytes is the bound for each of n small tasks that are asked for at once.
func (c *Config) togetherBytes(n int, limit int64) int32 {
	all := int32(maxFetchBytes)
	if limit >= 0 && limit <= smallLimit {
		all = firstFetchBytesLimit
	}
	if c.FetchMaxBytes > 0 {
		all = min(all, c.FetchMaxBytes)
	}
	each := min(max(all/int32(n), 1), firstFetchBytes)
	if c.PartitionMaxBytes > 0 {
		each = min(each, c.PartitionMaxBytes)
	}
	return each
}

// observe notes an answer and how long it took to come. Answers that were cut short by the end of a range say nothing about the size.
func (p *pace) observe(got int, took time.Duration) {
	if p.fixed || p.settled || got <= int(p.size)/2 {
		return
	}
	if p.size < firstFetchBytes { // small only for the first rows of a LIMIT
		p.size = min(2*p.size, p.cap)
		return
	}
	p.got += int64(got)
	p.took += took
	if p.answers++; p.answers < paceAnswers {
		return
	}
	rate := float64(p.got) / max(p.took.Seconds(), 1e-9)
	p.got, p.took, p.answers = 0, 0, 0
	switch {
	case p.best > 0 && rate < paceGain*p.best:
		p.size, p.settled = p.size/2, true
	case p.size >= p.cap:
		p.settled = true
	default:
		p.best, p.size = rate, min(2*p.size, p.cap)
	}
}

// grow makes room for a batch that does not fit; it reports false when it cannot be made.
func (p *pace) grow() bool {
	const most = 1 << 30
	if p.size >= most {
		return false
	}
	p.size = min(2*p.size, most)
	p.cap = max(p.cap, p.size)
	return true
}

// next is the size for a fetch with left offsets to go, of which each took perOffset bytes so far. While that is not known it is guessed, so that a short
// range does not bring what lies behind it.
func (p *pace) next(left int64, perOffset float64) int32 {
	if p.fixed {
		return p.size
	}
	const (
		least = 16 << 10
		guess = 100
	)
	if perOffset <= 0 {
		perOffset = guess
	}
	want := float64(left)*perOffset*1.25 + least
	if want < float64(p.size) {
		return int32(want)
	}
	return p.size
}
