package readkafka

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"millrace/internal/sqlerr"
)

const (
	payment1 = `{"type":"record","name":"Payment","fields":[{"name":"id","type":"long"},{"name":"note","type":["null","string"],"default":null}]}`
	payment2 = `{"type":"record","name":"Payment","fields":[{"name":"currency","type":"string","default":"EUR"},{"name":"id","type":"long"},{"name":"place","type":["null","Place"],"default":null}]}`
	place    = `{"type":"record","name":"Place","fields":[{"name":"city","type":"string"}]}`
	shop1    = `syntax = "proto3"; package shop; message Order { int64 id = 1; } message Box { message View { string url = 1; } }`
	shop2    = `syntax = "proto3"; package shop; import "place.proto"; message Order { int64 id = 1; optional string note = 2; Place place = 3; } message Box { message View { string url = 1; } }`
	placePB  = `syntax = "proto3"; package shop; message Place { string city = 1; }`
)

// registryOf is a registry with the schemas above; down makes it fail.
func registryOf(t *testing.T) (url string, down *atomic.Bool) {
	t.Helper()
	r := srfake.NewRegistry()
	r.SeedSchema("place", 1, 1, sr.Schema{Schema: place})
	r.SeedSchema("t-value", 1, 2, sr.Schema{Schema: payment1})
	r.SeedSchema("t-value", 2, 3, sr.Schema{Schema: payment2, References: []sr.SchemaReference{{Name: "Place", Subject: "place", Version: 1}}})
	r.SeedSchema("place.proto", 1, 4, sr.Schema{Schema: placePB, Type: sr.TypeProtobuf})
	r.SeedSchema("shop", 1, 5, sr.Schema{Schema: shop1, Type: sr.TypeProtobuf})
	r.SeedSchema("shop", 2, 6, sr.Schema{Schema: shop2, Type: sr.TypeProtobuf, References: []sr.SchemaReference{{Name: "place.proto", Subject: "place.proto", Version: 1}}})
	r.SeedSchema("t-key", 1, 7, sr.Schema{Schema: `"string"`})
	r.SeedSchema("docs", 1, 8, sr.Schema{Schema: `{"type":"object","properties":{"id":{"type":"integer"}}}`, Type: sr.TypeJSON})
	r.SeedSchema("cdc", 1, 9, sr.Schema{Schema: envelopeAvro})
	r.SeedSchema("cdc-json", 1, 10, sr.Schema{Schema: envelopeJSON, Type: sr.TypeJSON})
	down = new(atomic.Bool)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		// The GUID of a schema ends with its id.
		if guid, ok := strings.CutPrefix(req.URL.Path, "/schemas/guids/00000000-0000-0000-0000-0000000000"); ok {
			id, err := strconv.ParseInt(guid, 16, 32)
			if err != nil {
				t.Error(err)
			}
			req.URL.Path = fmt.Sprintf("/schemas/ids/%d", id)
		}
		r.Handler().ServeHTTP(w, req)
	}))
	t.Cleanup(s.Close)
	return s.URL, down
}

func written(id uint32, body string) string {
	return string(append(binary.BigEndian.AppendUint32([]byte{0}, id), body...))
}

func TestAvroWithRegistry(t *testing.T) {
	url, down := registryOf(t)
	records := values(
		written(2, "\x02\x02\x02a"), written(3, "\x06CZK\x04\x02\x08Oslo"), nil, written(3, "\x06EUR\x06\x00"), written(2, "\x08\x00"),
		written(99, "x"), written(5, "x"), "\x00\x00", `{"id":1}`, "", written(3, "\x06EUR"), written(2, "\x0a\x00"))
	records[0].Key = []byte(written(7, "\x04k1"))
	s := newSession(t, newTopic(t, records...))
	args := ", 'format', 'avro', 'schemaRegistryUrl', '" + url + "'"
	expectRows(t, s.both("SELECT _offset, currency, id, place FROM %s WHERE _error IS NULL", args),
		`0|EUR|1|NULL`, `1|CZK|2|{"city":"Oslo"}`, `2|NULL|NULL|NULL`, `3|EUR|3|NULL`, `4|EUR|4|NULL`, `11|EUR|5|NULL`)
	expectRows(t, s.both("SELECT _offset, _error FROM %s WHERE _error IS NOT NULL", args),
		"5|value: unknown schema id: the schema registry has no schema with id 99 at byte 1",
		"6|value: unknown schema id: schema 5 is of type PROTOBUF, not AVRO at byte 1",
		"7|value: no schema id: the record ends within the id at byte 2",
		"8|value: no schema id: the first byte is 0x7b, that of a record with a schema id is 0; it begins like JSON, which format => 'json' reads without 'schemaRegistryUrl' at byte 0",
		"9|value: empty",
		"10|value: truncated at byte 9")
	expectRows(t, s.both("SELECT id, note FROM %s WHERE note IS NOT NULL", args+", 'schema_registry_version', 1"), "1|a")
	expectRows(t, s.both("SELECT SUM(id), COUNT(*) FROM %s WHERE currency = 'EUR'", args+", 'mode', 'DROPMALFORMED'"), "13|4")
	expectRows(t, s.both("SELECT `key`, id FROM %s WHERE `key` IS NOT NULL", args+", 'keyFormat', 'avro'"), "k1|1")
	s.mustQuery("SET SESSION pushdown = 'on'")

	s.ctx.ClearWarnings()
	s.mustQuery("SELECT id FROM $('subscribe', 't', 'format', 'avro', 'schema', 'x', 'schemaRegistryUrl', '" + url + "') LIMIT 1")
	if w := fmt.Sprint(s.ctx.Warnings()[0].Message); w != "'schema' is ignored: the schema registry says what the fields are" {
		t.Error(w)
	}

	// A registry that stops to answer ends the statement, it is no bad data.
	s = newSession(t, s.broker)
	down.Store(true)
	_, err := s.query("SELECT id FROM $('subscribe', 't', 'format', 'avro', 'schemaRegistryUrl', '" + url + "')")
	if !sqlerr.HasKind(err, sqlerr.RegistryAuth) {
		t.Errorf("%v", err)
	}
	down.Store(false)
	rows := s.mustQuery("SELECT id FROM $('subscribe', 't', 'format', 'avro', 'schemaRegistryUrl', '" + url + "') WHERE _offset = 1")
	expectRows(t, s.show(rows), "2")
	down.Store(true)
	if _, err = s.query("SELECT id FROM $('subscribe', 't', 'format', 'avro', 'schemaRegistryVersion', 2, 'schemaRegistryUrl', '" + url + "')"); !sqlerr.HasKind(err, sqlerr.RegistryAuth) {
		t.Errorf("%v", err)
	}
}

func TestProtobufWithRegistry(t *testing.T) {
	url, _ := registryOf(t)
	s := newSession(t, newTopic(t, values(
		written(5, "\x00\x08\x01"), written(6, "\x02\x00\x08\x02\x12\x01n\x1a\x06\x0a\x04Oslo"), nil, written(5, "\x04\x02\x00\x0a\x01/"), written(5, "\x02\x08"), written(5, "\x00\x08"), written(6, ""))...))
	args := ", 'format', 'proto', 'schemaRegistrySubject', 'shop', 'schemaRegistryUrl', '" + url + "'"
	expectRows(t, s.both("SELECT id, note, place, _error FROM %s", args),
		"1|NULL|NULL|NULL", `2|n|{"city":"Oslo"}|NULL`, "NULL|NULL|NULL|NULL",
		"NULL|NULL|NULL|value: wrong type: a message shop.Box.View, not shop.Order at byte 5",
		"NULL|NULL|NULL|value: unknown schema id: schema 5 has no message at [4] at byte 5",
		"NULL|NULL|NULL|value: truncated at byte 7", "NULL|NULL|NULL|value: truncated: message index at byte 5")
	expectRows(t, s.both("SELECT url FROM %s", args+", 'messageName', 'shop.Box.View', 'mode', 'DROPMALFORMED', 'tombstones', 'skip'"), "/")
}

const envelopeAvro = `{"type":"record","name":"Envelope","fields":[{"name":"before","type":["null",{"type":"record","name":"Value","fields":[
	{"name":"id","type":"long"},{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":8,"scale":2}},{"name":"at","type":{"type":"long","connect.name":"io.debezium.time.MicroTimestamp"}},
	{"name":"note","type":["null","string"],"default":null}]}],"default":null},{"name":"after","type":["null","Value"],"default":null},
	{"name":"source","type":{"type":"record","name":"Source","fields":[{"name":"ts_ms","type":"long"}]}},{"name":"op","type":"string"}]}`

func TestDebeziumWithRegistry(t *testing.T) {
	url, _ := registryOf(t)
	row := "\x02\x04\x00\x96\x00\x02\x02n" // id 1, price 1.50, at 0, note n
	s := newSession(t, newTopic(t, values(
		written(9, "\x00\x02"+row+"\xd0\x0f\x02c"), written(9, "\x02"+row+"\x00\x00\x02d"), nil, written(9, "\x00\x00\x00\x02"), written(99, "x"))...))
	args := ", 'format', 'debezium', 'schemaRegistrySubject', 'cdc', 'schemaRegistryUrl', '" + url + "'"
	expectRows(t, s.both("SELECT id, price, at, note, _op, _source_ts, _before FROM %s WHERE _error IS NULL", args),
		"1|1.50|1970-01-01 00:00:00|n|c|1970-01-01 00:00:01|NULL",
		`1|1.50|1970-01-01 00:00:00|n|d|1970-01-01 00:00:00|{"id":1,"price":1.50,"at":"1970-01-01T00:00:00.000000","note":"n"}`,
		"NULL|NULL|NULL|NULL|NULL|NULL|NULL")
	expectRows(t, s.both("SELECT _offset, _error IS NOT NULL FROM %s WHERE _offset > 2", args), "3|true", "4|true")
	if _, err := s.query("SELECT * FROM $('subscribe', 't', 'format', 'debezium', 'schemaRegistryUrl', '" + url + "')"); err == nil || !strings.Contains(err.Error(), "is not the schema of a Debezium envelope") {
		t.Error(err)
	}
}

// envelopeJSON is as Confluent's JsonSchemaConverter writes it.
const envelopeJSON = `{"type":"object","title":"shop.orders.Envelope","connect.version":1,"properties":{
	"op":{"type":"string","connect.index":3},
	"before":{"connect.index":0,"oneOf":[{"type":"null"},{"type":"object","title":"shop.orders.Value","properties":{
		"note":{"connect.index":3,"oneOf":[{"type":"null"},{"type":"string"}]},
		"at":{"type":"integer","title":"io.debezium.time.MicroTimestamp","connect.index":2,"connect.type":"int64","connect.version":1},
		"price":{"type":"string","title":"org.apache.kafka.connect.data.Decimal","connect.index":1,"connect.type":"bytes","connect.parameters":{"scale":"2","connect.decimal.precision":"8"}},
		"id":{"type":"integer","connect.index":0,"connect.type":"int32"}}}]},
	"after":{"connect.index":1,"oneOf":[{"type":"null"},{"$ref":"#/properties/before/oneOf/1"}]},
	"source":{"type":"object","connect.index":2,"properties":{"ts_ms":{"type":"integer","connect.type":"int64"}}}}}`

func TestDebeziumWithJSONSchema(t *testing.T) {
	url, _ := registryOf(t)
	s := newSession(t, newTopic(t, values(
		written(10, `{"before":null,"after":{"id":1,"price":"AJY=","at":1000000,"note":null},"source":{"ts_ms":1000},"op":"c"}`),
		written(10, `{"before":{"id":1,"price":"AJY=","at":0,"note":"n"},"after":null,"source":{"ts_ms":2000},"op":"d"}`),
		nil, `{"op":"c"}`, written(10, `{}`))...))
	args := ", 'format', 'debezium', 'schemaRegistrySubject', 'cdc-json', 'schemaRegistryUrl', '" + url + "'"
	expectRows(t, s.both("SELECT * FROM (SELECT id, price, at, note, _op, _source_ts, _before FROM %s WHERE _error IS NULL) x", args),
		"1|1.50|1970-01-01 00:00:01|NULL|c|1970-01-01 00:00:01|NULL",
		`1|1.50|1970-01-01 00:00:00|n|d|1970-01-01 00:00:02|{"id":1,"price":"AJY=","at":0,"note":"n"}`,
		"NULL|NULL|NULL|NULL|NULL|NULL|NULL")
	expectRows(t, s.both("SELECT _offset FROM %s WHERE _error IS NOT NULL", args), "3", "4")
	if _, err := s.query("SELECT * FROM $('subscribe', 't', 'format', 'debezium', 'schemaRegistrySubject', 'docs', 'schemaRegistryUrl', '" + url + "')"); err == nil || !strings.Contains(err.Error(), "is not the schema of a Debezium envelope") {
		t.Error(err)
	}
	if _, err := s.query("SELECT * FROM $('subscribe', 't', 'format', 'debezium', 'schemaRegistrySubject', 'shop', 'schemaRegistryUrl', '" + url + "')"); err == nil || !strings.Contains(err.Error(), "are read in Avro and JSON") {
		t.Error(err)
	}
}

func TestJSONSchemaWithRegistry(t *testing.T) {
	url, _ := registryOf(t)
	s := newSession(t, newTopic(t, values(written(8, `{"id":1}`), written(9, `{"id":2}`), `{"id":3}`, nil)...))
	expectRows(t, s.both("SELECT id, _error IS NULL FROM %s", ", 'format', 'json', 'schemaRegistrySubject', 'docs', 'schemaRegistryUrl', '"+url+"'"), "1|true", "2|true", "NULL|false", "NULL|true")
	expectRows(t, s.both("SELECT _error FROM %s WHERE _offset = 0", ", 'format', 'json', 'schema', 'id INT'"),
		"value: malformed: the record seems to carry a schema id, as its first byte is 0: 'schemaRegistryUrl' reads such records")
}

// Confluent's newer serializers put the GUID of the schema, or its id, into a header and leave the record alone.
func TestSchemaIDsInHeaders(t *testing.T) {
	url, _ := registryOf(t)
	guid := func(id byte, index string) string {
		return "\x01" + strings.Repeat("\x00", 15) + string([]byte{id}) + index
	}
	topic := func(list []any, headers ...string) []kgo.Record {
		records := values(list...)
		for i, h := range headers {
			records[i].Headers = []kgo.RecordHeader{{Key: "trace", Value: []byte("x")}}
			if h != "" {
				records[i].Headers = append(records[i].Headers, kgo.RecordHeader{Key: "__value_schema_id", Value: []byte(h)})
			}
		}
		return records
	}
	records := topic([]any{"\x02\x02\x02a", "\x06CZK\x04\x02\x08Oslo", written(2, "\x04\x00"), "\x02\x00", nil, "\x02\x00", "\x06\x00"},
		guid(2, ""), "\x00\x00\x00\x00\x03", "", guid(99, ""), guid(2, ""), "\x02", guid(2, ""))
	records[0].Key = []byte("\x04k1")
	records[0].Headers = append(records[0].Headers, kgo.RecordHeader{Key: "__key_schema_id", Value: []byte(guid(7, ""))})
	s := newSession(t, newTopic(t, records...))
	args := ", 'format', 'avro', 'schemaRegistryUrl', '" + url + "'"
	expectRows(t, s.both("SELECT _offset, currency, id, place, _error FROM %s", args),
		"0|EUR|1|NULL|NULL", `1|CZK|2|{"city":"Oslo"}|NULL`, "2|EUR|2|NULL|NULL",
		"3|NULL|NULL|NULL|value: unknown schema id: the schema registry has no schema with GUID 00000000-0000-0000-0000-000000000063",
		"4|NULL|NULL|NULL|NULL", "5|NULL|NULL|NULL|value: no schema id: the header for it begins with 0x02, known are 0 and 1", "6|EUR|3|NULL|NULL")
	expectRows(t, s.both("SELECT SUM(id), COUNT(*) FROM %s WHERE currency = 'EUR'", args+", 'mode', 'DROPMALFORMED'"), "6|3")
	expectRows(t, s.both("SELECT `key`, id FROM %s WHERE `key` IS NOT NULL", args+", 'keyFormat', 'avro'"), "k1|1")

	s = newSession(t, newTopic(t, topic([]any{"\x08\x01", "\x0a\x01/"}, guid(5, "\x00"), guid(5, "\x04\x02\x00"))...))
	expectRows(t, s.both("SELECT id, _error IS NULL FROM %s", ", 'format', 'proto', 'schemaRegistrySubject', 'shop', 'schemaRegistryUrl', '"+url+"'"), "1|true", "NULL|false")
	s = newSession(t, newTopic(t, topic([]any{`{"id":1}`, `{"id":2}`}, guid(8, ""), "\x00\x00\x00\x00\x08")...))
	expectRows(t, s.both("SELECT id, _error FROM %s", ", 'format', 'json', 'schemaRegistrySubject', 'docs', 'schemaRegistryUrl', '"+url+"'"), "1|NULL", "2|NULL")
}

func TestErrorsOfRegistries(t *testing.T) {
	url, _ := registryOf(t)
	s := newSession(t, newTopic(t, values(written(2, "\x02\x00"))...))
	for args, want := range map[string]string{
		", 'schemaRegistryUrl', '" + url + "'":                                                                               "no format that has schemas there",
		", 'format', 'avro', 'schemaRegistrySubject', 'x'":                                                                   "'schemaRegistrySubject' is given without 'schemaRegistryUrl'",
		", 'format', 'avro', 'schemaRegistryAuthUser', 'x'":                                                                  "'schemaRegistryAuthUser' is given without 'schemaRegistryUrl'",
		", 'format', 'avro', 'schemaRegistryUrl', 'http://me:pw@" + strings.TrimPrefix(url, "http://") + "'":                 "'schemaRegistryUrl' holds a user or password",
		", 'format', 'avro', 'schemaRegistryUrl', '" + url + "', 'schemaRegistryAuthPassword', 'sesame'":                     "without 'schemaRegistryAuthUser'",
		", 'format', 'avro', 'schemaRegistryUrl', '" + url + "', 'schemaRegistryVersion', 'newest'":                          "'schemaRegistryVersion' is 'newest'",
		", 'format', 'avro', 'schemaRegistryUrl', '" + url + "', 'schemaRegistrySubject', 'shop'":                            "subject 'shop' holds a schema of type PROTOBUF, but the format is 'avro'",
		", 'format', 'avro', 'schemaRegistryUrl', '" + url + "', 'schemaRegistrySubject', 'nowhere'":                         "nowhere",
		", 'format', 'avro', 'schemaRegistryUrl', '" + url + "', 'schema.registry.colour', 'red'":                            "'schema.registry.colour' is not a property of a schema registry",
		", 'format', 'avro', 'schemaRegistryUrl', '" + url + "', 'confluent.schema.registry.basic.auth.user.info', 'sesame'": "must be user:password",
		", 'format', 'proto', 'schemaRegistryUrl', '" + url + "', 'schemaRegistrySubject', 'shop', 'messageName', 'No'":      "'messageName' is wrong",
		// What users were not told: which format reads the subject, and which subject keys have.
		", 'format', 'json', 'schemaRegistryUrl', '" + url + "', 'schemaRegistrySubject', 'shop'": "read it with format => 'proto'",
		", 'keyFormat', 'avro', 'schemaRegistryUrl', '" + url + "', 'keySubject', 'nowhere'":      "and '-key'",
	} {
		_, err := s.query("SELECT * FROM " + s.call("'subscribe', 't'"+args))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "sesame") {
			t.Errorf("the secret is shown: %v", err)
		}
	}
}

func TestManyRegistriesAreNotKept(t *testing.T) {
	r := NewRegistries(nil, "")
	defer r.Close()
	held, err := r.acquire(&registryArgs{list: "http://held"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * mostRegistries {
		c, err := r.acquire(&registryArgs{list: fmt.Sprintf("http://r%d", i)})
		if err != nil {
			t.Fatal(err)
		}
		r.release(c)
	}
	if n := len(r.clients); n > mostRegistries {
		t.Errorf("%d clients are kept", n)
	}
	again, err := r.acquire(&registryArgs{list: "http://held"})
	if err != nil || again != held {
		t.Errorf("a client in use was closed: %v", err)
	}
	r.release(held)
	r.release(again)
}

// A user who had written a wrong port waited for a minute: each of several look-ups of the statement was tried for half of one.
func TestAStatementWithoutItsRegistryFailsSoon(t *testing.T) {
	nobody := httptest.NewServer(nil)
	nobody.Close()
	s := newSession(t, newTopic(t, values("x")...))
	begin := time.Now()
	_, err := s.query("SELECT * FROM $('subscribe', 't', 'format', 'avro', 'schemaRegistryUrl', '" + nobody.URL + "')")
	if e, ok := sqlerr.As(err); !ok || e.Kind != sqlerr.RegistryUnreachable || !strings.Contains(e.Hint, "schemaRegistryUrl") {
		t.Errorf("%v", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
}
