//go:build unix

package crash

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// flowPoints are where a server that runs a flow may die on purpose. Between kafka.ending and flow.delivered the transaction is committed, and the store does not know.
var flowPoints = []string{"flow.intending", "flow.intended", "kafka.ending", "flow.delivered", "commit.before", "commit.after", "store.commit.applied", "executor.gathered"}

// A consumer that reads committed records sees every row of an exactly-once flow once, and every row of another at least once, whenever the server is killed.
func TestFlowsLoseNothingWhateverIsKilled(t *testing.T) {
	n := howOften()
	if n == 200 {
		n = 40
	}
	at := embedded(t)
	at.points = flowPoints
	flowsKilled(t, at, n)
}

func TestFlowsLoseNothingWhateverIsKilledOnPostgres(t *testing.T) {
	at := onPostgres(t, postgres(t))()
	at.points = append(slices.Clone(flowPoints), "store.commit.sent")
	n := *kills
	if n == 0 {
		n = 8
		if os.Getenv("CI") != "" {
			n = 40
		}
	}
	flowsKilled(t, at, n)
}

// flowsKilled kills a server that runs an exactly-once flow and another n times, and looks at what consumers of committed records see.
func flowsKilled(t *testing.T, at place, n int) {
	b := connect(t)
	out := map[string]string{"exact": b.topic + "-exact", "plain": b.topic + "-plain"}
	adm := kadm.NewClient(b.client(t))
	for _, topic := range out {
		if _, err := adm.CreateTopic(t.Context(), 2, 1, nil, topic); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if _, err := adm.DeleteTopic(context.WithoutCancel(t.Context()), topic); err != nil {
				t.Errorf("deleting topic %s: %v", topic, err)
			}
		})
	}
	p := produce(t, b, steady)
	stop := sync.OnceFunc(func() { close(p.stop); p.done.Wait() })
	defer stop()
	c := at.started(t)
	for name, topic := range out {
		if _, err := c.open(t).Exec(fmt.Sprintf(`CREATE FLOW %s AS INSERT INTO write_kafka(bootstrapServers => '%s', topic => '%s', exactlyOnce => %v, format => 'json')
			BY NAME SELECT value:id::bigint AS id, value:text AS text FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => '%s', startingOffsets => 'earliest')`,
			name, b.addr, topic, name == "exact", b.addr, b.topic)); err != nil {
			t.Fatal(err)
		}
	}
	c.kill()
	died := at.kill(t, n)
	stop()
	sent := p.sent.Load()
	t.Logf("%d kills; died at %v; %d records", n, died, sent)
	c = at.started(t)
	defer c.kill()
	db := c.open(t)
	deadline := time.Now().Add(testkit.Patience)
	for {
		var next int64
		err := db.QueryRow("SELECT sum(next_offset) FROM information_schema.streaming_table_partitions").Scan(&next)
		if err == nil && next >= 2*sent { // markers of transactions are in the output only
			break
		}
		if time.Now().After(deadline) {
			var states string
			_ = db.QueryRow("SELECT group_concat(concat(flow_name, ' ', state, ' ', coalesce(reason, ''))) FROM information_schema.streaming_flows").Scan(&states)
			t.Fatalf("positions add up to %d of %d, %v: %s\n%s", next, 2*sent, err, states, c.log)
		}
		time.Sleep(5 * time.Millisecond)
	}
	for name, topic := range out {
		seen, total := committed(t, b, topic)
		missing, twice := 0, 0
		for id := range sent {
			switch {
			case seen[id] == 0:
				missing++
			case seen[id] > 1:
				twice++
			}
		}
		t.Logf("flow %s: %d records, %d of them again", name, total, twice)
		if missing > 0 || name == "exact" && (twice > 0 || int64(total) != sent) {
			t.Errorf("flow %s: %d records of %d, %d missing, %d twice", name, total, sent, missing, twice)
		}
	}
}

// committed counts the ids of the committed records of a topic, up to its end.
func committed(t *testing.T, b cluster, topic string) (seen map[int64]int, total int) {
	t.Helper()
	ends, err := kadm.NewClient(b.client(t)).ListCommittedOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(b.addr, ",")...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), kgo.DisableClientMetrics())
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	seen = map[int64]int{}
	reached := map[int32]int64{}
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	for {
		if !slices.ContainsFunc(ends.Offsets().Sorted(), func(o kadm.Offset) bool { return reached[o.Partition] < o.At }) {
			return seen, total
		}
		fetched := cl.PollFetches(ctx)
		if err := fetched.Err0(); err != nil {
			t.Fatalf("%s: %v; reached %v of %v", topic, err, reached, ends)
		}
		fetched.EachRecord(func(r *kgo.Record) {
			reached[r.Partition] = r.Offset + 1
			if r.Attrs.IsControl() {
				return
			}
			var row struct {
				ID   int64
				Text string
			}
			if err := json.Unmarshal(r.Value, &row); err != nil || row.Text != fmt.Sprint(row.ID*row.ID) {
				t.Errorf("%s: %s, %v", topic, r.Value, err)
			}
			seen[row.ID]++
			total++
		})
	}
}
