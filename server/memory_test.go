package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// wideTopic has 640 records of 50,000 bytes, each different.
func wideTopic(t *testing.T) (call string) {
	t.Helper()
	b := testkit.StartBroker(t)
	b.Topic(t, "wide", 2, nil)
	cl := b.Client(t)
	for batch := range 40 {
		var records []*kgo.Record
		for i := range 16 {
			records = append(records, &kgo.Record{Topic: "wide", Partition: int32(i % 2), Value: append(fmt.Appendf(nil, "%02d-%02d", batch, i), make([]byte, 50_000)...)})
		}
		testkit.Produce(t, cl, records...)
	}
	return "read_kafka(bootstrapServers => '" + b.Addrs[0] + "', subscribe => 'wide')"
}

// metricsText is what /metrics shows.
func metricsText(t *testing.T, r *running) string {
	t.Helper()
	res, err := http.Get("http://" + r.http + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return string(text)
}

// TestStatementsThatOutgrowTheirMemoryGoOnOnDisk: of 32 MB of groups or sorted rows a quarter of the limit fits.
func TestStatementsThatOutgrowTheirMemoryGoOnOnDisk(t *testing.T) {
	call := wideTopic(t)
	dir := t.TempDir()
	temp := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(temp, "spill-7"), []byte("of a server that died"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, func(c *Config) { c.MemoryLimit, c.DataDir = "64MiB", dir })
	db := r.root(t)
	empty := func() {
		t.Helper()
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("temporary files are left: %v, %v", left, err)
		}
	}
	empty()
	const spilled = "SELECT spilled_bytes > 10000000 AS spilled, memory_peak_bytes < 32 << 20 AS within, memory_bytes FROM information_schema.kafka_scans ORDER BY scan_id DESC LIMIT 1"
	last := func() {
		t.Helper()
		eventually(t, db, spilled, func(got string) bool { return got == "spilled|within|memory_bytes\n1|1|0" })
		empty()
	}
	got, err := rows(db, "SELECT substring(value, 1, 5) AS v FROM "+call+" ORDER BY value DESC")
	if list := strings.Split(got, "\n"); err != nil || len(list) != 641 || list[1] != "39-15" || list[640] != "00-00" {
		t.Fatalf("sorted: %d rows, %v", len(list), err)
	}
	last()
	want(t, db, "SELECT count(*) AS n, min(n) AS least, max(n) AS most FROM (SELECT value, count(*) AS n FROM "+call+" GROUP BY value) d", "n|least|most\n640|1|1")
	last()
	want(t, db, "SELECT substring(value, 1, 5) AS v, count(*) AS n FROM "+call+" GROUP BY value HAVING n = 1 ORDER BY value LIMIT 2", "v|n\n00-00|1\n00-01|1")
	last()
	want(t, db, "SELECT count(DISTINCT value) AS n FROM "+call, "n\n640")
	last()
	// The best rows of a small LIMIT fit.
	want(t, db, "SELECT length(value) AS n FROM "+call+" ORDER BY value DESC LIMIT 1", "n\n50005")
	want(t, db, "SELECT spilled_bytes FROM information_schema.kafka_scans ORDER BY scan_id DESC LIMIT 1", "spilled_bytes\n0")
	got, err = rows(db, "EXPLAIN ANALYZE SELECT value FROM "+call+" ORDER BY value")
	if err != nil || !strings.Contains(got, "bytes to temporary files") {
		t.Errorf("EXPLAIN ANALYZE: %v\n%s", err, got)
	}
	text := metricsText(t, r)
	for _, metric := range []string{"millrace_memory_bytes 0\n", "millrace_memory_limit_bytes 3.3554432e+07\n", "millrace_temp_bytes 0\n", "millrace_spilled_bytes_total ", "millrace_scan_memory_peak_bytes_count "} {
		if !strings.Contains(text, metric) {
			t.Errorf("/metrics lacks %s", metric)
		}
	}
}

// TestWhatHasNoRoomOnDiskIsAnError: the statement fails and says why, the server goes on.
func TestWhatHasNoRoomOnDiskIsAnError(t *testing.T) {
	call := wideTopic(t)
	r := start(t, func(c *Config) { c.MemoryLimit, c.TempLimit = "64MiB", "1MB" })
	db := r.root(t)
	for _, query := range []string{"SELECT value FROM " + call + " ORDER BY value", "SELECT value, count(*) FROM " + call + " GROUP BY value", "SELECT count(DISTINCT value) FROM " + call} {
		_, err := rows(db, query)
		wantError(t, err, 31041, "HY000", "the 1000000 bytes of '--temp-limit'")
	}
	want(t, db, "SELECT count(*) FROM "+call, "count(*)\n640")
}

// TestRowsThatTheEngineKeepsCountAgainstTheStatement: 32 MB of rows in a join, a window or a sort above them were nobody's, and a few such statements
// ended the process.
func TestRowsThatTheEngineKeepsCountAgainstTheStatement(t *testing.T) {
	call := wideTopic(t)
	r := start(t, func(c *Config) { c.MemoryLimit = "64MiB" })
	db := r.root(t)
	values := "SELECT value AS v FROM " + call
	for what, query := range map[string]string{
		"the different rows of the statement":     values + " UNION " + values,
		"the rows of INTERSECT and EXCEPT":        values + " EXCEPT ALL " + values,
		"the groups of GROUP BY":                  "SELECT v, count(*) FROM (" + values + " UNION ALL " + values + ") d GROUP BY v",
		"the different values of COUNT(DISTINCT)": "SELECT count(DISTINCT v) FROM (" + values + " UNION ALL " + values + ") d",
		"the rows of the inner side of a join":    "SELECT count(*) FROM " + call + " a JOIN " + call + " b ON a.value = b.value",
		"the rows of window functions":            "SELECT max(n) FROM (SELECT length(value) + row_number() OVER (ORDER BY value) AS n FROM " + call + ") d",
		"the rows of ORDER BY":                    "SELECT value FROM " + call + " UNION ALL SELECT value FROM " + call + " ORDER BY 1",
		"the first rows of ORDER BY":              "SELECT value FROM " + call + " UNION ALL SELECT value FROM " + call + " ORDER BY 1 LIMIT 1000",
	} {
		_, err := rows(db, query)
		wantError(t, err, 31040, "HY000", what+" need more than the statement's 16777216 bytes of memory")
	}
	// Small ones are as before, again and again.
	for range 3 {
		want(t, db, "SELECT count(*) AS n FROM "+call+" a JOIN (SELECT value AS v FROM "+call+" WHERE offset < 5) b ON a.value = b.v", "n\n10")
		want(t, db, "SELECT count(*) AS n FROM (SELECT value FROM "+call+" WHERE offset < 5 UNION SELECT value FROM "+call+" WHERE offset < 5) d", "n\n10")
		want(t, db, "SELECT count(*) AS n FROM (SELECT row_number() OVER (ORDER BY offset) AS n FROM "+call+") d", "n\n640")
	}
	// The metric is read again: the end of a statement is noticed by a goroutine.
	for deadline := time.Now().Add(testkit.Patience); !strings.Contains(metricsText(t, r), "\nmillrace_memory_bytes 0\n"); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("memory is held after the statements")
		}
	}
}
