//go:build integration

package integration

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// texts runs a query of one row whose values are shown as text, NULL as NULL.
func texts(t testing.TB, db *sql.DB, query string, columns int) []string {
	t.Helper()
	values, ptrs := make([]sql.NullString, columns), make([]any, columns)
	for i := range values {
		ptrs[i] = &values[i]
	}
	if err := db.QueryRowContext(t.Context(), query).Scan(ptrs...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	out := make([]string, columns)
	for i, v := range values {
		if out[i] = "NULL"; v.Valid {
			out[i] = v.String
		}
	}
	return out
}

func TestClusterAsTables(t *testing.T) {
	cl, adm := client(t)
	name := topic(t, adm, 2, map[string]string{"retention.ms": "123456789", "cleanup.policy": "compact,delete"})
	var records []*kgo.Record
	for i := range 100 {
		records = append(records, &kgo.Record{Topic: name, Partition: int32(i % 2), Key: fmt.Append(nil, i), Value: make([]byte, 100)})
	}
	produce(t, cl, records...)
	db := sharedServer(t).open(t, "")
	args := "bootstrapServers => '" + env(t, "KAFKA_PLAINTEXT") + "'"

	details, err := adm.ListTopics(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	id := details[name].ID
	got := texts(t, db, "SELECT topic_id, partitions, replication_factor, leaderless_partitions, is_internal, cleanup_policy, retention_ms, timestamp_type, records_estimate FROM kafka_topics("+args+", subscribe => '"+name+"')", 9)
	want := []string{base64.RawURLEncoding.EncodeToString(id[:]), "2", "1", "0", "0", "compact,delete", "123456789", "CreateTime", "100"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("kafka_topics: %q, want %q", got, want)
	}
	got = texts(t, db, "SELECT count(*), sum(end_offset), min(start_offset), sum(last_stable_offset), min(isr = replicas), min(size_bytes) > 0 FROM kafka_partitions("+args+", subscribe => '"+name+"')", 6)
	if want := []string{"2", "100", "0", "100", "1", "1"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("kafka_partitions: %q, want %q", got, want)
	}
	for protocol, ctx := range map[string]context.Context{
		"classic":  t.Context(),
		"consumer": context.WithValue(t.Context(), "opt_in_kafka_next_gen_balancer_beta", true), //nolint:staticcheck // the client's own key
	} {
		group := fmt.Sprintf("%s-%s-%d", name, protocol, time.Now().UnixNano())
		consumer, _ := client(t, kgo.WithContext(ctx), kgo.ConsumerGroup(group), kgo.ConsumeTopics(name), kgo.ClientID("lagging"), kgo.DisableAutoCommit(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		seen := 0
		for seen < 100 {
			fetches := consumer.PollFetches(t.Context())
			if err := fetches.Err(); err != nil {
				t.Fatal(err)
			}
			seen += fetches.NumRecords()
		}
		committed := make(chan error, 1)
		consumer.CommitOffsetsSync(t.Context(), map[string]map[int32]kgo.EpochOffset{name: {0: {Epoch: -1, Offset: 30}, 1: {Epoch: -1, Offset: 50}}},
			func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, _ *kmsg.OffsetCommitResponse, err error) {
				committed <- err
			})
		if err := <-committed; err != nil {
			t.Fatal(err)
		}
		for _, which := range []string{"", ", groupId => '" + group + "'"} {
			got = texts(t, db, "SELECT max(state), max(type), count(*), max(members), min(lag), sum(lag), min(client_id), min(host <> ''), max(topic) = '"+name+"' FROM kafka_consumer_groups("+args+which+") WHERE group_id = '"+group+"'", 9)
			if want := []string{"Stable", protocol, "2", "1", "0", "20", "lagging", "1", "1"}; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("kafka_consumer_groups of a %s group%s: %q, want %q", protocol, which, got, want)
			}
		}
	}
	got = texts(t, db, "SELECT count(*), max(is_internal) FROM kafka_topics("+args+", internal => true) WHERE topic = '__consumer_offsets'", 2)
	if want := []string{"1", "1"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("internal topics: %q, want %q", got, want)
	}
}
