package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// runFetch is what no reader can beat: it fetches all batches of a topic and looks at nothing but the counts in their headers. What it takes is the broker's time and the
// transfer's, so its ratio to the loop bounds that of any query on this broker.
func runFetch(ctx context.Context, broker, topic string) error {
	start := time.Now()
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	ends, err := adm.ListEndOffsets(ctx, topic)
	if err := cmp.Or(err, ends.Error()); err != nil {
		return err
	}
	topics, err := adm.ListTopics(ctx, topic)
	if err != nil {
		return err
	}
	// As many connections as a query's default: two for each core.
	lanes := make([][]fetchPart, 2*runtime.GOMAXPROCS(0))
	for i, p := range topics[topic].Partitions.Sorted() {
		end, ok := ends.Lookup(topic, p.Partition)
		if !ok {
			return fmt.Errorf("fetch: the end of partition %d is not known", p.Partition)
		}
		lanes[i%len(lanes)] = append(lanes[i%len(lanes)], fetchPart{number: p.Partition, leader: p.Leader, end: end.Offset})
	}
	var (
		wg     sync.WaitGroup
		counts = make([]int, len(lanes))
		failed = make([]error, len(lanes))
	)
	for i, parts := range lanes {
		wg.Go(func() { counts[i], failed[i] = fetchAll(ctx, broker, topic, topics[topic].ID, parts) })
	}
	wg.Wait()
	n := 0
	for i := range lanes {
		if failed[i] != nil {
			return failed[i]
		}
		n += counts[i]
	}
	return json.NewEncoder(os.Stdout).Encode(loopResult{time.Since(start).Seconds(), fmt.Sprint(n)})
}

// fetchPart is a partition to fetch, up to end.
type fetchPart struct {
	number, leader int32
	next, end      int64
}

// fetchAll fetches partitions one after the other over a connection of its own, and counts their records.
func fetchAll(ctx context.Context, broker, topic string, id kadm.TopicID, parts []fetchPart) (int, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	n := 0
	for _, p := range parts {
		for p.next < p.end {
			req := kmsg.NewPtrFetchRequest()
			req.ReplicaID, req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = -1, 500, 1, 1<<30, -1
			rt, rp := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
			rt.Topic, rt.TopicID = topic, id
			rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = p.number, p.next, 1<<20
			rt.Partitions = append(rt.Partitions, rp)
			req.Topics = append(req.Topics, rt)
			resp, err := cl.Broker(int(p.leader)).Request(ctx, req)
			if err != nil {
				return 0, err
			}
			f := resp.(*kmsg.FetchResponse)
			if len(f.Topics) != 1 || len(f.Topics[0].Partitions) != 1 {
				return 0, fmt.Errorf("fetch: the answer for partition %d has no partition: %w", p.number, kerr.ErrorForCode(f.ErrorCode))
			}
			answer := &f.Topics[0].Partitions[0]
			if err := kerr.ErrorForCode(answer.ErrorCode); err != nil {
				return 0, err
			}
			next, records := headers(answer.RecordBatches)
			if next <= p.next {
				return 0, fmt.Errorf("fetch: nothing at offset %d of partition %d", p.next, p.number)
			}
			p.next, n = next, n+records
		}
	}
	return n, nil
}

// headers reads those of the whole batches of an answer: the offset behind the last one, and how many records they say they have.
func headers(b []byte) (next int64, records int) {
	const size, length, lastDelta, count = 61, 8, 23, 57 // of a header, and places in it
	for len(b) >= size {
		end := 12 + int(binary.BigEndian.Uint32(b[length:]))
		if len(b) < end {
			break
		}
		next = int64(binary.BigEndian.Uint64(b)) + int64(binary.BigEndian.Uint32(b[lastDelta:])) + 1
		records += int(binary.BigEndian.Uint32(b[count:]))
		b = b[end:]
	}
	return next, records
}
