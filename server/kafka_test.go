package server

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/testkit"
)

// topic makes a topic of n JSON records in two partitions and gives the broker's address.
func topic(t *testing.T, name string, n int) string {
	t.Helper()
	b := testkit.StartBroker(t)
	b.Topic(t, name, 2, nil)
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{
			Topic: name, Partition: int32(i % 2), Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, `{"id": %d, "price": 1.50}`, i),
			Timestamp: time.UnixMilli(1_700_000_000_000 + int64(i)),
		}
	}
	testkit.Produce(t, b.Client(t), records...)
	return b.Addrs[0]
}

func TestReadKafkaOverTheWire(t *testing.T) {
	broker := topic(t, "orders", 1000)
	r := start(t)
	db := r.root(t)
	call := "read_kafka(bootstrapServers => '" + broker + "', subscribe => 'orders')"
	want(t, db, "SELECT count(*) FROM "+call, "count(*)\n1000")
	want(t, db, "SELECT @@last_scan_records", "@@last_scan_records\n1000")
	want(t, db, "SELECT key::string, value::string:id, value::string:price::decimal(5,2) AS p, partition, offset, timestamp FROM "+call+" WHERE partition = 1 AND offset = 3",
		"key::string|id|p|partition|offset|timestamp\nk7|7|1.50|1|3|2023-11-14 22:13:20.007")
	// The same as a prepared statement, with placeholders inside the call: binary rows.
	want(t, db, "SELECT key::string, value::string:id, partition, offset, timestamp FROM read_kafka(bootstrapServers => ?, subscribe => ?) WHERE partition = ? AND offset = ?",
		"key::string|id|partition|offset|timestamp\nk7|7|1|3|2023-11-14 22:13:20.007", broker, "orders", 1, 3)
	want(t, db, "SELECT key, topic, timestampType FROM read_kafka(bootstrapServers => ?, subscribe => ?) WHERE partition = ? AND offset < ? ORDER BY offset",
		"key|topic|timestampType\nk0|orders|0\nk2|orders|0", broker, "orders", 0, 2)
	do(t, db, "CREATE VIEW v AS SELECT value::string:id::bigint AS id, partition FROM "+call)
	want(t, db, "SELECT sum(id), count(*) FROM v WHERE partition = 0", "sum(id)|count(*)\n249500|500")
	do(t, db, "SET SESSION pushdown = 'off'")
	want(t, db, "SELECT sum(id), count(*) FROM v WHERE partition = 0", "sum(id)|count(*)\n249500|500")
	do(t, db, "CREATE TABLE kept AS SELECT id FROM v LIMIT 10")
	want(t, db, "SELECT count(*) FROM kept", "count(*)\n10")

	body := metricsText(t, r)
	for _, metric := range []string{"millrace_scan_records_total ", `millrace_statements_total{kind="select",result="ok"} `, "millrace_connections 1", "process_resident_memory_bytes"} {
		if !strings.Contains(body, metric) {
			t.Errorf("/metrics lacks %s", metric)
		}
	}
}

func TestBadCallsFailFastAndLeaveTheConnection(t *testing.T) {
	broker := topic(t, "orders", 10)
	db := start(t).root(t)
	for _, test := range []struct {
		call   string
		number uint16
		text   string
	}{
		{"read_kafka(bootstrapServers => '127.0.0.1:1', subscribe => 'orders', `kafka.request.timeout.ms` => 1000)", 31010, "127.0.0.1:1"},
		{"read_kafka(bootstrapServers => '" + broker + "', subscribe => 'nope')", 31016, "nope"},
		{"read_kafka(bootstrapServers => '" + broker + "', subscrbe => 'orders')", 31001, "subscribe"},
		{"read_kafka(bootstrapServers => '" + broker + "')", 31003, "subscribe"},
		{"read_kafka('orders')", 31002, "bootstrapServers =>"},
		{"read_kafka(bootstrapServers => '169.254.169.254:9092', subscribe => 'orders')", 31011, "169.254.169.254"},
		{"STREAM read_kafka(bootstrapServers => '" + broker + "', subscribe => 'orders', endingOffsets => 'latest')", 31005, "not valid in streaming queries"},
	} {
		t.Run(test.call, func(t *testing.T) {
			begin := time.Now()
			_, err := rows(db, "SELECT * FROM "+test.call)
			wantError(t, err, test.number, "HY000", test.text)
			if took := time.Since(begin); took > 15*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
	want(t, db, "SELECT 1", "1\n1")
}

func TestErrorAfterRowsReachesTheClient(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "mixed", 1, nil)
	cl := b.Client(t)
	for i := range 2000 {
		v := fmt.Sprint(i)
		if i == 1999 {
			v = "nineteen"
		}
		cl.Produce(context.Background(), &kgo.Record{Topic: "mixed", Value: []byte(v)}, nil)
	}
	if err := cl.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	db := start(t).root(t)
	_, err := rows(db, "SELECT value::string::bigint FROM read_kafka(bootstrapServers => '"+b.Addrs[0]+"', subscribe => 'mixed')")
	wantError(t, err, 1292, "22007", "nineteen")
	want(t, db, "SELECT 1", "1\n1")
}

// A broker that does not answer must not hold up KILL or the end of a connection: both reach the scan at once.
func TestKillAndDisconnectReachAScanThatWaits(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 1, nil)
	testkit.Produce(t, b.Client(t), &kgo.Record{Topic: "orders", Value: []byte("1")})
	fetching, release := make(chan struct{}, 100), make(chan struct{})
	b.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		fetching <- struct{}{}
		<-release
		return nil, nil, false
	})
	t.Cleanup(func() { close(release) })
	r := start(t)
	query := "SELECT value FROM read_kafka(bootstrapServers => '" + b.Addrs[0] + "', subscribe => 'orders')"
	db, other := r.root(t), r.root(t)
	var id int64
	if err := db.QueryRow("SELECT connection_id()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	for _, statement := range []string{query, "EXPLAIN ANALYZE " + query} {
		go func() {
			_, err := rows(db, statement)
			done <- err
		}()
		if statement == query {
			<-fetching
		}
		for !strings.Contains(processes(r), statement) { // a fetch may be one of the statement before
			time.Sleep(time.Millisecond)
		}
		begin := time.Now()
		do(t, other, fmt.Sprintf("KILL QUERY %d", id))
		wantError(t, <-done, 1317, "70100", "interrupted")
		if took := time.Since(begin); took > time.Second {
			t.Errorf("KILL QUERY of %s took %v", statement, took)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := db.QueryContext(ctx, query)
		done <- err
	}()
	for running := ""; !strings.Contains(running, "read_kafka"); running = processes(r) {
		time.Sleep(time.Millisecond)
	}
	begin := time.Now()
	cancel()
	<-done
	for strings.Contains(processes(r), "read_kafka") {
		if time.Since(begin) > 5*time.Second {
			t.Fatal("the statement runs on after its client has gone")
		}
		time.Sleep(time.Millisecond)
	}
}

// EXPLAIN ANALYZE says on how many lanes a redistributed read was computed.
func TestAnalyzeTellsTheLanesOfRedistribute(t *testing.T) {
	call := "read_kafka(bootstrapServers => '" + topic(t, "spread", 100) + "', subscribe => 'spread'"
	db := start(t).root(t)
	for arguments, wanted := range map[string]string{", redistribute => true, redistributeNumKeys => 1)": "redistribute: lanes that compute: 1", ")": ""} {
		plan, err := rows(db, "EXPLAIN ANALYZE SELECT count(*), sum(length(value)) FROM "+call+arguments)
		if err != nil || !strings.Contains(plan, wanted) || wanted == "" && strings.Contains(plan, "redistribute") {
			t.Errorf("%s: %s, %v", arguments, plan, err)
		}
	}
}
