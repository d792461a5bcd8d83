package server

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/catalog"
	"millrace/internal/testkit"
	"millrace/streaming/store"
)

// sharedDocument is a catalog in memory that several servers have.
type sharedDocument struct {
	mu      sync.Mutex
	content []byte
	version int64
}

// Read implements catalog.Document.
func (d *sharedDocument) Read(_ context.Context, known int64) ([]byte, int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.version == known {
		return nil, d.version, nil
	}
	return d.content, d.version, nil
}

// Replace implements catalog.Document.
func (d *sharedDocument) Replace(_ context.Context, from int64, content []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if from != d.version {
		return catalog.ErrChanged
	}
	d.content, d.version = content, from+1
	return nil
}

// Where implements catalog.Document.
func (d *sharedDocument) Where() string { return "the shared catalog" }

// Close implements catalog.Document.
func (d *sharedDocument) Close() error { return nil }

// unclosed is a store that outlives the servers that have it.
type unclosed struct{ store.Store }

// Close implements store.Store.
func (unclosed) Close() error { return nil }

// cluster gives the change of a Config by which servers share a catalog and a store, each with another name.
func cluster(t *testing.T) func(name string) func(*Config) {
	t.Helper()
	rows, err := openStore(Config{memory: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	})
	doc := new(sharedDocument)
	return func(name string) func(*Config) {
		return func(c *Config) {
			c.kept = func(ctx context.Context, _ Config) (*kept, error) {
				k := &kept{rows: unclosed{rows}, shared: true, owner: name}
				k.catalog, err = catalog.New(ctx, doc)
				return k, err
			}
		}
	}
}

func TestServersThatShareACatalogSeeEachOthersChanges(t *testing.T) {
	with := cluster(t)
	a, b := start(t, with("a")), start(t, with("b"))
	onA, onB := a.root(t), b.root(t)
	do(t, onA, "CREATE DATABASE shop")
	do(t, onA, "CREATE VIEW shop.v AS SELECT 1 AS one")
	comes(t, b, "SELECT one FROM shop.v", "1")
	do(t, onB, "CREATE TABLE shop.t (id BIGINT)")
	do(t, onB, "INSERT INTO shop.t VALUES (7)")
	comes(t, a, "SELECT id FROM shop.t", "7")
	do(t, onB, "DROP VIEW shop.v")
	comes(t, a, "SELECT count(*) FROM information_schema.views WHERE table_schema = 'shop'", "0")
	// What changes definitions sees at once what others have done before.
	do(t, onA, "CREATE VIEW w AS SELECT 1 AS one")
	wantError(t, func() error { _, err := onB.Exec("CREATE VIEW w AS SELECT 2 AS two"); return err }(), 1050, "42S01", "w")

	do(t, onA, "CREATE USER u IDENTIFIED BY 'pw'")
	do(t, onB, "GRANT SELECT ON shop.* TO u")
	comes(t, a, "SHOW GRANTS FOR u", "GRANT USAGE ON *.* TO `u`@`%`\nGRANT SELECT ON `shop`.* TO `u`@`%`")
	want(t, b.connect(t, "u:pw@/shop"), "SELECT id FROM t", "id\n7")
	do(t, onA, "REVOKE SELECT ON shop.* FROM u")
	comes(t, b, "SHOW GRANTS FOR u", "GRANT USAGE ON *.* TO `u`@`%`")
	do(t, onA, "DROP USER u")
	comes(t, b, "SELECT count(*) FROM mysql.user WHERE user = 'u'", "0")

	do(t, onA, "CREATE CONNECTION c OPTIONS (bootstrapServers 'broker:9092')")
	comes(t, b, "SHOW CONNECTIONS", "c|kafka|broker:9092||PLAINTEXT")
	do(t, onB, "DROP CONNECTION c")
	comes(t, a, "SHOW CONNECTIONS", "")
	do(t, onA, "DROP DATABASE shop")
	comes(t, b, "SELECT count(*) FROM information_schema.schemata WHERE schema_name = 'shop'", "0")
}

func TestServersLoseNoChangesOfUsersAtOnce(t *testing.T) {
	with := cluster(t)
	servers := []*running{start(t, with("a")), start(t, with("b"))}
	const each = 10
	var wg sync.WaitGroup
	for i, r := range servers {
		db := r.root(t)
		wg.Go(func() {
			for n := range each {
				for _, statement := range []string{"CREATE USER u_%d_%d IDENTIFIED BY 'pw'", "GRANT KAFKA_READ ON *.* TO u_%d_%d", "CREATE VIEW v_%d_%d AS SELECT 1"} {
					if _, err := db.Exec(fmt.Sprintf(statement, i, n)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	for _, r := range servers {
		comes(t, r, "SELECT count(*) FROM mysql.user WHERE user LIKE 'u\\_%'", fmt.Sprint(2*each))
		comes(t, r, "SELECT count(*) FROM information_schema.views WHERE table_name LIKE 'v\\_%'", fmt.Sprint(2*each))
		for i := range servers {
			comes(t, r, fmt.Sprintf("SHOW GRANTS FOR u_%d_%d", i, each-1), fmt.Sprintf("GRANT USAGE ON *.* TO `u_%d_%d`@`%%`\nGRANT KAFKA_READ ON *.* TO `u_%d_%d`@`%%`", i, each-1, i, each-1))
		}
	}
}

// A server that stood by showed a flow's rows, and what retention had removed from a table, as 0; and after a take-over rows were counted anew.
func TestAServerThatStandsByKnowsWhatTheOtherHasWritten(t *testing.T) {
	_, read, write := sinkTopics(t, 10)
	with := cluster(t)
	a, b := start(t, with("a")), start(t, with("b"))
	do(t, a.root(t), flowOf(read, write("out")))
	do(t, a.root(t), "CREATE STREAMING TABLE t AS SELECT value FROM STREAM "+read("orders", "startingOffsets => 'earliest'"))
	comes(t, a, "SELECT rows_written FROM information_schema.streaming_flows", "10")
	comes(t, b, "SELECT rows_written FROM information_schema.streaming_flows", "10")
	comes(t, a, "SELECT server, expired_rows FROM information_schema.streaming_tables", "a|0")
	comes(t, b, "SELECT server, expired_rows FROM information_schema.streaming_tables", "a|NULL")
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	comes(t, b, "SELECT server, expired_rows FROM information_schema.streaming_tables", "b|0")
	comes(t, b, "SELECT state, rows_written FROM information_schema.streaming_flows", "running|10")
}

const whoReads = "SELECT state, server FROM information_schema.streaming_tables"

func TestAStreamingTableIsReadByOneServerAndTakenOver(t *testing.T) {
	broker, _, produce := ordersTopic(t, 1000)
	with := cluster(t)
	a, b := start(t, with("a")), start(t, with("b"))
	do(t, a.root(t), ordersTable(broker))
	comes(t, b, "SELECT count(*) FROM orders", "1000")
	comes(t, a, whoReads, "running|a")
	comes(t, b, whoReads, "running|a")
	comes(t, b, "SELECT sum(next_offset) FROM information_schema.streaming_table_partitions", "1000")
	produce(1000, 1010)
	comes(t, b, "SELECT count(*) FROM orders", "1010")
	if err := a.stop(); err != nil { // it gives its leases back
		t.Fatal(err)
	}
	comes(t, b, whoReads, "running|b")
	comes(t, b, "SELECT message FROM information_schema.streaming_event_log WHERE event_type = 'taken_over'", "b reads the table, which a read before")
	produce(1010, 1020)
	comes(t, b, "SELECT count(*), count(DISTINCT id) FROM orders", "1020|1020")
	a = start(t, with("a"))
	comes(t, a, whoReads, "running|b")
}

func TestStatementsOnTablesThatAnotherServerReads(t *testing.T) {
	broker, _, produce := ordersTopic(t, 100)
	with := cluster(t)
	a, b := start(t, with("a")), start(t, with("b"))
	onA, onB := a.root(t), b.root(t)
	do(t, onA, ordersTable(broker))
	comes(t, b, whoReads, "running|a")
	t.Run("REFRESH waits for what the other reads", func(t *testing.T) {
		produce(100, 200)
		do(t, onB, "REFRESH STREAMING TABLE orders")
		gives(t, onB, "SELECT count(*) FROM orders", "200")
		gives(t, onB, whoReads, "running|a")
	})
	t.Run("PAUSE returns when nobody reads", func(t *testing.T) {
		do(t, onB, "ALTER STREAMING TABLE orders PAUSE")
		produce(200, 210)
		comes(t, a, whoReads, "paused|NULL")
		gives(t, onA, "SELECT count(*) FROM orders", "200")
		do(t, onA, "ALTER STREAMING TABLE orders RESUME")
		comes(t, b, "SELECT count(*) FROM orders", "210")
	})
	t.Run("a new query holds for all that comes after it", func(t *testing.T) {
		comes(t, b, "SELECT count(server) FROM information_schema.streaming_tables", "1")
		for _, db := range []int{0, 1} {
			on := []*running{a, b}[db].root(t)
			do(t, on, strings.Replace(strings.Replace(ordersTable(broker), "CREATE", "CREATE OR REFRESH", 1), "value:country AS country", fmt.Sprintf("'from %d' AS country", db), 1))
			produce(210+10*db, 220+10*db)
			comes(t, a, fmt.Sprintf("SELECT count(*) FROM orders WHERE country = 'from %d'", db), "10")
		}
		gives(t, onA, "SELECT count(*), count(DISTINCT id) FROM orders", "230|230")
	})
	t.Run("FULL reads everything anew", func(t *testing.T) {
		for range 3 {
			for _, on := range []*running{a, b} {
				do(t, on.root(t), "REFRESH STREAMING TABLE orders FULL")
				gives(t, on.root(t), "SELECT count(*), count(DISTINCT id) FROM orders", "230|230")
			}
		}
	})
	t.Run("properties", func(t *testing.T) {
		do(t, onB, "ALTER STREAMING TABLE orders SET TBLPROPERTIES ('trigger' = 'manual')")
		comes(t, a, "SELECT `trigger` FROM information_schema.streaming_tables", "manual")
		comes(t, a, "SELECT count(server) FROM information_schema.streaming_tables", "0")
		produce(230, 240)
		do(t, onA, "REFRESH STREAMING TABLE orders")
		comes(t, b, "SELECT count(*), count(DISTINCT id) FROM orders", "240|240")
	})
	t.Run("DROP", func(t *testing.T) {
		do(t, onB, "DROP STREAMING TABLE orders")
		comes(t, a, "SELECT count(*) FROM information_schema.streaming_tables", "0")
		do(t, onA, ordersTable(broker))
		comes(t, b, "SELECT count(*), count(DISTINCT id) FROM orders", "240|240")
	})
}

func TestATableThatFailsFailsOnce(t *testing.T) {
	broker, cl, _ := ordersTopic(t, 10)
	with := cluster(t)
	a, b := start(t, with("a")), start(t, with("b"))
	do(t, a.root(t), fmt.Sprintf(`CREATE STREAMING TABLE orders AS SELECT id FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders',
		startingOffsets => 'earliest', format => 'json', schema => 'id BIGINT', mode => 'FAILFAST')`, broker.Addrs[0]))
	comes(t, b, whoReads, "running|a")
	testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Value: []byte(`{"id":"none"}`)})
	for _, r := range []*running{a, b} {
		comes(t, r, whoReads, "failed|NULL")
	}
	gives(t, b.root(t), "SELECT count(*) FROM information_schema.streaming_event_log WHERE event_type = 'failed'", "1")
	if err := func() error { _, err := b.root(t).Exec("REFRESH STREAMING TABLE orders"); return err }(); err == nil {
		t.Error("a table that fails again is refreshed")
	}
	for _, r := range []*running{a, b} {
		comes(t, r, whoReads, "failed|NULL")
	}
}

func TestAScheduleIsKeptByTheServersTogether(t *testing.T) {
	broker, _, produce := ordersTopic(t, 100)
	with := cluster(t)
	a, b := start(t, with("a")), start(t, with("b"))
	do(t, a.root(t), strings.Replace(ordersTable(broker), "orders AS", "orders SCHEDULE EVERY 1 SECOND AS", 1))
	for n := range 3 {
		produce(100+10*n, 110+10*n)
		for _, r := range []*running{a, b} {
			comes(t, r, "SELECT count(*), count(DISTINCT id) FROM orders", fmt.Sprintf("%d|%d", 110+10*n, 110+10*n))
		}
	}
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
	produce(130, 140)
	comes(t, b, "SELECT count(*), count(DISTINCT id) FROM orders", "140|140")
	gives(t, b.root(t), "SELECT count(*) FROM information_schema.streaming_event_log WHERE event_type IN ('failed', 'stalled')", "0")
}

// A user whose servers share a store created and replaced the same things from eight clients at once: IF NOT EXISTS and OR REPLACE failed, with "table with name
// rc1 already exists" (1105) and 1050, and a plain CREATE TABLE that came second had the number 1105 as well.
func TestServersThatMakeTheSameAtOnce(t *testing.T) {
	with := cluster(t)
	a, b := start(t, with("a")), start(t, with("b"))
	clients := clientsOf(t, 3, a, b)
	for n := range 10 {
		for _, statement := range []string{"CREATE TABLE IF NOT EXISTS t%d (id BIGINT)", "CREATE TABLE IF NOT EXISTS k%d AS SELECT 1 AS n", "CREATE OR REPLACE VIEW v AS SELECT %d AS n", "CREATE VIEW IF NOT EXISTS v%d AS SELECT 1 AS n", "CREATE DATABASE IF NOT EXISTS d%d"} {
			for _, err := range clients.atOnce(fmt.Sprintf(statement, n)) {
				if err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
		}
		for _, statement := range []string{"CREATE TABLE u%d (id BIGINT)", "CREATE TABLE s%d AS SELECT 1 AS n"} {
			made := 0
			for _, err := range clients.atOnce(fmt.Sprintf(statement, n)) {
				if err == nil {
					made++
					continue
				}
				wantError(t, err, 1050, "42S01", "already exists")
			}
			if made != 1 {
				t.Fatalf("%s: %d clients made it", statement, made)
			}
		}
		want(t, clients[0], fmt.Sprintf("SELECT n FROM s%d", n), "n\n1") // who came second has not dropped it
		want(t, clients[0], fmt.Sprintf("SELECT n FROM k%d", n), "n\n1") // nor added rows
	}
	comes(t, a, "SELECT n FROM v", "9")
	comes(t, b, "SELECT n FROM v", "9")
}

// clients are connections to servers that run a statement at once.
type clients []*sql.DB

// clientsOf gives n clients of each server.
func clientsOf(t *testing.T, n int, servers ...*running) (c clients) {
	t.Helper()
	for range n {
		for _, r := range servers {
			c = append(c, r.root(t))
		}
	}
	return c
}

// atOnce runs a statement at all clients, and gives what each of them is told.
func (c clients) atOnce(statement string) []error {
	errs := make([]error, len(c))
	var wg sync.WaitGroup
	for i, db := range c {
		wg.Go(func() { _, errs[i] = db.Exec(statement) })
	}
	wg.Wait()
	return errs
}

// Of two who made the same streaming table with IF NOT EXISTS at two servers, one was told that it exists (1050).
func TestServersThatMakeTheSameStreamingTableAtOnce(t *testing.T) {
	broker, _, _ := ordersTopic(t, 100)
	with := cluster(t)
	a, b := start(t, with("a")), start(t, with("b"))
	both := clientsOf(t, 2, a, b)
	for n := range 5 {
		statement := strings.Replace(ordersTable(broker), "orders", fmt.Sprintf("d%d.orders", n), 1)
		for _, err := range both.atOnce(strings.Replace(statement, "TABLE", "TABLE IF NOT EXISTS", 1)) {
			if err != nil {
				t.Fatalf("IF NOT EXISTS: %v", err)
			}
		}
		for _, err := range both.atOnce(strings.Replace(statement, "CREATE", "CREATE OR REFRESH", 1)) {
			if err != nil {
				t.Fatalf("OR REFRESH: %v", err)
			}
		}
		comes(t, a, fmt.Sprintf("SELECT count(*), count(DISTINCT id) FROM d%d.orders", n), "100|100")
	}
	comes(t, b, "SELECT count(*) FROM information_schema.streaming_tables", "5")
}

// Of two who refreshed a table in full at once, one was told that the server shuts down (1053): the other one had stopped the table that it waited for.
func TestFullRefreshesAtOnceAllSucceed(t *testing.T) {
	broker, _, _ := ordersTopic(t, 5000)
	with := cluster(t)
	a, b := start(t, with("a")), start(t, with("b"))
	do(t, a.root(t), strings.Replace(ordersTable(broker), " AS ", " TBLPROPERTIES ('max_batch_rows' = '100') AS ", 1))
	comes(t, b, "SELECT count(*) FROM orders", "5000")
	for name, servers := range map[string][]*running{"one server": {a}, "two servers": {a, b}} {
		for _, err := range clientsOf(t, 3, servers...).atOnce("REFRESH STREAMING TABLE orders FULL") {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		comes(t, b, "SELECT count(*), count(DISTINCT id) FROM orders", "5000|5000")
	}
	t.Run("while the table is dropped", func(t *testing.T) {
		waits := make(chan error)
		go func() {
			_, err := a.root(t).Exec("REFRESH STREAMING TABLE orders FULL")
			waits <- err
		}()
		do(t, a.root(t), "DROP STREAMING TABLE orders")
		if err := <-waits; err != nil { // else it was faster
			wantError(t, err, 1146, "42S02", "orders")
		}
	})
}

// A table that another server drops while it is refreshed was named by the id that it has in the store.
func TestATableThatIsDroppedDuringAFullRefreshDoesNotExist(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	rows, err := openStore(Config{memory: 256 << 20})
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, func(c *Config) {
		c.kept = func(ctx context.Context, _ Config) (*kept, error) {
			k := &kept{rows: droppedMeanwhile{rows}, shared: true, owner: "a"}
			k.catalog, err = catalog.New(ctx, new(sharedDocument))
			return k, err
		}
	})
	db := r.root(t)
	do(t, db, fmt.Sprintf("CREATE STREAMING TABLE live AS SELECT offset FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest')", b.Addrs[0]))
	_, err = db.Exec("REFRESH STREAMING TABLE live FULL")
	wantError(t, err, 1146, "42S02", "table 'main.live' does not exist")
}

// droppedMeanwhile is a store in which another server drops a table that is about to be emptied.
type droppedMeanwhile struct{ store.Store }

// TruncateTable implements store.Store.
func (s droppedMeanwhile) TruncateTable(ctx context.Context, id store.TableID) error {
	if err := s.DropTable(ctx, id); err != nil {
		return err
	}
	return s.Store.TruncateTable(ctx, id)
}
