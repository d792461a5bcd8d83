package readkafka

import (
	"strings"
	"testing"
)

func TestCSV(t *testing.T) {
	s := newSession(t, newTopic(t, values("1,Ann,1.5", `2,"B ""b""",`, nil, "3,c", "x,d,2", "4,\"\",\"7\"\n")...))
	expectRows(t, s.both("SELECT id, name, price, _error FROM %s", ", 'format', 'csv', 'schema', 'id INT, name STRING, price DECIMAL'"),
		"1|Ann|2|NULL", `2|B "b"|NULL|NULL`, "NULL|NULL|NULL|NULL", "NULL|NULL|NULL|value: malformed: 2 fields, 3 columns", "NULL|d|2|value: 'id': wrong type: 'x' is no INT at byte 0", "4||7|NULL")
	expectRows(t, s.both("SELECT c1, c3 FROM %s WHERE c2 = 'Ann'", ", 'format', 'csv'"), "1|1.5")
	s = newSession(t, newTopic(t, values("id; name\n1;' x'", "name;id\nNULL;2")...))
	expectRows(t, s.both("SELECT id, name FROM %s", `, 'format', 'csv', 'sep', ';', 'quote', '''', 'header', 'true', 'nullValue', 'NULL', 'ignoreLeadingWhiteSpace', 'true'`), "1| x", "2|NULL")
}

func TestInferSchema(t *testing.T) {
	s := newSession(t, newTopic(t, values(`{"id":1,"tags":["x"]}`, nil, "{", `{"id":2.5,"name":"a"}`)...))
	expectRows(t, s.both("SELECT id, tags, name FROM %s", ", 'format', 'json', 'inferSchema', 'true'"), `1|["x"]|NULL`, "NULL|NULL|NULL", "NULL|NULL|NULL", "2.5|NULL|a")
	if _, err := newSession(t, newTopic(t)).query("SELECT * FROM $('subscribe', 't', 'format', 'json', 'inferSchema', 'true')"); err == nil || !strings.Contains(err.Error(), "'inferSchema' finds no fields: 0 of the 0 records") {
		t.Error(err)
	}
}

func TestSerdesAndStrings(t *testing.T) {
	records := values("text", []byte("\xff"), nil, "")
	records[0].Key, records[1].Key, records[3].Key = []byte("\x00\x00\x00\x00\x00\x00\x00\x07"), []byte("x"), []byte("\xff\xff\xff\xff\xff\xff\xff\xff")
	s := newSession(t, newTopic(t, records...))
	expectRows(t, s.both("SELECT `key`, value, _error FROM %s", ", 'format', 'string', 'keyFormat', 'long'"),
		"7|text|NULL", "NULL|NULL|key: truncated: 1 bytes, long has 8", "NULL|NULL|NULL", "-1||NULL")
	expectRows(t, s.both("SELECT `key`, value FROM %s WHERE `key` < 0", ", 'keyFormat', 'long'"), "-1|")
	expectRows(t, s.both("SELECT COUNT(*) FROM %s", ", 'format', 'string', 'keyFormat', 'long', 'mode', 'DROPMALFORMED'"), "3")
}

func TestJSONSchema(t *testing.T) {
	s := newSession(t, newTopic(t, values(`{"id":18446744073709551615,"at":"2026-01-02T03:04:05Z","n":1}`, `{"id":1}`, `7`)...))
	const schema = `{"type":"object","properties":{"id":{"type":"integer","minimum":0,"maximum":18446744073709551615},"at":{"type":"string","format":"date-time"},"tags":{"type":"array"}}}`
	expectRows(t, s.both("SELECT id, at, tags, _error FROM %s", ", 'format', 'json', 'schema', '"+schema+"'"),
		"18446744073709551615|2026-01-02 03:04:05|NULL|NULL", "1|NULL|NULL|NULL", "NULL|NULL|NULL|value: wrong type: an object is expected, found a number at byte 0")
	expectRows(t, s.both("SELECT value FROM %s", `, 'format', 'json', 'mode', 'DROPMALFORMED', 'schema', '{"type":"integer"}'`), "7")
}

func TestDebezium(t *testing.T) {
	s := newSession(t, newTopic(t, values(`{"before":null,"after":{"id":1,"name":"a"},"source":{"ts_ms":1700000000000},"op":"c"}`,
		`{"before":{"id":1,"name":"a"},"after":null,"op":"d"}`, nil, `{"payload":{"after":{"id":2},"op":"r"}}`, `{"id":3}`)...))
	want := []string{`1|a|c|2023-11-14 22:13:20|NULL|NULL`, `1|a|d|NULL|{"id":1,"name":"a"}|NULL`, "NULL|NULL|NULL|NULL|NULL|NULL", "2|NULL|r|NULL|NULL|NULL",
		"NULL|NULL|NULL|NULL|NULL|value: wrong type: the record is no Debezium envelope: it has no 'op' at byte 0"}
	for _, schema := range []string{"", ", 'schema', 'id BIGINT, name STRING'"} {
		expectRows(t, s.both("SELECT id, name, _op, _source_ts, _before, _error FROM %s", ", 'format', 'debezium'"+schema), want...)
	}
	expectRows(t, s.both("SELECT COUNT(*), MAX(id) FROM %s WHERE _op IN ('c', 'r')", ", 'format', 'debezium', 'mode', 'DROPMALFORMED'"), "2|2")
}

// A user who declared the columns of a Debezium topic saw NULL for its dates, which are numbers of days, and its decimals, which are base64.
func TestDebeziumsTypesInDeclaredColumns(t *testing.T) {
	const schema = `{"type":"struct","fields":[{"field":"after","type":"struct","fields":[{"field":"id","type":"int64"},{"field":"day","type":"int32","name":"io.debezium.time.Date"},` +
		`{"field":"at","type":"int64","name":"io.debezium.time.MicroTimestamp"},{"field":"price","type":"bytes","name":"org.apache.kafka.connect.data.Decimal","parameters":{"scale":"3"}}]}]}`
	const declared = "'id BIGINT, day DATE, at TIMESTAMP, price DECIMAL(10,2)'"
	for name, c := range map[string]struct{ record, at, price string }{
		"with their schema": {`{"schema":` + schema + `,"payload":{"op":"c","after":{"id":1,"day":20513,"at":1700000000000000,"price":"B88="}}}`, "2023-11-14 22:13:20", "2.00"},
		"bare, base64":      {`{"op":"c","after":{"id":1,"day":20513,"at":"2023-11-14T22:13:20Z","price":"B88="}}`, "2023-11-14 22:13:20", "19.99"},
		"bare, text":        {`{"op":"c","after":{"id":1,"day":"2026-03-01","at":null,"price":"1234"}}`, "NULL", "1234.00"},
		"bare, numbers":     {`{"op":"c","after":{"id":1,"day":20513,"at":null,"price":19.99}}`, "NULL", "19.99"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, newTopic(t, values(c.record)...))
			expectRows(t, s.both("SELECT id, day, at, price, _error FROM %s", ", 'format', 'debezium', 'schema', "+declared), "1|2026-03-01 00:00:00|"+c.at+"|"+c.price+"|NULL")
		})
	}
}

// A call that looks into its topic for its columns must say so: nobody may look without the right to read.
func TestDeclaredColumnsOfDebeziumThatTakeASample(t *testing.T) {
	for schema, want := range map[string]bool{"": true, "id BIGINT, name STRING": false, "id BIGINT, day DATE": true, "price DECIMAL(8,2)": true, "at TIMESTAMP": true} {
		if f := (Format{Value: "debezium", Key: "raw", Schema: schema}); f.asks() != want || f.needsTopic() != want {
			t.Errorf("%q: asks %v, needs its topic %v", schema, f.asks(), f.needsTopic())
		}
	}
}

func TestAnalyzeShowsBadData(t *testing.T) {
	s := newSession(t, newTopic(t, values(`{"id":1}`, "{", `{"id":"x"}`)...))
	s.mustQuery("SET SESSION pushdown = 'on'")
	rows := s.show(s.mustQuery("EXPLAIN ANALYZE SELECT COUNT(*) FROM $('subscribe', 't', 'format', 'json', 'schema', 'id BIGINT', 'mode', 'DROPMALFORMED')"))
	if all := strings.Join(rows, "\n"); !strings.Contains(all, "bad data: 1 records not decoded, 1 values not of their column's type, 2 records left out") {
		t.Error(all)
	}
}
