package server

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// TestScansKeepToTheMemoryLimit: groups and sorted rows of a scan may take a quarter of it.
func TestScansKeepToTheMemoryLimit(t *testing.T) {
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
	r := start(t, func(c *Config) { c.MemoryLimit = "64MiB" })
	db := r.root(t)
	call := "read_kafka(bootstrapServers => '" + b.Addrs[0] + "', subscribe => 'wide')"
	for _, query := range []string{
		"SELECT offset FROM (SELECT value, offset FROM " + call + " ORDER BY value LIMIT 100000) d",
		"SELECT value, count(*) FROM " + call + " GROUP BY value",
	} {
		rows, err := db.Query(query)
		if err == nil {
			for rows.Next() {
			}
			err = rows.Err()
			_ = rows.Close()
		}
		wantError(t, err, 31040, "HY000", "bytes of memory")
	}
	want(t, db, "SELECT count(*) FROM "+call, "count(*)\n640")
	want(t, db, "SELECT length(value) FROM "+call+" ORDER BY value DESC LIMIT 1", "length(value)\n50005")
}
