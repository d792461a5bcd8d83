package readkafka

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/encoding/protowire"

	"millrace/internal/sqlerr"
)

// newTopic is a broker with one topic, t, of one partition that holds records.
func newTopic(t *testing.T, records ...kgo.Record) string {
	t.Helper()
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i := range records {
		records[i].Topic = "t"
		records[i].Timestamp = time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC)
		if err := client.ProduceSync(context.Background(), &records[i]).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	return broker.ListenAddrs()[0]
}

// values are records without keys; nil is a tombstone.
func values(list ...any) []kgo.Record {
	var records []kgo.Record
	for _, v := range list {
		r := kgo.Record{}
		switch v := v.(type) {
		case string:
			r.Value = []byte(v)
		case []byte:
			r.Value = v
		}
		records = append(records, r)
	}
	return records
}

// show is a result as text, a row a line.
func (s *session) show(rows []sql.Row) []string {
	s.t.Helper()
	var lines []string
	for _, row := range rows {
		parts := make([]string, len(row))
		for i, v := range row {
			switch v := v.(type) {
			case nil:
				parts[i] = "NULL"
			case []byte:
				parts[i] = string(v)
			case time.Time:
				parts[i] = v.Format("2006-01-02 15:04:05.999999")
			case interface {
				GetBytes(context.Context) ([]byte, error)
			}:
				b, err := v.GetBytes(s.ctx)
				if err != nil {
					s.t.Fatal(err)
				}
				parts[i] = string(b)
			case fmt.Stringer:
				parts[i] = v.String()
			default:
				parts[i] = fmt.Sprint(v)
			}
		}
		lines = append(lines, strings.Join(parts, "|"))
	}
	return lines
}

// both runs a query, in which %s stands for the call, by the engine and pushed down, checks that they agree and gives the rows.
func (s *session) both(query, args string) []string {
	s.t.Helper()
	var results [2][]string
	for i, on := range []string{"off", "on"} {
		s.mustQuery("SET SESSION pushdown = '" + on + "'")
		rows, err := s.query(strings.ReplaceAll(query, "%s", s.call("'subscribe', 't'"+args)))
		if err != nil {
			s.t.Fatalf("%s (pushdown %s): %v", query, on, err)
		}
		results[i] = s.show(rows)
	}
	sorted := [2][]string{slices.Clone(results[0]), slices.Clone(results[1])}
	sort.Strings(sorted[0])
	sort.Strings(sorted[1])
	if !slices.Equal(sorted[0], sorted[1]) {
		s.t.Errorf("%s\nby the engine\n%s\npushed down\n%s", query, strings.Join(results[0], "\n"), strings.Join(results[1], "\n"))
	}
	return results[1]
}

func expectRows(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const ordersDDL = `, 'format', 'json', 'schema', 'id BIGINT, name STRING, price DECIMAL(8,2), paid BOOLEAN, small TINYINT, ratio FLOAT, day DATE, at TIMESTAMP, items ARRAY<VARIANT>'`

func newOrders(t *testing.T) *session {
	return newSession(t, newTopic(t, values(
		`{"id":9007199254740993,"name":"a","price":"1.50","paid":true,"small":-7,"ratio":1.1,"day":"2026-01-02","at":"2026-01-02T03:04:05.678901+01:00","items":[1,2.50]}`,
		`{"id":2,"name":"b\u00e4","price":2,"paid":false,"other":{"x":[1]}}`,
		nil,
		`{"id":"x","name":"c"}`,
		`{"id":4`,
		``,
		`{"id":5,"name":null,"price":123456789}`,
		`{"id":6,"name":""}`)...))
}

func TestJSONWithSchema(t *testing.T) {
	s := newOrders(t)
	expectRows(t, s.both("SELECT id, name, price, paid, small, ratio, day, at, items FROM %s", ordersDDL),
		"9007199254740993|a|1.50|true|-7|1.1|2026-01-02 00:00:00|2026-01-02 02:04:05.678901|[1,2.50]",
		"2|bä|2.00|false|NULL|NULL|NULL|NULL|NULL",
		"NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL",
		"NULL|c|NULL|NULL|NULL|NULL|NULL|NULL|NULL",
		"NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL",
		"NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL",
		"5|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL",
		"6||NULL|NULL|NULL|NULL|NULL|NULL|NULL")
	expectRows(t, s.both("SELECT _offset, _error FROM %s WHERE _error IS NOT NULL", ordersDDL),
		"3|value: 'id': wrong type: BIGINT is expected, found a string 'x' at byte 6",
		"4|value: truncated at byte 7",
		"5|value: empty",
		"6|value: 'price': out of range: '123456789' does not fit DECIMAL(8,2) at byte 28")
	expectRows(t, s.both("SELECT id FROM %s WHERE id > 2 AND name = ''", ordersDDL), "6")
	expectRows(t, s.both("SELECT _offset FROM %s WHERE price = 1.5 OR small IS NOT NULL OR at > '2027-01-01' OR day = '2026-01-01'", ordersDDL), "0")
	expectRows(t, s.both("SELECT COUNT(*), COUNT(id), COUNT(_value), SUM(id), MAX(name), SUM(price) FROM %s WHERE _partition = 0", ordersDDL), "8|4|7|9007199254741006|c|3.50")
	expectRows(t, s.both("SELECT paid, COUNT(*) FROM %s WHERE _offset < 2 GROUP BY paid ORDER BY paid", ordersDDL), "false|1", "true|1")
	expectRows(t, s.both("SELECT _topic, _partition, _offset, _timestamp, _timestamp_type, _key, _value, _headers FROM %s WHERE _offset = 7", ordersDDL),
		`t|0|7|2026-01-02 03:04:07|0|NULL|{"id":6,"name":""}|NULL`)
}

func TestModes(t *testing.T) {
	s := newOrders(t)
	drop := ordersDDL + ", 'mode', 'dropmalformed'"
	expectRows(t, s.both("SELECT _offset FROM %s", drop), "0", "1", "2", "7")
	expectRows(t, s.both("SELECT COUNT(*) FROM %s", drop), "4")
	expectRows(t, s.both("SELECT _offset FROM %s ORDER BY _offset DESC LIMIT 2", drop), "7", "2")
	expectRows(t, s.both("SELECT MAX(_offset), MIN(_offset), MAX(_timestamp) FROM %s WHERE _offset <= 6", drop), "2|0|2026-01-02 03:04:02")
	expectRows(t, s.both("SELECT name FROM %s", drop+", 'tombstones', 'skip'"), "a", "bä", "")
	expectRows(t, s.both("SELECT COUNT(*) FROM %s", ", 'tombstones', 'skip'"), "7")

	s.ctx.ClearWarnings()
	s.mustQuery("SELECT COUNT(*) FROM $('subscribe', 't', 'format', 'json', 'schema', 'id BIGINT', 'mode', 'DROPMALFORMED')")
	if w := s.ctx.Warnings(); len(w) != 1 || w[0].Message != "3 records were not decoded and left out (truncated: 1, wrong type: 1, empty: 1); mode => 'PERMISSIVE' shows them, with the reason in _error" {
		t.Errorf("%v", w)
	}
	s.ctx.ClearWarnings()
	s.mustQuery("SELECT id FROM $('subscribe', 't', 'format', 'json', 'schema', 'id BIGINT')")
	if w := s.ctx.Warnings(); len(w) != 1 || w[0].Message != "2 records could not be decoded, 1 value does not fit the column (truncated: 1, wrong type: 1, empty: 1); they are NULL, and _error says why" {
		t.Errorf("%v", w)
	}
	for _, on := range []string{"off", "on"} {
		s.mustQuery("SET SESSION pushdown = '" + on + "'")
		_, err := s.query("SELECT COUNT(*) FROM $('subscribe', 't', 'format', 'json', 'schema', 'id BIGINT, name STRING', 'mode', 'FAILFAST')")
		if !sqlerr.HasKind(err, sqlerr.BadRecord) || !strings.Contains(fmt.Sprintf("%v", err), "topic 't', partition 0, offset 3") {
			t.Errorf("pushdown %s: %v", on, err)
		}
		if rows, err := s.query("SELECT COUNT(*) FROM $('subscribe', 't', 'format', 'json', 'schema', 'name STRING', 'mode', 'FAILFAST') WHERE _offset < 3"); on == "on" && (err != nil || len(rows) != 1) {
			t.Errorf("pushdown %s: %v, %v", on, rows, err)
		}
	}
}

func TestJSONWithoutSchema(t *testing.T) {
	s := newSession(t, newTopic(t, values(`{"a":{"b":[1,2.50]}}`, "null", nil, "{", `"x"`)...))
	expectRows(t, s.both("SELECT value, value IS NULL, _error FROM %s", ", 'format', 'JSON', 'keyFormat', 'json'"),
		`{"a":{"b":[1,2.50]}}|false|NULL`, "null|false|NULL", "NULL|true|NULL", "NULL|true|value: truncated at byte 1", `"x"|false|NULL`)
}

const orderAvro = `{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"name","type":["null","string"],"default":null},{"name":"tags","type":{"type":"array","items":"string"}}]}`

func TestAvroWithSchema(t *testing.T) {
	s := newSession(t, newTopic(t, values("\x02\x02\x06Ann\x04\x02x\x02y\x00", "\x04\x00\x00", nil, "\x04\x00", "\x06\x02\x02\xff\x00", "")...))
	args := ", 'format', 'avro', 'schema', '" + orderAvro + "'"
	expectRows(t, s.both("SELECT id, name, tags, _error FROM %s", args),
		`1|Ann|["x","y"]|NULL`, "2|NULL|[]|NULL", "NULL|NULL|NULL|NULL", "NULL|NULL|NULL|value: truncated at byte 2", "3|NULL|[]|value: 'name': invalid UTF-8 at byte 2", "NULL|NULL|NULL|value: empty at byte 0")
	expectRows(t, s.both("SELECT SUM(id), COUNT(name) FROM %s WHERE id < 3", args+", 'mode', 'DROPMALFORMED'"), "3|1")
}

const orderProto = `syntax = "proto3"; package shop; message Order { int64 id = 1; optional string name = 2; repeated int32 n = 3; uint64 big = 4; float f = 5; } message Other { bool b = 1; }`

func TestProtoWithSchema(t *testing.T) {
	s := newSession(t, newTopic(t, values("\x08\x01\x12\x03Ann\x1a\x02\x01\x02\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x2d\xcd\xcc\x8c\x3f", "", nil, "\x08", "\x12\x01\xff")...))
	args := ", 'format', 'proto', 'schema', '" + orderProto + "'"
	expectRows(t, s.both("SELECT id, name, n, big, f, _error FROM %s", args),
		`1|Ann|[1,2]|18446744073709551615|1.1|NULL`, "0|NULL|[]|0|0|NULL", "NULL|NULL|NULL|NULL|NULL|NULL", "NULL|NULL|NULL|NULL|NULL|value: truncated at byte 1", "NULL|NULL|NULL|NULL|NULL|value: invalid UTF-8 at byte 2")
	expectRows(t, s.both("SELECT COUNT(*), SUM(id) FROM %s WHERE big > 18446744073709551614", args), "1|1")
	expectRows(t, s.both("SELECT b FROM %s LIMIT 1", args+", 'messageName', 'shop.Other'"), "true")
}

// Unsigned columns, which only Protobuf has, are compared in the scan as the engine compares them: with signed numbers as doubles.
func TestUnsignedColumnsAreComparedAsByTheEngine(t *testing.T) {
	record := func(n uint64) string {
		return string(protowire.AppendVarint([]byte{0x08}, n)) + string(protowire.AppendVarint([]byte{0x10}, n))
	}
	numbers := []uint64{0, 1, 2, 100, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<63 - 1, 1 << 63, 1<<63 + 1, 1<<64 - 1}
	var records []any
	for _, n := range numbers {
		records = append(records, record(n))
	}
	s := newSession(t, newTopic(t, values(records...)...))
	args := `, 'format', 'proto', 'schema', 'syntax = "proto3"; message M { uint32 small = 1; uint64 big = 2; }'`
	for _, column := range []string{"small", "big"} {
		for _, constant := range []string{"0", "-1", "1", "1.5", "-0.5", "2e0", "'2'", "100", "2147483648", "4294967295", "4294967296", "9007199254740991", "9007199254740992", "9007199254740993",
			"9223372036854775807", "9223372036854775808", "18446744073709551615", "NULL"} {
			for _, op := range []string{"=", "<>", "<", "<=", ">", ">=", "<=>"} {
				s.both("SELECT small, big FROM %s WHERE "+column+" "+op+" "+constant, args)
			}
		}
		s.both("SELECT small, big FROM %s WHERE "+column+" BETWEEN 1 AND 2147483648", args)
		s.both("SELECT small, big FROM %s WHERE "+column+" IN (1, 100, 4294967295)", args)
	}
	for _, condition := range []string{"small > 100", "big = 7", "big <= 1.5"} {
		if plan := s.explain("SELECT big FROM " + s.call("'subscribe', 't'"+args) + " WHERE " + condition); !strings.Contains(plan, "checked in the scan") {
			t.Errorf("%s is not pushed:\n%s", condition, plan)
		}
	}
}

func TestColumnsOfDecodedCalls(t *testing.T) {
	s := newSession(t, newTopic(t, kgo.Record{Key: []byte(`{"k":1}`), Value: []byte(`{"id":1}`)}))
	names := func(args string) string {
		schema, iter, _, err := s.engine.Query(s.ctx, "SELECT * FROM "+s.call("'subscribe', 't'"+args))
		if err != nil {
			t.Fatal(err)
		}
		if err := iter.Close(s.ctx); err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, c := range schema {
			list = append(list, c.Name)
		}
		return strings.Join(list, " ")
	}
	const meta = " _key _value _topic _partition _offset _timestamp _timestamp_type _headers _error"
	for args, want := range map[string]string{
		", 'format', 'json', 'schema', 'id BIGINT, `_offset` INT'": "id _offset _key _value _topic _partition _offset_2 _timestamp _timestamp_type _headers _error",
		", 'format', 'json'":                                             "value" + meta,
		", 'format', 'json', 'keyFormat', 'json'":                        "key value" + meta,
		", 'keyFormat', 'json'":                                          "key value" + meta,
		", 'format', 'json', 'keyFormat', 'json', 'schema', '`key` INT'": "key_key key" + meta,
		", 'data_format', 'json', 'schema', 'id INT'":                    "id" + meta + " payload",
	} {
		if got := names(args); got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
}

func TestErrorsOfFormats(t *testing.T) {
	s := newSession(t, newTopic(t, values("a")...))
	for args, want := range map[string]string{
		", 'format', 'jason'":                                                      "'format'",
		", 'schema', 'id BIGINT'":                                                  "'schema' is given, but 'format' is 'raw', which has no schema",
		", 'format', 'json', 'schema', 'id BIGNIT'":                                "'schema' is wrong at character 4: 'BIGNIT' is not a type",
		", 'format', 'json', 'schema', ''":                                         "'schema'",
		", 'format', 'json', 'mode', 'LENIENT'":                                    "'mode'",
		", 'format', 'avro'":                                                       "'format' => 'avro' needs a schema",
		", 'keyFormat', 'proto'":                                                   "'keyFormat' => 'proto' needs a schema registry",
		", 'format', 'avro', 'schema', '{'":                                        "'schema' is wrong",
		", 'format', 'proto', 'schema', 'message'":                                 "'schema' is wrong",
		", 'format', 'proto', 'schema', '" + orderProto + "', 'messageName', 'No'": "'messageName' is wrong",
		// What users were not told: which messages there are, and that the dialect of csv is wrong, not the first record.
		", 'format', 'proto', 'schema', '" + orderProto + "', 'messageName', 'Ordr'": "shop.Order",
		", 'format', 'csv', 'quote', 'ab'":                                           "'quote' is",
		", 'format', 'json', 'messageName', 'No'":                                    "'messageName' is given, but 'format' is 'json'",
		", 'format', 'proto', 'descFilePath', 'x'":                                   "'descFilePath' needs 'messageName'",
		", 'format', 'proto', 'descFilePath', 'x', 'messageName', 'shop.Order'":      "'descFilePath' names a file, and this server lets SQL name none",
		", 'format', 'json', 'tombstones', 'drop'":                                   "'tombstones'",
	} {
		_, err := s.query("SELECT * FROM " + s.call("'subscribe', 't'"+args))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}

// A user who left out the registry saw "truncated at byte 9" for each record, and one whose csv has no header "empty" for records that are not.
func TestReasonsThatNameTheMistake(t *testing.T) {
	s := newSession(t, newTopic(t, values(written(2, "\x02\x02\x02a"), "a,b")...))
	const avroSchema = `{"type":"record","name":"P","fields":[{"name":"id","type":"long"},{"name":"note","type":["null","string"]}]}`
	for args, want := range map[string]string{
		", 'format', 'avro', 'schema', '" + avroSchema + "'":                             "0|value: trailing bytes: the record seems to carry a schema id, as its first byte is 0: 'schemaRegistryUrl' reads such records",
		", 'format', 'proto', 'schema', '" + orderProto + "'":                            "the record seems to carry a schema id",
		", 'format', 'csv', 'header', true, 'schema', 'x STRING, y STRING', 'quote', ''": "1|value: empty: under 'header' a record is a line with names and then its row, and nothing follows the first line",
	} {
		rows := s.both("SELECT _offset, _error FROM %s WHERE _error IS NOT NULL", args)
		if all := strings.Join(rows, "\n"); !strings.Contains(all, want) {
			t.Errorf("%s: got\n%s\nwant %s", args, all, want)
		}
	}
}

func TestErrorHandlingOfManagedIO(t *testing.T) {
	s := newSession(t, newTopic(t, values(`{"id":1}`, `{"id":"x"}`, `{`)...))
	for _, output := range []string{"errors", `{"output":"errors"}`} {
		expectRows(t, s.both("SELECT id FROM %s", ", 'format', 'json', 'schema', 'id INT', 'error_handling', '"+output+"'"), "1")
	}
	for args, want := range map[string]string{
		", 'errorHandling', '{}'":                      "expected an object with 'output'",
		", 'errorHandling', '{\"out\":\"x\"}'":         "expected an object with 'output'",
		", 'errorHandling', 'x', 'mode', 'PERMISSIVE'": "'errorHandling' and 'mode' exclude each other",
	} {
		if _, err := s.query("SELECT id FROM " + s.call("'subscribe', 't', 'format', 'json', 'schema', 'id INT'"+args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestNestedTypesAreThoseOfTheSchema(t *testing.T) {
	s := newSession(t, newTopic(t, values(
		`{"c": {"n": "7", "z": 1, "t": 12}, "l": [1, "2", 3.0], "m": {"a": "1.005"}}`,
		`{"c": {"n": "x", "t": "y"}, "l": [[], null, 5]}`,
		`{"c": [1], "l": null, "m": {}}`,
		`{"c": {"n": 1}}`)...))
	args := ", 'format', 'json', 'schema', 'c STRUCT<n: INT, t: STRING>, l ARRAY<BIGINT>, m MAP<STRING, DECIMAL(6,2)>'"
	expectRows(t, s.both("SELECT c, l, m, _error FROM %s", args),
		`{"n":7,"t":"12"}|[1,2,3]|{"a":1.01}|NULL`,
		`{"n":null,"t":"y"}|[null,null,5]|NULL|value: 'c.n': wrong type: INT is expected, found a string 'x'`,
		`NULL|NULL|{}|value: 'c': wrong type: STRUCT is expected, found an array at byte 6`,
		`{"n":1,"t":null}|NULL|NULL|NULL`)
	// Paths see what the column shows.
	expectRows(t, s.both("SELECT count(*), min(_offset) FROM %s WHERE JSON_EXTRACT(l, '$[2]') = 5", args), "1|1")
	expectRows(t, s.both("SELECT count(*) FROM %s", args+", 'mode', 'DROPMALFORMED'"), "2")
	if _, err := s.query("SELECT c FROM " + s.call("'subscribe', 't'"+args+", 'mode', 'FAILFAST'")); !sqlerr.HasKind(err, sqlerr.BadRecord) {
		t.Error(err)
	}
}
