package kafka

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// readTogether reads many small tasks of one leader with few requests, so that thousands of partitions do not cost as many round trips. It returns
// the tasks that need more care than a common request can give: an error, a batch that does not fit, an end that only an answer to the partition
// alone can prove. They are to be read alone, from where they are.
func (l *lane) readTogether(ctx context.Context, tasks []*task) (alone []*task, _ error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	todo := slices.Clone(tasks)
	for len(todo) > 0 && !l.src.budget.over() {
		each := l.src.cfg.togetherBytes(len(todo), l.src.req.Limit)
		asks := make([]ask, len(todo))
		for i, t := range todo {
			asks[i] = ask{t.partition, t.next, each}
		}
		c := l.fetch(ctx, asks...)
		if l.await(c, cancel) != nil {
			break // run sees it, too
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if c.err != nil || c.resp.ErrorCode != 0 {
			break // read deals with errors
		}
		var left []*task
		answers := c.byPartition()
		for _, t := range todo {
			p := answers[t.partition]
			if p == nil || p.ErrorCode != 0 {
				alone = append(alone, t)
				continue
			}
			from := t.next
			to, err := position(p.RecordBatches, from)
			if err != nil {
				return nil, l.parseError(t, err)
			}
			if to == from { // the first batch is too large, or nothing is left up to the end
				alone = append(alone, t)
				continue
			}
			l.src.stats.fetched.Add(int64(len(p.RecordBatches)))
			l.src.stats.spanned.Add(to - from)
			t.touch(from)
			end := t.claim(to)
			if err := l.parse(ctx, t, p, from, min(to, end)); err != nil {
				return nil, err
			}
			if to < end {
				left = append(left, t)
			} else {
				l.done(t)
			}
		}
		todo = left
	}
	return append(alone, todo...), nil
}

// byPartition finds the answer for each partition asked for.
func (c *call) byPartition() map[*partition]*kmsg.FetchResponseTopicPartition {
	type key struct {
		topic     string
		partition int32
	}
	answers := map[key]*kmsg.FetchResponseTopicPartition{}
	names := map[[16]byte]string{}
	for _, a := range c.asks {
		if hasID(a.topic.id) {
			names[a.topic.id] = a.topic.name
		}
	}
	for i := range c.resp.Topics {
		t := &c.resp.Topics[i]
		name := t.Topic
		if n, ok := names[t.TopicID]; ok {
			name = n
		}
		for j := range t.Partitions {
			answers[key{name, t.Partitions[j].Partition}] = &t.Partitions[j]
		}
	}
	out := make(map[*partition]*kmsg.FetchResponseTopicPartition, len(c.asks))
	for _, a := range c.asks {
		if p := answers[key{a.topic.name, a.number}]; p != nil {
			out[a.partition] = p
		}
	}
	return out
}
