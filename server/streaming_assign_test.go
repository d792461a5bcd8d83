package server

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// Both tables were stalled for ever, by a reason that spoke of the partition only.
func TestAnAssignedPartitionThatTheTopicLacksWhenItIsCreatedAgain(t *testing.T) {
	b, _, _ := ordersTopic(t, 20)
	r := start(t)
	for table, more := range map[string]string{"strict": "true", "lenient": "false"} {
		do(t, r.root(t), fmt.Sprintf(`CREATE STREAMING TABLE %s TBLPROPERTIES ('partition_discovery_interval' = '20 milliseconds') AS SELECT partition, value:id::bigint AS id
			FROM STREAM read_kafka(bootstrapServers => '%s', assign => '{"orders":[0,1]}', startingOffsets => 'earliest', failOnDataLoss => %s)`, table, b.Addrs[0], more))
	}
	if err := b.DeleteTopic("orders"); err != nil {
		t.Fatal(err)
	}
	b.Topic(t, "orders", 1, nil)
	testkit.Produce(t, b.Client(t), &kgo.Record{Topic: "orders", Value: []byte(`{"id":1000}`)})
	comes(t, r, "SELECT state, reason LIKE '%created again%' FROM information_schema.streaming_tables WHERE table_name = 'strict'", "failed|1")
	comes(t, r, "SELECT count(*), max(id) FROM lenient", "21|1000")
	comes(t, r, "SELECT state, lag FROM information_schema.streaming_tables WHERE table_name = 'lenient'", "running|0")
	gives(t, r.root(t), "SELECT count(*) FROM information_schema.streaming_event_log WHERE event_type = 'data_loss' AND message LIKE '%partition 1%' AND table_name = 'lenient'", "1")
	// A partition that comes later is read from its first record.
	adm := kadm.NewClient(b.Client(t))
	if _, err := adm.UpdatePartitions(t.Context(), 3, "orders"); err != nil {
		t.Fatal(err)
	}
	cl := b.Client(t)
	for p := range int32(3) { // of which the last is not assigned
		testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Partition: p, Value: fmt.Appendf(nil, `{"id":%d}`, 2000+p)})
	}
	comes(t, r, "SELECT id FROM lenient WHERE id >= 2000 ORDER BY id", "2000\n2001")
}
