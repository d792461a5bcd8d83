package server

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// A table whose columns were those of its topic's first records was typed anew when its server was started again: by whatever records came first then, or by none, when
// all were gone.
func TestColumnsOfASampleAreThoseOfTheTableForEver(t *testing.T) {
	for name, c := range map[string]struct {
		arguments, columns string
		// before has the sample, other would give other columns, after has the sample's again.
		before, other, after string
		two, rows            string // the first two columns
	}{
		"json": {"format => 'json', inferSchema => true", "id:bigint,city:longtext,at:json",
			`{"id":1,"city":"a","at":{"x":[1]}}`, `{"id":"2","zip":[1],"City":2}`, `{"id":3,"city":"c","at":null}`, "id, city", "1|a\n2|NULL\n3|c"},
		"csv":         {"format => 'csv'", "c1:longtext,c2:longtext", "1,a", "2,b,more", "3,c", "c1, c2", "1|a\nNULL|NULL\n3|c"},
		"csv, header": {"format => 'csv', header => true", "id:longtext,city:longtext", "id,city\n1,a", "zip,id\n9,2", "id,city\n3,c", "id, city", "1|a\n2|NULL\n3|c"},
		"debezium": {"format => 'debezium'", "id:bigint,city:longtext",
			`{"op":"c","after":{"id":1,"city":"a"}}`, `{"op":"c","after":{"zip":1}}`, `{"op":"c","after":{"id":3,"city":"c"}}`, "id, city", "1|a\nNULL|NULL\n3|c"},
	} {
		t.Run(name, func(t *testing.T) {
			b := testkit.StartBroker(t)
			b.Topic(t, "orders", 1, nil)
			cl := b.Client(t)
			produce := func(value string) { testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Value: []byte(value)}) }
			produce(c.before)
			dir := t.TempDir()
			r := start(t, func(c *Config) { c.DataDir = dir })
			do(t, r.root(t), fmt.Sprintf("CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest', mode => 'PERMISSIVE', %s)", b.Addrs[0], c.arguments))
			listed := "SELECT group_concat(concat(column_name, ':', data_type) ORDER BY ordinal_position) FROM information_schema.columns WHERE left(column_name, 1) <> '_' AND table_name = 't'"
			gives(t, r.root(t), listed, c.columns)
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			if err := b.DeleteRecords("orders", 0, 1); err != nil {
				t.Fatal(err)
			}
			r = start(t, func(c *Config) { c.DataDir = dir }) // the sample is gone, and nothing else is there
			comes(t, r, "SELECT state FROM information_schema.streaming_tables", "running")
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			produce(c.other)
			r = start(t, func(c *Config) { c.DataDir = dir })
			produce(c.after)
			comes(t, r, "SELECT next_offset FROM information_schema.streaming_table_partitions", "3")
			comes(t, r, "SELECT state FROM information_schema.streaming_tables", "running")
			gives(t, r.root(t), listed, c.columns)
			gives(t, r.root(t), "SELECT "+c.two+" FROM t ORDER BY _offset", c.rows)
		})
	}
}
