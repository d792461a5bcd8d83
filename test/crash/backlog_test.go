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

// backlog kills servers at one place n times while they read what a topic had before. The backlog is large enough that many triggers are left in the end.
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
	died := at.kill(t, n)
	c = at.started(t)
	defer c.kill()
	t.Logf("%d kills; died at %v; %s of %d rows were there then", n, died, c.text(t, "SELECT count(*) FROM t"), sent)
	c.check(t, sent)
}
