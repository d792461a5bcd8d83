package kafka_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/column"
	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/internal/testkit"
)

func TestConfigsShareConnectionsOnlyWhenTheyAreTheSame(t *testing.T) {
	base := kafka.Config{Brokers: []string{"a:1"}, User: "u", Password: "secret"}
	same := base
	same.MaxBatchBytes = 5 // of a scan, not of a connection
	if base.Key() != same.Key() {
		t.Error("limits of a scan make another key")
	}
	for name, c := range map[string]kafka.Config{
		"brokers": {Brokers: []string{"b:1"}, User: "u", Password: "secret"}, "password": {Brokers: []string{"a:1"}, User: "u", Password: "other"},
		"TLS": {Brokers: []string{"a:1"}, User: "u", Password: "secret", TLSKey: "k"},
	} {
		if c.Key() == base.Key() {
			t.Errorf("another %s has the same key", name)
		}
	}
}

// TestScansBeyondTheCapShareConnections runs a scan within another's Push, on a pool of one connection: neither may wait for the other for ever.
func TestScansBeyondTheCapShareConnections(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	numbered(t, b, "t", 100, 10)
	pool := kafka.NewPool(kafka.PoolOptions{MaxLanes: 1})
	defer pool.Close()
	c, err := pool.Cluster(t.Context(), kafka.Config{Brokers: b.Addrs})
	if err != nil {
		t.Fatal(err)
	}
	inner := 0
	col := testkit.Collector{OnPush: func(context.Context, int, *column.Batch) error {
		inner = len(testkit.Collect(t, plan(t, c, all(kafka.ReadCommitted, "t"), scan.Offset)))
		return nil
	}}
	if err := plan(t, c, all(kafka.ReadCommitted, "t"), scan.Offset).Run(t.Context(), col.Sink); err != nil || inner != 100 || len(col.All()) != 100 {
		t.Fatalf("%v: %d rows, %d within", err, len(col.All()), inner)
	}
}

func TestIdleClientsAreClosedAndOpenedAgain(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	numbered(t, b, "t", 100, 10)
	closed := make(chan struct{}, 100)
	pool := kafka.NewPool(kafka.PoolOptions{IdleTimeout: 20 * time.Millisecond, ClientOptions: []kgo.Opt{kgo.WithHooks(closeHook{closed})}})
	defer pool.Close()
	c, err := pool.Cluster(t.Context(), kafka.Config{Brokers: b.Addrs})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if n := len(testkit.Collect(t, plan(t, c, all(kafka.ReadCommitted, "t")))); n != 100 {
			t.Fatalf("%d rows", n)
		}
		for range 2 { // the one for planning and the lane's
			<-closed
		}
	}
}

type closeHook struct{ closed chan struct{} }

func (h closeHook) OnClientClosed(*kgo.Client) { h.closed <- struct{}{} }

func TestAScanOfAClosedPoolEnds(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(1, "t"))
	numbered(t, b, "t", 100_000, 5000)
	pool := kafka.NewPool(kafka.PoolOptions{})
	c, err := pool.Cluster(t.Context(), kafka.Config{Brokers: b.Addrs, PartitionMaxBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = duringScan(t, c, all(kafka.ReadCommitted, "t"), pool.Close)
	if !sqlerr.HasKind(err, sqlerr.ServerGone) {
		t.Errorf("got %v", err)
	}
	if _, err := pool.Cluster(t.Context(), kafka.Config{Brokers: b.Addrs}); !sqlerr.HasKind(err, sqlerr.ServerGone) {
		t.Errorf("got %v", err)
	}
	pool.Close()
}

// TestAFollowerInTheRackIsFetchedFrom has the leader name a follower, as a broker with a replica selector does.
func TestAFollowerInTheRackIsFetchedFrom(t *testing.T) {
	b := testkit.StartBroker(t, kfake.NumBrokers(2), kfake.SeedTopics(1, "t"))
	if err := b.MoveTopicPartition("t", 0, 0); err != nil {
		t.Fatal(err)
	}
	b.SetFollowers("t", 0, []int32{1})
	numbered(t, b, "t", 100, 10)
	src := plan(t, cluster(t, b, func(c *kafka.Config) { c.Rack = "near" }), all(kafka.ReadCommitted, "t"), scan.Offset)
	var mu sync.Mutex
	asked := map[int32]int{}
	b.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		node := b.CurrentNode()
		mu.Lock()
		asked[node]++
		mu.Unlock()
		req := kreq.(*kmsg.FetchRequest)
		if node != 0 || req.Rack != "near" {
			return nil, nil, false
		}
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = req.Topics[0].Topic, req.Topics[0].TopicID
		rp := kmsg.NewFetchResponseTopicPartition()
		rp.HighWatermark, rp.LastStableOffset, rp.PreferredReadReplica, rp.RecordBatches = 100, 100, 1, []byte{}
		rt.Partitions = append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	})
	if n := len(testkit.Collect(t, src)); n != 100 {
		t.Errorf("%d rows", n)
	}
	mu.Lock()
	defer mu.Unlock()
	if asked[1] == 0 || asked[0] != 1 {
		t.Errorf("fetches by broker: %v", asked)
	}
}

// BenchmarkScan reads a topic from a broker in the same process, with a scan and with franz-go's consumer.
func BenchmarkScan(b *testing.B) {
	broker := testkit.StartBroker(b, kfake.SeedTopics(4, "none", "lz4", "zstd"))
	const records = 200_000
	for codec, name := range map[int]string{0: "none", 3: "lz4", 4: "zstd"} {
		cl := broker.Client(b, kgo.DefaultProduceTopic(name), kgo.ProducerBatchCompression(testkit.Codecs[codec]), kgo.ProducerLinger(5*time.Millisecond))
		var out []*kgo.Record
		for i, r := range testkit.JSONRecords(records, 1) {
			out = append(out, &kgo.Record{Partition: int32(i % 4), Key: r.Key, Value: r.Value})
		}
		testkit.Produce(b, cl, out...)
	}
	c := cluster(b, broker)
	for _, name := range []string{"none", "lz4", "zstd"} {
		for what, fields := range map[string][]scan.Field{"count": nil, "lengths": {scan.KeyLength, scan.ValueLength}} {
			b.Run(name+"/"+what, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					src := plan(b, c, all(kafka.ReadCommitted, name), fields...)
					var mu sync.Mutex
					rows := 0
					err := src.Run(b.Context(), func(int) (scan.Sink, error) { return &counter{&mu, &rows, 0}, nil })
					if err != nil || rows != records {
						b.Fatal(rows, err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
			})
		}
		b.Run(name+"/franz-go", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				cl, err := kgo.NewClient(kgo.SeedBrokers(broker.Addrs...), kgo.ConsumeTopics(name), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
				if err != nil {
					b.Fatal(err)
				}
				for n := 0; n < records; {
					cl.PollFetches(b.Context()).EachRecord(func(*kgo.Record) { n++ })
				}
				cl.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/records, "ns/record")
		})
	}
}

// counter adds up the rows of a lane and, at its end, those of all.
type counter struct {
	mu   *sync.Mutex
	all  *int
	mine int
}

func (c *counter) Push(_ context.Context, b *column.Batch) error { c.mine += b.N; return nil }

func (c *counter) Finish(context.Context) error {
	c.mu.Lock()
	*c.all += c.mine
	c.mu.Unlock()
	return nil
}
