//go:build unix

package crash

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// While a trigger of a backlog is committed, the next one is computed: whatever dies then, the rows are those below the positions.
func TestABacklogIsThereOnceWhateverIsKilled(t *testing.T) { backlog(t, embedded(t), howOften()/2) }

func TestABacklogIsThereOnceOnPostgres(t *testing.T) {
	backlog(t, onPostgres(t, postgres(t))(), howOften()/2)
}

// backlog kills servers at one place n times while they read what a topic had before. When a few kills have let it through, it is read anew: a server that has nothing to do passes no
// point at which it could die.
func backlog(t *testing.T, at place, n int) {
	b := connect(t)
	cl := b.client(t)
	const sent, chunk = 200_000, 10_000
	for first := 0; first < sent; first += chunk {
		records := make([]*kgo.Record, chunk)
		for i := range records {
			id := first + i
			records[i] = &kgo.Record{Topic: b.topic, Partition: int32(id % partitions), Value: fmt.Appendf(nil, `{"id":%d,"text":"%d"}`, id, id*id)}
		}
		if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	c := at.started(t)
	conn, err := c.open(t).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"SET streaming_table_create = 'async'", b.definition("TBLPROPERTIES ('max_batch_rows' = '400')")} {
		if _, err := conn.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	c.kill()
	at.points = slices.DeleteFunc(slices.Clone(at.points), func(p string) bool { return p == "executor.gathered" }) // which a backlog does not pass
	died, again := 0, 0
	for left := n; left > 0; left -= 5 {
		for point, times := range at.kill(t, min(left, 5)) {
			t.Logf("died %d times at %s", times, point)
			died += times
		}
		at.points = append(at.points[3:], at.points[:3]...) // three points a round: the next ones
		c = at.started(t)
		if c.text(t, "SELECT count(*) FROM t") == fmt.Sprint(sent) && left > 5 {
			if _, err := c.open(t).ExecContext(t.Context(), "REFRESH STREAMING TABLE t FULL ASYNC"); err != nil {
				t.Fatal(err)
			}
			again++
		}
		c.kill()
	}
	c = at.started(t)
	defer c.kill()
	t.Logf("%d kills, %d of them at a point; the backlog was read %d times more", n, died, again)
	if died < n/5 {
		t.Errorf("only %d of %d servers died at a point", died, n)
	}
	c.check(t, sent)
}
