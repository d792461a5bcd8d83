package server

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// comes waits for a query to give a result.
func comes(t *testing.T, r *running, query, result string) {
	t.Helper()
	db := r.root(t)
	deadline := time.Now().Add(20 * time.Second)
	for {
		got, err := values(db, query)
		if err == nil && got == result {
			return
		}
		if time.Now().After(deadline) {
			state, _ := rows(db, "SHOW STREAMING TABLES")
			t.Fatalf("%s gives %q, %v, want %q\n%s", query, got, err, result, state)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// values are the rows of a query without the heading.
func values(db *sql.DB, query string) (string, error) {
	got, err := rows(db, query)
	_, got, _ = strings.Cut(got, "\n")
	return got, err
}

// gives wants a query to have these rows.
func gives(t *testing.T, db *sql.DB, query, result string) {
	t.Helper()
	if got, err := values(db, query); err != nil || got != result {
		t.Errorf("%s\ngives %q, %v, want %q", query, got, err, result)
	}
}

// ordersTopic is a broker with a topic of n JSON records in two partitions, and a client to add more.
func ordersTopic(t *testing.T, n int) (*testkit.Broker, *kgo.Client, func(from, to int)) {
	t.Helper()
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 2, nil)
	cl := b.Client(t)
	produce := func(from, to int) {
		t.Helper()
		var list []*kgo.Record
		for i := from; i < to; i++ {
			list = append(list, &kgo.Record{Topic: "orders", Partition: int32(i % 2), Key: fmt.Append(nil, i), Value: fmt.Appendf(nil, `{"id":%d,"country":"%c","amount":%d.5}`, i, 'A'+i%3, i)})
		}
		testkit.Produce(t, cl, list...)
	}
	if n > 0 {
		produce(0, n)
	}
	return b, cl, produce
}

func ordersTable(b *testkit.Broker) string {
	return fmt.Sprintf(`CREATE STREAMING TABLE orders AS SELECT value:id::bigint AS id, value:country AS country, value:amount::double AS amount, `+"`timestamp`"+` AS ts
		FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest') WHERE value:id::bigint >= 0`, b.Addrs[0])
}

func TestAStreamingTableLoadsFollowsAndResumes(t *testing.T) {
	b, _, produce := ordersTopic(t, 1000)
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.DataDir = dir })
	db := r.root(t)
	do(t, db, ordersTable(b))
	gives(t, db, "SELECT count(*), count(DISTINCT id), min(id), max(id) FROM orders", "1000|1000|0|999")
	gives(t, db, "SELECT country, count(*), sum(amount) FROM orders WHERE id < 6 GROUP BY country ORDER BY country", "A|2|4\nB|2|6\nC|2|8")
	gives(t, db, "SELECT id FROM orders ORDER BY id DESC LIMIT 2", "999\n998")
	gives(t, db, "SELECT a.id FROM orders a JOIN orders b ON a.id = b.id WHERE a.id = 7", "7")
	produce(1000, 1010)
	comes(t, r, "SELECT count(*), max(id) FROM orders", "1010|1009")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}

	produce(1010, 1020)
	r = start(t, func(c *Config) { c.DataDir = dir })
	comes(t, r, "SELECT count(*), count(DISTINCT id), max(id) FROM orders", "1020|1020|1019")
	db = r.root(t)
	do(t, db, "DROP TABLE orders")
	wantError(t, func() error { _, err := rows(db, "SELECT * FROM orders"); return err }(), 1146, "42S02", "does not exist")
}
