package server

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// consume joins a group, reads until n records came and commits what it has read. The member stays until the test ends.
func consume(t *testing.T, b *testkit.Broker, group, topic string, n int, opts ...kgo.Opt) {
	t.Helper()
	cl := b.Client(t, append(opts, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ClientID("reader-of-"+topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for got := 0; got < n; {
		fetches := cl.PollRecords(ctx, n-got)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		if err := cl.CommitRecords(ctx, fetches.Records()...); err != nil {
			t.Fatal(err)
		}
		got += fetches.NumRecords()
	}
}

func TestConsumerGroupsShowTheirLag(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 2, nil)
	b.Topic(t, "gone", 1, nil)
	cl := b.Client(t)
	var records []*kgo.Record
	for i := range 20 {
		records = append(records, &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: []byte("x")})
	}
	testkit.Produce(t, cl, records...)
	adm := kadm.NewClient(cl)
	commit := func(group, topic string, partition int32, at int64) {
		t.Helper()
		var o kadm.Offsets
		o.AddOffset(topic, partition, at, -1)
		if err := adm.CommitAllOffsets(t.Context(), group, o); err != nil {
			t.Fatal(err)
		}
	}
	commit("archive", "gone", 0, 3)
	if _, err := adm.DeleteTopics(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	commit("late", "orders", 0, 2)
	commit("late", "orders", 1, 10)
	if err := b.DeleteRecords("orders", 0, 4); err != nil {
		t.Fatal(err)
	}
	consume(t, b, "billing", "orders", 16)

	db := start(t).root(t)
	call := "kafka_consumer_groups(bootstrapServers => '" + b.Addrs[0] + "'"
	// What is gone before it was read is no lag. Brokers forget what was committed for a topic that is deleted.
	want(t, db, "SELECT group_id, state, topic, partition, committed_offset, end_offset, lag, client_id FROM "+call+", groupId => 'late,archive') ORDER BY 1, 3, 4",
		"group_id|state|topic|partition|committed_offset|end_offset|lag|client_id\n"+
			"archive|Empty|NULL|NULL|NULL|NULL|NULL|NULL\n"+
			"late|Empty|orders|0|2|10|6|NULL\n"+
			"late|Empty|orders|1|10|10|0|NULL")
	want(t, db, "SELECT state, type, members, topic, partition, lag, client_id, member_id IS NOT NULL AS member, host <> '' AS host FROM "+call+", groupId => 'billing') ORDER BY partition",
		"state|type|members|topic|partition|lag|client_id|member|host\n"+
			"Stable|classic|1|orders|0|0|reader-of-orders|1|1\n"+
			"Stable|classic|1|orders|1|0|reader-of-orders|1|1")
	want(t, db, "SELECT DISTINCT group_id FROM "+call+") ORDER BY group_id", "group_id\narchive\nbilling\nlate")
	want(t, db, "SELECT count(*) FROM "+call+", groupId => 'nobody')", "count(*)\n0")
	wantWarning(t, db, "nobody: no such consumer group")
}

func TestConsumerGroupsOfTheNewerProtocol(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 1, nil)
	testkit.Produce(t, b.Client(t), &kgo.Record{Topic: "orders", Value: []byte("x")}, &kgo.Record{Topic: "orders", Value: []byte("y")})
	//lint:ignore SA1029 the client looks for this very string
	consume(t, b, "next", "orders", 1, kgo.WithContext(context.WithValue(context.Background(), "opt_in_kafka_next_gen_balancer_beta", true)))
	db := start(t).root(t)
	call := "kafka_consumer_groups(bootstrapServers => '" + b.Addrs[0] + "'"
	for _, groups := range []string{"", ", groupId => 'next'"} {
		want(t, db, "SELECT group_id, state, type, members, topic, partition, committed_offset, lag, client_id FROM "+call+groups+")",
			"group_id|state|type|members|topic|partition|committed_offset|lag|client_id\nnext|Stable|consumer|1|orders|0|1|1|reader-of-orders")
	}
}

// wantWarning checks that the statement before left a warning.
func wantWarning(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	want(t, db, "SHOW WARNINGS", "Level|Code|Message\nWarning|1105|"+text)
}
