package kafkameta

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/functions/readkafka"
	"millrace/internal/kafka"
	"millrace/internal/option"
)

func selecting() []option.Option {
	return append(readkafka.SelectionArguments(), option.Option{Name: "internal", Type: option.Bool, Default: "false",
		Doc: "Whether to include the cluster's own topics, which otherwise are given only when they are named.", Example: "true"})
}

// selected binds the arguments that say which topics are described.
func selected(v *option.Values, want kafka.Describe) (kafka.Selection, kafka.Describe, error) {
	s, err := readkafka.BindSelection(v)
	want.Internal = v.Bool("internal")
	return s, want, err
}

var topics = withOptions(&Function{
	Name: "kafka_topics", Doc: "The topics of a cluster, a row each.",
	Example: "SELECT topic, partitions, records_estimate FROM kafka_topics(bootstrapServers => 'localhost:9092') ORDER BY topic",
	Own:     selecting(),
	Columns: []Column{
		{"topic", topicType, false, "The name."},
		{"topic_id", wordType, true, "The id, as Kafka's tools print it; a topic that is created anew gets another. NULL where brokers are older than 2.8."},
		{"partitions", types.Int32, false, "The number of partitions."},
		{"replication_factor", types.Int32, false, "The number of replicas of the partition that has most."},
		{"under_replicated_partitions", types.Int32, false, "Partitions of which a replica is not in sync."},
		{"leaderless_partitions", types.Int32, false, "Partitions that nobody can read or write now."},
		{"is_internal", types.Boolean, false, "Whether the topic is the cluster's own."},
		{"cleanup_policy", wordType, true, "delete, compact or both."},
		{"retention_ms", types.Int64, true, "For how long records are kept; -1 is for ever."},
		{"retention_bytes", types.Int64, true, "How many bytes of a partition are kept; -1 is all."},
		{"timestamp_type", wordType, true, "CreateTime: the producer sets a record's time; LogAppendTime: the broker does."},
		{"min_insync_replicas", types.Int32, true, "How many replicas must have a record before it is acknowledged."},
		{"records_estimate", types.Int64, true, "The offsets between start and end of all partitions, which is more than the records where topics are compacted or transactional."},
	},
	rows: topicRows,
})

// The settings of topics that are shown.
const (
	cleanupPolicy  = "cleanup.policy"
	retentionTime  = "retention.ms"
	retentionBytes = "retention.bytes"
	timestampType  = "message.timestamp.type"
	minInSync      = "min.insync.replicas"
)

func topicRows(ctx *sql.Context, c *kafka.Cluster, v *option.Values) ([]sql.Row, []string, error) {
	sel, want, err := selected(v, kafka.Describe{Offsets: true, Configs: []string{cleanupPolicy, retentionTime, retentionBytes, timestampType, minInSync}})
	if err != nil {
		return nil, nil, err
	}
	all, warnings, err := c.DescribeTopics(ctx, sel, want)
	if err != nil {
		return nil, nil, err
	}
	rows := make([]sql.Row, len(all))
	for i, t := range all {
		var replicas, lagging, leaderless int32
		records := int64(-1)
		for _, p := range t.Partitions {
			replicas = max(replicas, int32(len(p.Replicas)))
			if len(p.InSync) < len(p.Replicas) {
				lagging++
			}
			if p.Leader < 0 {
				leaderless++
			}
			if p.End >= 0 {
				records = max(records, 0) + p.End - p.Start
			}
		}
		rows[i] = sql.Row{t.Name, topicID(t.ID), int32(len(t.Partitions)), replicas, lagging, leaderless, truth(t.Internal),
			setting(t, cleanupPolicy), bigSetting(t, retentionTime), bigSetting(t, retentionBytes), setting(t, timestampType), smallSetting(t, minInSync), number(records)}
	}
	return rows, warnings, nil
}

// truth is b as the engine has booleans.
func truth(b bool) int8 {
	if b {
		return 1
	}
	return 0
}

// topicID writes an id as Kafka's tools do.
func topicID(id [16]byte) any {
	if id == [16]byte{} {
		return nil
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}

func setting(t kafka.TopicInfo, name string) any {
	if s, ok := t.Configs[name]; ok {
		return s
	}
	return nil
}

func bigSetting(t kafka.TopicInfo, name string) any {
	if n, err := strconv.ParseInt(t.Configs[name], 10, 64); err == nil {
		return n
	}
	return nil
}

func smallSetting(t kafka.TopicInfo, name string) any {
	if n, err := strconv.ParseInt(t.Configs[name], 10, 32); err == nil {
		return int32(n)
	}
	return nil
}

var partitions = withOptions(&Function{
	Name: "kafka_partitions", Doc: "The partitions of topics, a row each: who leads them, who has copies, what they hold.",
	Example: "SELECT topic, partition, leader, start_offset, end_offset FROM kafka_partitions(bootstrapServers => 'localhost:9092', subscribe => 'orders')",
	Own:     selecting(),
	Columns: []Column{
		{"topic", topicType, false, "The name of the topic."},
		{"partition", types.Int32, false, "The number of the partition."},
		{"leader", types.Int32, true, "The broker that leads it; NULL when nobody does."},
		{"leader_epoch", types.Int32, true, "How often the leader has changed."},
		{"replicas", nameType, false, "The brokers with a copy, the preferred leader first."},
		{"isr", nameType, false, "Those whose copy is in sync."},
		{"offline_replicas", nameType, false, "Those that are down."},
		{"start_offset", types.Int64, true, "The first offset that the log may hold."},
		{"end_offset", types.Int64, true, "The offset after the last replicated record: the high watermark."},
		{"last_stable_offset", types.Int64, true, "The offset below which no transaction is open: where a read_committed read ends."},
		{"records_estimate", types.Int64, true, "end_offset - start_offset."},
		{"size_bytes", types.Int64, true, "The size of the leader's log on disk; NULL where the Kafka user may not ask."},
	},
	rows: partitionRows,
})

func partitionRows(ctx *sql.Context, c *kafka.Cluster, v *option.Values) ([]sql.Row, []string, error) {
	sel, want, err := selected(v, kafka.Describe{Offsets: true, Sizes: true})
	if err != nil {
		return nil, nil, err
	}
	all, warnings, err := c.DescribeTopics(ctx, sel, want)
	if err != nil {
		return nil, nil, err
	}
	var rows []sql.Row
	for _, t := range all {
		for _, p := range t.Partitions {
			records := int64(-1)
			if p.End >= 0 {
				records = p.End - p.Start
			}
			rows = append(rows, sql.Row{t.Name, p.Partition, broker(p.Leader), broker(p.LeaderEpoch), brokers(p.Replicas), brokers(p.InSync), brokers(p.Offline),
				number(p.Start), number(p.End), number(p.LastStable), number(records), number(p.Size)})
		}
	}
	return rows, warnings, nil
}

// brokers writes ids with commas between them.
func brokers(ids []int32) string {
	texts := make([]string, 0, len(ids))
	for id := range slices.Values(ids) {
		texts = append(texts, strconv.Itoa(int(id)))
	}
	return strings.Join(texts, ",")
}
