package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/tidwall/gjson"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// loopResult is what the `bench loop` process prints: how long it took from creating its client to the end, and what it found.
type loopResult struct {
	Seconds float64 `json:"seconds"`
	Answer  string  `json:"answer"`
}

// runLoop is the baseline, the loop that a careful engineer writes by hand: one kgo client with default options polled by one goroutine, JSON
// by gjson.ValidBytes and GetManyBytes, results in a Go map.
func runLoop(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("loop", flag.ExitOnError)
	broker := fs.String("broker", "", "address")
	topic := fs.String("topic", "", "topic")
	work := fs.String("work", "count", "count, lengths, group, filter, orders, changes, committed, avro or proto; send writes the records to the topic of -to, fetch only fetches")
	to := fs.String("to", "", "topic")
	if err := fs.Parse(args); err != nil {
		return err
	}
	switch *work {
	case "send":
		return runSend(ctx, *broker, *topic, *to)
	case "fetch":
		return runFetch(ctx, *broker, *topic)
	}
	w, ok := works[*work]
	if !ok {
		return fmt.Errorf("loop: unknown work %q", *work)
	}
	start := time.Now()
	each, answer := w()
	var opts []kgo.Opt
	if *work == "committed" {
		// The end of a partition is a marker of a transaction: without these the loop would wait for it.
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	}
	if err := poll(ctx, *broker, *topic, each, opts...); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(loopResult{time.Since(start).Seconds(), answer()})
}

// poll hands every record of the topic up to its present end to each.
func poll(ctx context.Context, broker, topic string, each func(*kgo.Record), opts ...kgo.Opt) error {
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(broker), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	if err != nil {
		return err
	}
	defer cl.Close()
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, topic)
	if err != nil {
		return err
	}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return err
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return errs[0].Err
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			for _, r := range p.Records {
				each(r)
			}
			if n := len(p.Records); n > 0 && p.Records[n-1].Offset >= left[p.Partition]-1 {
				delete(left, p.Partition)
			}
		})
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), fmt.Errorf("%d partitions left", len(left)))
		}
	}
	return nil
}

// works: the hand-written bodies of the loops. Each returns what to do with a record and how to tell the answer at the end.
var works = map[string]func() (func(*kgo.Record), func() string){
	"count": func() (func(*kgo.Record), func() string) {
		n := 0
		return func(*kgo.Record) { n++ }, func() string { return fmt.Sprint(n) }
	},
	"lengths": func() (func(*kgo.Record), func() string) {
		n := 0
		return func(r *kgo.Record) { n += len(r.Value) + len(r.Key) }, func() string { return fmt.Sprint(n) }
	},
	"committed": func() (func(*kgo.Record), func() string) {
		n := 0
		return func(r *kgo.Record) {
			if !r.Attrs.IsControl() {
				n += len(r.Value) + len(r.Key)
			}
		}, func() string { return fmt.Sprint(n) }
	},
	"group":   groupBy("type", "qty"),
	"orders":  groupBy("customer.address.country", "payment.cents"),
	"changes": groupBy("payload.op", "payload.after.quantity"),
	"filter": func() (func(*kgo.Record), func() string) {
		n := 0
		return func(r *kgo.Record) {
			if !gjson.ValidBytes(r.Value) {
				return
			}
			v := gjson.GetManyBytes(r.Value, "type", "country", "qty")
			if v[0].Str == "purchase" && v[1].Str == "NZ" && v[2].Int() == 7 {
				n++
			}
		}, func() string { return fmt.Sprint(n) }
	},
}

// groupBy counts by one field and sums another, NULL where a group has none.
func groupBy(by, summed string) func() (func(*kgo.Record), func() string) {
	type sum struct {
		n     int
		total int64
		any   bool
	}
	return func() (func(*kgo.Record), func() string) {
		groups := map[string]*sum{}
		return func(r *kgo.Record) {
				if !gjson.ValidBytes(r.Value) {
					return
				}
				v := gjson.GetManyBytes(r.Value, by, summed)
				g := groups[v[0].Str]
				if g == nil {
					g = &sum{}
					groups[v[0].Str] = g
				}
				g.n++
				g.total += v[1].Int()
				g.any = g.any || v[1].Type != gjson.Null
			}, func() string {
				var out []string
				for k, g := range groups {
					total := ""
					if g.any {
						total = fmt.Sprint(g.total)
					}
					out = append(out, fmt.Sprintf("%s %d %s", k, g.n, total))
				}
				slices.Sort(out)
				return fmt.Sprint(out)
			}
	}
}
