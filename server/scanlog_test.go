package server

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/scan"
	"millrace/internal/testkit"
)

// eventually asks again and again until the answer is as wanted.
func eventually(t *testing.T, db *sql.DB, query string, wanted func(string) bool) string {
	t.Helper()
	var got string
	var err error
	for deadline := time.Now().Add(testkit.Patience); time.Now().Before(deadline); {
		if got, err = rows(db, query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if wanted(got) {
			return got
		}
	}
	t.Fatalf("%s\n still gives %q", query, got)
	return ""
}

func TestScansAndProcessesShowTheirProgress(t *testing.T) {
	b, call := orders(t, 1000)
	_, release := b.HoldFetches(t)
	r := start(t)
	root := r.root(t)
	do(t, root, "CREATE USER reader IDENTIFIED BY 'pw'")
	do(t, root, "GRANT KAFKA_READ ON *.* TO reader")
	do(t, root, "GRANT SELECT ON *.* TO reader")
	do(t, root, "CREATE USER other IDENTIFIED BY 'pw'")
	do(t, root, "GRANT SELECT ON *.* TO other")
	reader, other := r.connect(t, "reader:pw@/main"), r.connect(t, "other:pw@/main")
	done := make(chan error, 1)
	go func() {
		got, err := rows(reader, "SELECT count(*), max(length(value)) FROM "+call)
		if err == nil && !strings.HasPrefix(got, "count(*)|max(length(value))\n1000|") {
			err = fmt.Errorf("got %q", got)
		}
		done <- err
	}()
	const now = "SELECT user, topics, state, splits_done, offsets, offsets_done, percent, records, finished_at, error FROM information_schema.kafka_scans"
	const head = "user|topics|state|splits_done|offsets|offsets_done|percent|records|finished_at|error\n"
	const running = head + "reader|orders|running|0|1000|0|0|0|NULL|NULL"
	eventually(t, root, now, func(got string) bool { return got == running })
	// Without PROCESS a user sees only what is his own.
	want(t, other, now, strings.TrimSuffix(head, "\n"))
	const states = "SELECT state FROM information_schema.processlist WHERE user = 'reader' AND command = 'Query'"
	want(t, root, states, "state\nreading: 0.0 %, 0 records, 0.0 MB/s")
	want(t, other, states, "state")
	if got, err := rows(root, "SHOW PROCESSLIST"); err != nil || !strings.Contains(got, "reading: 0.0 %, 0 records") || !strings.Contains(got, "|Query|") {
		t.Errorf("SHOW PROCESSLIST: %v\n%s", err, got)
	}
	if got, err := rows(other, "SHOW FULL PROCESSLIST"); err != nil || strings.Contains(got, "reader") || !strings.Contains(got, "other") {
		t.Errorf("SHOW PROCESSLIST of another user: %v\n%s", err, got)
	}
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	want(t, reader, "SELECT state, splits = splits_done, offsets, offsets_done, percent, records, bytes_fetched > 0, bytes_decoded > 0, batches > 0, requests > 0, retries, mb_per_second > 0, memory_bytes, "+
		"finished_at >= started_at, error FROM information_schema.kafka_scans",
		"state|splits = splits_done|offsets|offsets_done|percent|records|bytes_fetched > 0|bytes_decoded > 0|batches > 0|requests > 0|retries|mb_per_second > 0|memory_bytes|finished_at >= started_at|error\n"+
			"finished|1|1000|1000|100|1000|1|1|1|1|0|1|0|1|NULL")
	want(t, root, "SELECT table_name FROM information_schema.tables WHERE table_name IN ('kafka_scans', 'processlist') ORDER BY 1", "TABLE_NAME\nkafka_scans\nprocesslist")
}

func TestScansSayHowTheyEnded(t *testing.T) {
	b, call := orders(t, 20_000)
	r := start(t)
	root := r.root(t)
	root.SetMaxOpenConns(2)
	last := "SELECT state, offsets_done < offsets AS part, error FROM information_schema.kafka_scans ORDER BY scan_id DESC LIMIT 1"
	ended := func(result string) {
		t.Helper()
		eventually(t, root, last, func(got string) bool { return got == "state|part|error\n"+result })
	}
	want(t, root, "SELECT partition FROM "+call+" WHERE partition = 1 LIMIT 1", "partition\n1")
	ended("finished|1|NULL")
	want(t, root, "SELECT records > 0 FROM information_schema.kafka_scans", "records > 0\n1")
	_, err := rows(root, "SELECT sum(value::string::bigint) FROM "+call)
	wantError(t, err, 1292, "22007", "")
	eventually(t, root, last, func(got string) bool {
		return strings.HasPrefix(got, "state|part|error\nfailed|") && strings.HasSuffix(got, "invalid value 'many' for BIGINT")
	})
	do(t, root, "CREATE TABLE two (id INT)")
	do(t, root, "INSERT INTO two VALUES (1), (2)")
	// EXISTS leaves at the first row.
	want(t, root, "SELECT count(*) FROM two WHERE EXISTS (SELECT 1 FROM "+call+" r WHERE r.offset >= two.id)", "count(*)\n2")

	// A STREAM has no end to measure progress by.
	follow, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := root.ExecContext(follow, "SELECT value FROM STREAM "+call)
		left <- err
	}()
	const percents = "SELECT state, percent FROM information_schema.kafka_scans ORDER BY scan_id DESC LIMIT 1"
	eventually(t, root, percents, func(got string) bool { return got == "state|percent\nrunning|NULL" })
	eventually(t, root, "SELECT state FROM information_schema.processlist WHERE info LIKE '%STREAM%' AND info NOT LIKE '%processlist%'", func(got string) bool {
		return strings.HasPrefix(got, "STATE\nreading: 0 records") || strings.HasPrefix(got, "state\nreading: 0 records")
	})
	leave()
	<-left
	eventually(t, root, percents, func(got string) bool { return got == "state|percent\ncancelled|NULL" })

	b.HoldFetches(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := root.ExecContext(ctx, "SELECT max(value) FROM "+call)
		done <- err
	}()
	eventually(t, root, last, func(got string) bool { return strings.HasPrefix(got, "state|part|error\nrunning|") })
	cancel()
	<-done
	eventually(t, root, last, func(got string) bool { return strings.HasPrefix(got, "state|part|error\ncancelled|1|") })
}

// orders is a topic of n records in two partitions, the last of which is no number, and the call that reads it.
func orders(t *testing.T, n int) (b *testkit.Broker, call string) {
	t.Helper()
	b = testkit.StartBroker(t)
	b.Topic(t, "orders", 2, nil)
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: fmt.Append(nil, i)}
	}
	records[n-1].Value = []byte("many")
	testkit.Produce(t, b.Client(t), records...)
	return b, "read_kafka(bootstrapServers => '" + b.Addrs[0] + "', subscribe => 'orders')"
}

func TestOnlyTheLastScansAreKept(t *testing.T) {
	var l scanLog
	for i := range uint64(scansKept + 10) {
		l.end(nil, scanRecord{id: i + 1})
	}
	all := l.list(func(*scanRecord) bool { return true })
	if len(all) != scansKept || all[0].id != 11 || all[scansKept-1].id != scansKept+10 {
		t.Errorf("%d scans from %d to %d", len(all), all[0].id, all[len(all)-1].id)
	}
}

func TestProgressAddsUpTheScansOfAStatement(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	scans := []scanRecord{
		{started: begin.Add(time.Second), finished: begin.Add(2 * time.Second), stats: scan.Stats{Offsets: 100, OffsetsDone: 100, Records: 90, BytesFetched: 5e6}},
		{started: begin, stats: scan.Stats{Offsets: 300, OffsetsDone: 60, Records: 60, BytesFetched: 15e6}},
	}
	p := progressOf(scans, begin.Add(4*time.Second))
	if got, want := p.String(), "40.0 %, 150 records, 5.0 MB/s, 6s left"; got != want || p.Running != 1 {
		t.Errorf("%q of %d running, want %q", got, p.Running, want)
	}
	if got, want := (Progress{Offsets: 10, Elapsed: time.Second}).String(), "0.0 %, 0 records, 0.0 MB/s"; got != want {
		t.Errorf("nothing read: %q, want %q", got, want)
	}
	if got, want := (Progress{Endless: true, Offsets: 5, OffsetsDone: 5, Records: 5, Elapsed: time.Second}).String(), "5 records, 0.0 MB/s"; got != want {
		t.Errorf("without an end: %q, want %q", got, want)
	}
	if got := (Progress{}).Percent(); got != 100 {
		t.Errorf("nothing to read: %v %%", got)
	}
}

func TestTopicsOfManySplitsAreNamedInPart(t *testing.T) {
	var splits []scan.Split
	for i := range 24 {
		splits = append(splits, scan.Split{Topic: fmt.Sprintf("t%02d", i/2)})
	}
	if got, want := topicsOf(splits), "t00,t01,t02,t03,t04,t05,t06,t07,t08,t09,2 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Bad data of queries is counted: who runs the server sees a producer that went wrong without reading warnings of others.
func TestBadDataIsCounted(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "mixed", 1, nil)
	for _, value := range []string{`{"n":1}`, `{"n":"x"}`, `{`, `{"n":4}`, ``} {
		testkit.Produce(t, b.Client(t), &kgo.Record{Topic: "mixed", Value: []byte(value)})
	}
	r := start(t)
	root := r.root(t)
	call := func(mode string) string {
		return "read_kafka(bootstrapServers => '" + b.Addrs[0] + "', subscribe => 'mixed', format => 'json', schema => 'n INT', mode => '" + mode + "')"
	}
	want(t, root, "SELECT sum(n) AS s FROM "+call("PERMISSIVE"), "s\n5")
	const last = "SELECT records, bad_records, bad_fields, dropped_records FROM information_schema.kafka_scans ORDER BY scan_id DESC LIMIT 1"
	const head = "records|bad_records|bad_fields|dropped_records\n"
	want(t, root, last, head+"5|2|1|0")
	want(t, root, "SELECT count(*) AS n FROM "+call("DROPMALFORMED"), "n\n2")
	want(t, root, last, head+"5|2|1|3")
	// Nothing is decoded where nothing is asked of the fields.
	want(t, root, "SELECT count(*) AS n FROM "+call("PERMISSIVE"), "n\n5")
	want(t, root, last, head+"5|0|0|0")
	text := metricsText(t, r)
	for _, metric := range []string{`millrace_scan_bad_records_total{format="json"} 4`, `millrace_scan_bad_fields_total{format="json"} 2`, `millrace_scan_dropped_records_total{format="json"} 3`} {
		if !strings.Contains(text, metric+"\n") {
			t.Errorf("/metrics lacks %s", metric)
		}
	}
}
