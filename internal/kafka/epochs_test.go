package kafka_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/kafka"
	"millrace/internal/testkit"
)

func TestEndsOfEpochs(t *testing.T) {
	b := testkit.StartBroker(t, kfake.NumBrokers(2), kfake.SeedTopics(1, "t"))
	c := cluster(t, b)
	sel := kafka.Selection{Topics: []string{"t"}}
	epoch := func() int32 {
		s, err := c.Snapshot(t.Context(), sel)
		if err != nil {
			t.Fatal(err)
		}
		if s.ClusterID == "" {
			t.Error("the cluster has no id")
		}
		return s.Topics[0].Partitions[0].LeaderEpoch
	}
	move := func(to int32) {
		if err := b.MoveTopicPartition("t", 0, to); err != nil {
			t.Fatal(err)
		}
	}
	move(0)
	first := epoch()
	testkit.Produce(t, b.Client(t, kgo.DefaultProduceTopic("t")), value(0, "a"), value(0, "b"), value(0, "c"))
	move(1)
	testkit.Produce(t, b.Client(t, kgo.DefaultProduceTopic("t")), value(0, "d"))
	s, err := c.Snapshot(t.Context(), sel)
	if err != nil {
		t.Fatal(err)
	}
	for of, want := range map[int32]int64{first: 3, s.Topics[0].Partitions[0].LeaderEpoch: 4} {
		ends, err := s.EndsOfEpochs(t.Context(), map[string]map[int32]int32{"t": {0: of}})
		if err != nil || ends["t"][0] != want {
			t.Errorf("epoch %d ends at %v, %v, want %d", of, ends, err, want)
		}
	}
}

// A broker that lags behind names the former epoch of a leader whose log has records of the present one. A reader that took the former one as that of the records would
// be told, by the next leader, that what it read was cut off.
func TestTheEpochOfASnapshotIsNoOlderThanItsRecords(t *testing.T) {
	b := testkit.StartBroker(t, kfake.NumBrokers(2), kfake.SeedTopics(1, "t"))
	move := func(to int32) {
		if err := b.MoveTopicPartition("t", 0, to); err != nil {
			t.Fatal(err)
		}
	}
	move(1)
	old := metadata(t, b, "t")
	testkit.Produce(t, b.Client(t, kgo.DefaultProduceTopic("t")), value(0, "a"))
	for range 2 { // the same broker leads in newer epochs
		move(0)
		move(1)
	}
	testkit.Produce(t, b.Client(t, kgo.DefaultProduceTopic("t")), value(0, "b"))
	b.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		r := req.(*kmsg.MetadataRequest)
		b.KeepControl()
		if len(r.Topics) == 0 {
			return nil, nil, false
		}
		stale := *old
		stale.Version = r.Version
		return &stale, nil, true
	})
	s, err := cluster(t, b).Snapshot(t.Context(), kafka.Selection{Topics: []string{"t"}})
	if err != nil {
		t.Fatal(err)
	}
	p := s.Topics[0].Partitions[0]
	ends, err := s.EndsOfEpochs(t.Context(), map[string]map[int32]int32{"t": {0: p.LeaderEpoch}})
	if err != nil || p.HighWatermark != 2 || ends["t"][0] < p.HighWatermark {
		t.Errorf("high watermark %d, and its epoch %d ends at %v, %v", p.HighWatermark, p.LeaderEpoch, ends, err)
	}
}

// metadata is what the brokers say of a topic now.
func metadata(t *testing.T, b *testkit.Broker, topic string) *kmsg.MetadataResponse {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(t.Context(), b.Client(t))
	if err != nil {
		t.Fatal(err)
	}
	return resp
}
