package server

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

func TestAServerThatIsStartedPaused(t *testing.T) {
	b, read, write := sinkTopics(t, 10)
	more := func(from, to int) {
		for i := from; i < to; i++ {
			testkit.Produce(t, b.Client(t), &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: fmt.Appendf(nil, `{"id":%d}`, i)})
		}
	}
	dir := t.TempDir()
	begin := func(paused bool) *running {
		return start(t, func(c *Config) { c.DataDir, c.StartPaused = dir, paused })
	}
	r := begin(true) // there is nothing yet, and what is made now runs
	for _, table := range []string{"goes", "rests", "refreshed", "changed"} {
		create(t, r, b, table, "")
	}
	do(t, r.root(t), flowOf(read, write("out", "exactlyOnce => true")))
	do(t, r.root(t), strings.Replace(flowOf(read, write("copy")), "FLOW f", "FLOW g", 1))
	comes(t, r, "SELECT group_concat(DISTINCT state), sum(rows_written), sum(lag) FROM information_schema.streaming_flows", "running|20|0")
	do(t, r.root(t), "ALTER STREAMING TABLE rests PAUSE")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = begin(true)
	if log := r.log.String(); !strings.Contains(log, "table=main.goes") || strings.Contains(log, "table=goes") {
		t.Errorf("the log names a table that is left paused in another way than the others:\n%s", log)
	}
	db := r.root(t)
	states := `SELECT table_name, state, reason FROM information_schema.streaming_tables ORDER BY table_name`
	held := "the server was started with '--start-paused'\nhint: ALTER STREAMING TABLE … RESUME lets it run"
	gives(t, db, states, "changed|paused|"+held+"\ngoes|paused|"+held+"\nrefreshed|paused|"+held+"\nrests|paused|NULL")
	heldFlow := strings.Replace(held, "STREAMING TABLE", "FLOW", 1)
	gives(t, db, "SELECT flow_name, state, reason FROM information_schema.streaming_flows ORDER BY flow_name", "f|paused|"+heldFlow+"\ng|paused|"+heldFlow)
	more(10, 20)
	// They are where they were, and are asked for.
	comes(t, r, "SELECT flow_name, state, rows_written, lag FROM information_schema.streaming_flows ORDER BY flow_name", "f|paused|10|10\ng|paused|10|10")
	gives(t, db, "SELECT (SELECT count(*) FROM goes), (SELECT count(*) FROM rests)", "10|10")
	_, err := db.Exec("REFRESH STREAMING TABLE refreshed")
	wantNumber(t, err, 31025, "streaming table 'main.refreshed' is paused")
	_, err = db.Exec("REFRESH STREAMING TABLE refreshed FULL")
	wantNumber(t, err, 31025, "streaming table 'main.refreshed' is paused")
	do(t, db, "CREATE OR REFRESH STREAMING TABLE changed AS SELECT value:id::bigint AS id, partition FROM STREAM "+read("orders", "startingOffsets => 'earliest'"))
	gives(t, db, "SELECT state, reason LIKE '%--start-paused%' FROM information_schema.streaming_tables WHERE table_name = 'changed'", "paused|1")
	// Whoever wants one resumes it; what is paused now stays so.
	do(t, db, "ALTER FLOW f RESUME")
	comes(t, r, "SELECT state, reason, rows_written, lag FROM information_schema.streaming_flows WHERE flow_name = 'f'", "running|NULL|20|0")
	do(t, db, "ALTER STREAMING TABLE goes RESUME")
	comes(t, r, "SELECT count(*), count(DISTINCT id) FROM goes", "20|20")
	do(t, db, "ALTER FLOW g PAUSE")
	comes(t, r, "SELECT state, reason FROM information_schema.streaming_flows WHERE flow_name = 'g'", "paused|NULL")
	gives(t, db, "SELECT count(*) FROM "+read("copy"), "10")
	create(t, r, b, "made", "")
	comes(t, r, "SELECT count(*) FROM made", "20")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	// Without it, what nobody has paused runs.
	r = begin(false)
	comes(t, r, "SELECT group_concat(table_name ORDER BY table_name) FROM information_schema.streaming_tables WHERE state = 'running' AND reason IS NULL", "changed,goes,made,refreshed")
	comes(t, r, "SELECT group_concat(concat(flow_name, ' ', state, ' ', rows_written) ORDER BY flow_name) FROM information_schema.streaming_flows", "f running 20,g paused 10")
	gives(t, r.root(t), "SELECT state, reason FROM information_schema.streaming_tables WHERE table_name = 'rests'", "paused|NULL")
	comes(t, r, "SELECT count(*), count(partition) FROM changed", "20|20")
	gives(t, r.root(t), "SELECT count(*), count(DISTINCT value:id::bigint) FROM "+read("out"), "20|20")
}

// A copy of a data folder could not be looked at beside its original without the flows of one of them failing.
func TestACopyThatIsStartedPausedLeavesTheOriginalAlone(t *testing.T) {
	if *givenStore != "" {
		t.Skip("BACKUP copies a data folder")
	}
	b, read, write := sinkTopics(t, 10)
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.ExportDir = dir })
	do(t, r.root(t), flowOf(read, write("out", "exactlyOnce => true")))
	comes(t, r, "SELECT rows_written, lag FROM information_schema.streaming_flows", "10|0")
	if _, err := rows(r.root(t), "BACKUP TO 'b'"); err != nil {
		t.Fatal(err)
	}
	beside := start(t, func(c *Config) { c.DataDir, c.StartPaused = filepath.Join(dir, "b"), true })
	testkit.Produce(t, b.Client(t), &kgo.Record{Topic: "orders", Partition: 0, Value: []byte(`{"id":10}`)})
	comes(t, r, "SELECT state, rows_written, lag FROM information_schema.streaming_flows", "running|11|0")
	comes(t, beside, "SELECT state, rows_written, lag FROM information_schema.streaming_flows", "paused|10|1")
	// Once the original has gone on, only one of them can write the flow's batches.
	do(t, beside.root(t), "ALTER FLOW f RESUME")
	comes(t, beside, "SELECT state, reason LIKE '%another copy%' FROM information_schema.streaming_flows", "failed|1")
	gives(t, r.root(t), "SELECT count(*), count(DISTINCT value:id::bigint) FROM "+read("out"), "11|11")
}
