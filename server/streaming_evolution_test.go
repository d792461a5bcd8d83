package server

import (
	"encoding/binary"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"millrace/internal/testkit"
)

// evolving is a topic of Avro with a registry.
type evolving struct {
	*testkit.Broker
	registry *srfake.Registry
	url      string
	send     func(schema uint32, bodies ...string)
}

func evolvingTopic(t *testing.T) *evolving {
	t.Helper()
	x := &evolving{Broker: testkit.StartBroker(t), registry: srfake.NewRegistry()}
	x.Topic(t, "orders", 1, nil)
	s := httptest.NewServer(x.registry.Handler())
	t.Cleanup(s.Close)
	x.url = s.URL
	cl := x.Client(t)
	x.send = func(schema uint32, bodies ...string) {
		t.Helper()
		for _, body := range bodies {
			testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Value: append(binary.BigEndian.AppendUint32([]byte{0}, schema), body...)})
		}
	}
	return x
}

// version registers a version of the subject whose fields are these.
func (x *evolving) version(number, id int, fields string) {
	x.registry.SeedSchema("orders-value", number, id, sr.Schema{Schema: `{"type":"record","name":"order","fields":[` + fields + `]}`})
}

func (x *evolving) read(more string) string {
	return fmt.Sprintf("STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest', format => 'avro', schemaRegistryUrl => '%s'%s)", x.Addrs[0], x.url, more)
}

const (
	idField   = `{"name":"id","type":"long"}`
	noteField = `{"name":"note","type":["null","string"],"default":null}`
	cityField = `{"name":"city","type":"string","default":"?"}`
)

func TestTablesFollowSchemasThatEvolve(t *testing.T) {
	x := evolvingTopic(t)
	x.version(1, 1, idField)
	x.send(1, "\x02", "\x04")
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.DataDir = dir })
	db := r.root(t)
	for table, statement := range map[string]string{
		"keeps": "SELECT * FROM " + x.read(""), "adds": "SELECT * FROM " + x.read(", schemaEvolution => 'add_columns'"), "stops": "SELECT * FROM " + x.read(", schemaEvolution => 'restart'"),
		"named": "SELECT id * 10 AS ten FROM " + x.read(", schemaEvolution => 'add_columns'"),
	} {
		do(t, db, "CREATE STREAMING TABLE "+table+" AS "+statement)
		gives(t, db, "SELECT count(*) FROM "+table, "2")
	}
	listed := "SELECT group_concat(column_name ORDER BY ordinal_position) FROM information_schema.columns WHERE left(column_name, 1) <> '_' AND table_name = "
	x.version(2, 2, idField+","+noteField)
	x.send(2, "\x06\x02\x02a", "\x08\x00")
	x.send(1, "\x0a")
	comes(t, r, "SELECT id, note FROM adds ORDER BY id", "1|NULL\n2|NULL\n3|a\n4|NULL\n5|NULL")
	comes(t, r, "SELECT id FROM keeps ORDER BY id", "1\n2\n3\n4\n5")
	comes(t, r, "SELECT ten FROM named ORDER BY 1", "10\n20\n30\n40\n50")
	comes(t, r, "SELECT state, reason LIKE '%version 2%RESUME%' FROM information_schema.streaming_tables WHERE table_name = 'stops'", "failed|1")
	gives(t, db, "SELECT id FROM stops ORDER BY id", "1\n2")
	gives(t, db, listed+"'adds'", "id,note")
	gives(t, db, listed+"'keeps'", "id")
	gives(t, db, "SELECT message FROM information_schema.streaming_event_log WHERE event_type = 'schema_evolved' AND table_name = 'adds'", "version 2 of subject 'orders-value' taken over, new columns: note")
	do(t, db, "ALTER STREAMING TABLE stops RESUME")
	comes(t, r, "SELECT id, note FROM stops ORDER BY id", "1|NULL\n2|NULL\n3|a\n4|NULL\n5|NULL")

	// A start of the server takes what has come meanwhile for the table that stops, and leaves the columns of the others.
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	x.version(3, 3, idField+","+cityField) // without a note
	x.send(3, "\x0c\x02b")
	r = start(t, func(c *Config) { c.DataDir = dir })
	db = r.root(t)
	comes(t, r, "SELECT id, note, city FROM adds WHERE id > 4 ORDER BY id", "5|NULL|NULL\n6|NULL|b")
	comes(t, r, "SELECT id, note, city FROM stops WHERE id > 4 ORDER BY id", "5|NULL|NULL\n6|NULL|b")
	comes(t, r, "SELECT id FROM keeps WHERE id > 4 ORDER BY id", "5\n6")
	gives(t, db, listed+"'keeps'", "id")
	comes(t, r, "SELECT table_name, state FROM information_schema.streaming_tables ORDER BY 1", "adds|running\nkeeps|running\nnamed|running\nstops|running")
	do(t, db, "CREATE OR REFRESH STREAMING TABLE keeps AS SELECT * FROM "+x.read(""))
	x.send(3, "\x0e\x02c")
	comes(t, r, "SELECT id, city FROM keeps WHERE id > 5 ORDER BY id", "6|NULL\n7|c")
	do(t, db, "REFRESH STREAMING TABLE stops FULL")
	gives(t, db, "SELECT id, city FROM stops ORDER BY id DESC LIMIT 2", "7|c\n6|b")

	// Rows that are there do not survive another type.
	x.version(4, 4, `{"name":"id","type":"string"}`)
	x.send(4, "\x02x")
	comes(t, r, "SELECT state, reason LIKE '%column ''id'' is BIGINT and would become STRING%' FROM information_schema.streaming_tables WHERE table_name = 'adds'", "failed|1")
	gives(t, db, "SELECT count(*), max(id) FROM adds", "7|7")
	// The documentation said that any table fails there: without evolution it reads on.
	comes(t, r, "SELECT id, _error IS NOT NULL FROM keeps ORDER BY _partition, _offset DESC LIMIT 1", "NULL|1")
	gives(t, db, "SELECT state FROM information_schema.streaming_tables WHERE table_name = 'keeps'", "running")
}

func TestSchemasOfWhichOnlyOneVersionCountsDoNotEvolve(t *testing.T) {
	x := evolvingTopic(t)
	x.version(1, 1, idField)
	db := start(t).root(t)
	for _, c := range []struct{ read, text string }{
		{x.read(", schemaEvolution => 'add_columns', schemaRegistryVersion => 1"), "fixes the columns"},
		{strings.Replace(x.read(", schemaEvolution => 'restart', schema => 'id BIGINT'"), "format => 'avro', schemaRegistryUrl => '"+x.url+"'", "format => 'json'", 1), "no schema registry"},
		{x.read(", schemaEvolution => 'rescue'"), "'rescue'"},
	} {
		if _, err := rows(db, "CREATE STREAMING TABLE t AS SELECT * FROM "+c.read); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.read, err)
		}
	}
}
