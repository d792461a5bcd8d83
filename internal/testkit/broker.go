// Package testkit is what tests of several packages share: an in-process Kafka broker, generators of records and histories, and readers that are slow
// and plainly right to compare with. Only tests and benchmarks import it.
package testkit

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Broker is an in-process Kafka cluster on loopback ports. It ends with its test.
type Broker struct {
	*kfake.Cluster
	Addrs []string
}

// StartBroker starts a cluster of one broker, or as opts say.
func StartBroker(t testing.TB, opts ...kfake.Opt) *Broker {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &Broker{Cluster: c, Addrs: c.ListenAddrs()}
}

// Client is a franz-go client of the broker that sends each record to the partition it names. It is closed with the test.
func (b *Broker) Client(t testing.TB, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(b.Addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.DisableClientMetrics(),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// Topic creates a topic. configs may be nil.
func (b *Broker) Topic(t testing.TB, name string, partitions int32, configs map[string]string) {
	t.Helper()
	if err := b.CreateTopic(name, partitions, configs); err != nil {
		t.Fatal(err)
	}
}

// Produce appends records and waits until all are acknowledged.
func Produce(t testing.TB, cl *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}
