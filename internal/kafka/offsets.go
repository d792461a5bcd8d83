package kafka

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/sqlerr"
)

// ListOffsets' special timestamps.
const (
	askLatest   = -1
	askEarliest = -2
	askNewest   = -3 // the record with the greatest timestamp, from version 7 on
)

// offsets fills log start, high watermark and last stable offset of every partition. The last stable offset is asked for after the high watermark, so
// that one below the other means an open transaction and not that records came between two questions. An end may be that of a newer leader than metadata,
// which comes from any broker, named: then the epoch is that of the leader that told the end, for no record below it has a newer one.
func (s *Snapshot) offsets(ctx context.Context, cl *client) error {
	ask := func(iso Isolation, at int64, set func(*PartitionState, int64)) error {
		l := s.list(iso, func(*TopicState, *PartitionState) (int64, bool) { return at, true })
		return l.run(ctx, cl, func(t *target, o listed) error {
			set(t.part, o.offset)
			if at == askLatest && o.epoch > t.part.LeaderEpoch {
				t.part.Leader, t.part.LeaderEpoch = t.leader, o.epoch
			}
			return nil
		})
	}
	var (
		wg    sync.WaitGroup
		start error
	)
	wg.Go(func() { start = ask(ReadUncommitted, askEarliest, func(p *PartitionState, o int64) { p.LogStart = o }) })
	end := ask(ReadUncommitted, askLatest, func(p *PartitionState, o int64) { p.HighWatermark = o })
	if end == nil {
		end = ask(ReadCommitted, askLatest, func(p *PartitionState, o int64) { p.LastStable = o })
	}
	wg.Wait()
	if err := cmp.Or(end, start); err != nil {
		return err
	}
	// The answers are of three moments. What follows is what any one moment has.
	for t := range s.Topics {
		for p := range s.Topics[t].Partitions {
			st := &s.Topics[t].Partitions[p]
			st.HighWatermark = max(st.HighWatermark, st.LastStable)
			st.LogStart = min(st.LogStart, st.HighWatermark)
			st.LastStable = max(st.LastStable, st.LogStart)
		}
	}
	return nil
}

// target is a partition that an offset is wanted of.
type target struct {
	topic     *TopicState
	part      *PartitionState
	leader    int32
	timestamp int64
}

// listed is the answer for one partition: offset and timestamp are -1 when no record qualifies.
type listed struct {
	offset, timestamp int64
	// epoch is that of the record at offset or, for the end of the log, that of the leader; -1 where brokers know none.
	epoch int32
	// version is that of the answer.
	version int16
	// noTimestamps means that the partition's records are of a format without them.
	noTimestamps bool
}

// listing is a look-up of offsets of many partitions: one request per leader, again for partitions whose leader moved.
type listing struct {
	cluster *Cluster
	iso     Isolation
	todo    []target
}

// list prepares a look-up for the partitions for which at gives a timestamp.
func (s *Snapshot) list(iso Isolation, at func(*TopicState, *PartitionState) (int64, bool)) *listing {
	l := &listing{cluster: s.cluster, iso: iso}
	for ti := range s.Topics {
		t := &s.Topics[ti]
		for pi := range t.Partitions {
			p := &t.Partitions[pi]
			if ts, ok := at(t, p); ok {
				l.todo = append(l.todo, target{t, p, p.Leader, ts})
			}
		}
	}
	return l
}

// run asks until every target has an answer, an error is final, or ctx ends. take is called from one goroutine at a time.
func (l *listing) run(ctx context.Context, cl *client, take func(*target, listed) error) error {
	wait := newBackoff()
	for {
		again, cause, err := l.round(ctx, cl, take)
		if err != nil || len(again) == 0 {
			return err
		}
		l.todo = again
		if e := l.cluster.permanent(cause); e != nil {
			return e
		}
		if wait.sleep(ctx) != nil {
			if canceled(ctx) {
				return context.Cause(ctx)
			}
			t := &again[0]
			return sqlerr.New(sqlerr.KafkaUnreachable, "offsets of partition %d of topic '%s' could not be had within %v: %w",
				t.part.Partition, t.topic.Name, l.cluster.cfg.ConnectTimeout, cause)
		}
		l.follow(ctx, cl)
	}
}

// round sends one request to each leader. again are the targets without a final answer, and cause is why.
func (l *listing) round(ctx context.Context, cl *client, take func(*target, listed) error) (again []target, cause, failed error) {
	byLeader := map[int32][]target{}
	for _, t := range l.todo {
		byLeader[t.leader] = append(byLeader[t.leader], t)
	}
	var (
		mu sync.Mutex // guards the results and take
		wg sync.WaitGroup
	)
	for leader, targets := range byLeader {
		wg.Go(func() {
			resp, err := l.ask(ctx, cl, leader, targets)
			mu.Lock()
			defer mu.Unlock()
			answered := map[string]map[int32]*kmsg.ListOffsetsResponseTopicPartition{}
			if err == nil {
				for i := range resp.Topics {
					rt := &resp.Topics[i]
					if answered[rt.Topic] == nil {
						answered[rt.Topic] = map[int32]*kmsg.ListOffsetsResponseTopicPartition{}
					}
					for j := range rt.Partitions {
						answered[rt.Topic][rt.Partitions[j].Partition] = &rt.Partitions[j]
					}
				}
			}
			for i := range targets {
				t := &targets[i]
				var again1 error
				switch p := answered[t.topic.Name][t.part.Partition]; {
				case err != nil:
					again1 = err
				case p == nil:
					again1 = errors.New("the broker's answer leaves the partition out")
				default:
					var o listed
					if o, again1, failed = judge(p, t, failed); again1 == nil && failed == nil {
						o.version = resp.Version
						failed = take(t, o)
					}
				}
				if again1 != nil {
					again, cause = append(again, *t), again1
				}
			}
		})
	}
	wg.Wait()
	return again, cause, failed
}

// judge reads the answer for one partition: a result, an error that may pass (later), or a final one. A final error that is already known stays.
func judge(p *kmsg.ListOffsetsResponseTopicPartition, t *target, failed error) (o listed, later, _ error) {
	err := kerr.ErrorForCode(p.ErrorCode)
	switch {
	case failed != nil:
		return o, nil, failed
	case err == nil:
		o = listed{offset: p.Offset, timestamp: p.Timestamp, epoch: p.LeaderEpoch}
		if len(p.OldStyleOffsets) > 0 { // brokers before 0.10.1
			o.offset = p.OldStyleOffsets[0]
		}
		return o, nil, nil
	case errors.Is(err, kerr.UnsupportedForMessageFormat):
		return listed{offset: -1, timestamp: -1, epoch: -1, noTimestamps: true}, nil, nil
	}
	switch classify(p.ErrorCode) {
	case codeTransient, codeMissing:
		return o, err, nil
	case codeDenied:
		return o, nil, topicNotAuthorized(t.topic.Name, "DESCRIBE")
	default:
		return o, nil, sqlerr.New(sqlerr.KafkaFetchFailed, "offsets of partition %d of topic '%s' cannot be had: %w", t.part.Partition, t.topic.Name, err)
	}
}

func (l *listing) ask(ctx context.Context, cl *client, leader int32, targets []target) (*kmsg.ListOffsetsResponse, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	req.IsolationLevel = int8(l.iso)
	req.TimeoutMillis = int32(l.cluster.cfg.ConnectTimeout.Milliseconds())
	for _, t := range targets { // they are grouped by topic
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != t.topic.Name {
			rt := kmsg.NewListOffsetsRequestTopic()
			rt.Topic = t.topic.Name
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition = t.part.Partition
		rp.CurrentLeaderEpoch = -1
		rp.Timestamp = t.timestamp
		rp.MaxNumOffsets = 1
		rt := &req.Topics[len(req.Topics)-1]
		rt.Partitions = append(rt.Partitions, rp)
	}
	resp, err := cl.kgo.Broker(int(leader)).Request(ctx, req)
	if err != nil {
		return nil, err
	}
	return resp.(*kmsg.ListOffsetsResponse), nil
}

// follow looks up who leads the targets now. When that fails, the next round does too, and ctx ends it.
func (l *listing) follow(ctx context.Context, cl *client) {
	var names []string
	for _, t := range l.todo {
		names = append(names, t.topic.Name)
	}
	slices.Sort(names)
	now, err := l.cluster.look(ctx, cl, slices.Compact(names)...)
	if err != nil {
		return
	}
	for i := range l.todo {
		t := &l.todo[i]
		if at, ok := now[t.topic.Name].leaders[t.part.Partition]; ok {
			t.leader = at.id
		}
	}
}

// permanent gives the error for a failed request when trying again cannot help: an address that is refused, a certificate that is not accepted, a
// password that is wrong. Else nil.
func (c *Cluster) permanent(err error) error {
	var ke *kerr.Error
	if err == nil || errors.As(err, &ke) && classify(ke.Code) == codeTransient {
		return nil
	}
	if e := refusedLogin(err); e != nil {
		return e
	}
	switch e := c.cfg.connectError("", err, false); e.Kind {
	case sqlerr.ServerGone, sqlerr.KafkaHostRefused, sqlerr.KafkaTLS, sqlerr.KafkaNotAuthorized:
		return e
	case sqlerr.KafkaAuth:
		if errors.As(err, &ke) || errors.As(err, new(*dialError)) { // not a mere EOF, which a restarting broker gives too
			return e
		}
	}
	return nil
}
