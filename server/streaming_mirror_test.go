package server

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// metric is the value of a line of /metrics, -1 without one.
func metric(t *testing.T, r *running, name string) float64 {
	t.Helper()
	return metricIn(t, metricsText(t, r), name)
}

func metricIn(t *testing.T, text, name string) float64 {
	t.Helper()
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	return -1
}

func TestPositionsAreShownToAConsumerGroup(t *testing.T) {
	b, cl, produce := ordersTopic(t, 20)
	adm := kadm.NewClient(cl)
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.DataDir = dir })
	db := r.root(t)
	shown := func(group, want string) {
		t.Helper()
		comes(t, r, fmt.Sprintf("SELECT `partition`, committed_offset FROM kafka_consumer_groups(bootstrapServers => '%s', groupId => '%s') ORDER BY 1", b.Addrs[0], group), want)
	}
	create(t, r, b, "t", ", commitOffsets => true")
	create(t, r, b, "named", ", commitOffsets => true, groupId => 'mine'")
	create(t, r, b, "prefixed", ", commitOffsets => true, groupIdPrefix => 'team'")
	for _, group := range []string{"millrace-main.t", "mine", "team-main.prefixed"} {
		shown(group, "0|10\n1|10")
	}
	produce(20, 30)
	shown("mine", "0|15\n1|15")

	// What the group says is not read back, also not after a restart.
	var back kadm.Offsets
	back.AddOffset("orders", 0, 3, -1)
	do(t, db, "ALTER STREAMING TABLE named PAUSE")
	if err := adm.CommitAllOffsets(t.Context(), "mine", back); err != nil {
		t.Fatal(err)
	}
	do(t, db, "ALTER STREAMING TABLE named RESUME")
	shown("mine", "0|15\n1|15")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if err := adm.CommitAllOffsets(t.Context(), "mine", back); err != nil {
		t.Fatal(err)
	}
	r = start(t, func(c *Config) { c.DataDir = dir })
	db = r.root(t)
	produce(30, 40)
	shown("mine", "0|20\n1|20")
	gives(t, db, "SELECT count(*), count(DISTINCT id) FROM named", "40|40")

	// A group that cannot be written stops nothing, and is told of once.
	var refused atomic.Bool
	refused.Store(true)
	b.ControlKey(int16(kmsg.OffsetCommit), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		if !refused.Load() {
			return nil, nil, false
		}
		req := kreq.(*kmsg.OffsetCommitRequest)
		res := req.ResponseKind().(*kmsg.OffsetCommitResponse)
		for _, rt := range req.Topics {
			topic := kmsg.NewOffsetCommitResponseTopic()
			topic.Topic, topic.TopicID = rt.Topic, rt.TopicID
			for _, rp := range rt.Partitions {
				part := kmsg.NewOffsetCommitResponseTopicPartition()
				part.Partition, part.ErrorCode = rp.Partition, kerr.GroupAuthorizationFailed.Code
				topic.Partitions = append(topic.Partitions, part)
			}
			res.Topics = append(res.Topics, topic)
		}
		return res, nil, true
	})
	produce(40, 50)
	comes(t, r, "SELECT level, message LIKE '%lacks READ%' FROM information_schema.streaming_event_log WHERE event_type = 'commit_offsets' AND table_name = 'named'", "WARN|1")
	comes(t, r, "SELECT state, reason FROM information_schema.streaming_tables WHERE table_name = 'named'", "running|NULL")
	comes(t, r, "SELECT count(*) FROM named", "50")
	if got := metric(t, r, `millrace_streaming_table_offset_commit_failures_total{database="main",table="named"}`); got < 1 {
		t.Errorf("%v failures are counted", got)
	}
	refused.Store(false)
	shown("mine", "0|25\n1|25")
	comes(t, r, "SELECT count(*) FROM information_schema.streaming_event_log WHERE event_type = 'commit_offsets' AND table_name = 'named'", "2")

	do(t, db, fmt.Sprintf("CREATE STREAMING TABLE unmirrored AS SELECT offset FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'latest', groupId => 'unused')", b.Addrs[0]))
	do(t, db, fmt.Sprintf("SELECT offset FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest', commitOffsets => true) LIMIT 1", b.Addrs[0]))
	gives(t, db, "SHOW WARNINGS", "Warning|1105|'commitOffsets' is ignored: it is for streaming tables, and a SELECT has no positions to show")
}
