package kafka_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

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
