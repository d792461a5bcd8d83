package server

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
)

// everyValue is a query with a column of each type, noValue the same with NULLs.
const (
	everyValue = `SELECT 'k1' AS key, true AS flag, 7::int AS small, -9223372036854775807::bigint AS large, 1.25::double AS ratio, 12.50::decimal(6,2) AS price, 'it''s "ä", ok' AS name,
		x'00ff' AS raw, '2026-01-31'::date AS day, '2026-01-31 08:00:00.123456'::timestamp AS at, '{"a": [1, 2]}'::json AS doc`
	noValue = `SELECT 'k2' AS key, NULL::boolean AS flag, NULL::int AS small, NULL::bigint AS large, NULL::double AS ratio, NULL::decimal(6,2) AS price, '' AS name,
		NULL::binary AS raw, NULL::date AS day, NULL::timestamp AS at, NULL::json AS doc`
)

func TestValuesAreWhatTheirFormatSays(t *testing.T) {
	for name, test := range map[string]struct {
		write, query, read, want string
	}{
		"json": {"format => 'json'", everyValue, "SELECT value::string",
			`{"flag":true,"small":7,"large":-9223372036854775807,"ratio":1.25,"price":12.50,"name":"it's \"ä\", ok","raw":"AP8=","day":"2026-01-31","at":"2026-01-31T08:00:00.123456Z","doc":{"a": [1, 2]}}`},
		"NULLs in json":      {"format => 'json'", noValue, "SELECT value::string", `{"flag":null,"small":null,"large":null,"ratio":null,"price":null,"name":"","raw":null,"day":null,"at":null,"doc":null}`},
		"json without NULLs": {"format => 'json', ignoreNullFields => true", "SELECT 1 AS a, NULL AS b, 'x' AS c", "SELECT value::string", `{"a":1,"c":"x"}`},
		"csv": {"format => 'csv'", everyValue, "SELECT value::string",
			`true,7,-9223372036854775807,1.25,12.50,"it's \"ä\", ok",` + "\x00\ufffd" + `,2026-01-31,2026-01-31 08:00:00.123456,"{\"a\": [1, 2]}"`},
		"NULLs in csv":           {"format => 'csv'", noValue, "SELECT value::string", `,,,,,"",,,,`},
		"csv of another dialect": {"format => 'csv', sep => ';', escape => '\"', nullValue => 'NULL'", `SELECT 'a;b' AS a, 'c"d' AS b, NULL AS c, 'NULL' AS d`, "SELECT value::string", `"a;b";"c""d";NULL;"NULL"`},
		"string":                 {"format => 'string'", "SELECT 12.50::decimal(6,2) AS price", "SELECT value::string", "12.50"},
		"raw":                    {"format => 'raw'", "SELECT x'00ff' AS bytes", "SELECT hex(value)", "00FF"},
		"metadata as data":       {"format => 'json', metadataColumns => 'key'", "SELECT 'k' AS key, 'here' AS topic, 3 AS `partition`, 'v' AS value", "SELECT key::string, partition, value::string", `k|0|{"topic":"here","partition":3,"value":"v"}`},
		"an Avro schema of the statement": {`format => 'avro', schema => '{"type":"record","name":"R","fields":[{"name":"id","type":"int"},{"name":"total","type":"double"},{"name":"kind","type":{"type":"enum","name":"K","symbols":["a","b"]}},{"name":"tags","type":{"type":"array","items":"string"}},{"name":"more","type":"string","default":"none"}]}'`,
			"SELECT 'b' AS kind, 5::bigint AS id, 2 AS total, '[\"x\",\"y\"]' AS tags", `SELECT from_avro(value, '{"type":"record","name":"R","fields":[{"name":"id","type":"int"},{"name":"total","type":"double"},{"name":"kind","type":{"type":"enum","name":"K","symbols":["a","b"]}},{"name":"tags","type":{"type":"array","items":"string"}},{"name":"more","type":"string","default":"none"}]}')::string`,
			`{"id":5,"total":2,"kind":"b","tags":["x","y"],"more":"none"}`},
		"a Protobuf schema of the statement": {`format => 'protobuf', messageName => 'shop.Order', schema => 'syntax = "proto3"; package shop; message Place { string city = 1; } message Order { int32 id = 1; repeated string tags = 2; Place place = 3; string note = 4; }'`,
			`SELECT 5::bigint AS id, '["x"]'::json AS tags, '{"city": "Ulm"}' AS place, 1.5 AS note`, `SELECT from_protobuf(value, 'shop.Order', 'syntax = "proto3"; package shop; message Place { string city = 1; } message Order { int32 id = 1; repeated string tags = 2; Place place = 3; string note = 4; }')::string`,
			`{"id":5,"tags":["x"],"place":{"city":"Ulm"},"note":"1.5"}`},
		"keys of longs":   {"keyFormat => 'long', format => 'json'", "SELECT 258 AS key, 1 AS a", "SELECT hex(key)", "0000000000000102"},
		"keys of shorts":  {"keyFormat => 'short'", "SELECT -2 AS key, 'v' AS value", "SELECT hex(key)", "FFFE"},
		"keys of doubles": {"keyFormat => 'double'", "SELECT 1.5::double AS key, 'v' AS value", "SELECT hex(key)", "3FF8000000000000"},
		"keys of text":    {"keyFormat => 'string'", "SELECT 12 AS key, 'v' AS value", "SELECT key::string", "12"},
		"keys of a schema of the statement": {`keyFormat => 'avro', keySchema => '{"type":"record","name":"K","fields":[{"name":"id","type":"int"},{"name":"of","type":"string"}]}'`,
			`SELECT '{"of": "a", "id": 5}'::json AS key, 'v' AS value`, `SELECT from_avro(key, '{"type":"record","name":"K","fields":[{"name":"id","type":"int"},{"name":"of","type":"string"}]}')::string`, `{"id":5,"of":"a"}`},
		"keys of an Avro type":         {"keyFormat => 'avro'", "SELECT 'ab' AS key, 'v' AS value", "SELECT hex(key)", "046162"},
		"numbers as keys of Avro text": {`keyFormat => 'avro', keySchema => '"string"'`, "SELECT 12 AS key, 'v' AS value", "SELECT hex(key)", "043132"},
		"keys that are a field":        {`keyFormat => 'protobuf', keySchema => 'syntax = "proto3"; message K { int32 key = 2; }'`, "SELECT 5 AS key, 'v' AS value", "SELECT hex(key)", "1005"},
		"NULL is no key of a schema":   {"keyFormat => 'avro'", "SELECT NULL::bigint AS key, 'v' AS value", "SELECT key IS NULL", "1"},
		"keys of json":                 {"keyFormat => 'json'", "SELECT 'a\"b' AS key, 'v' AS value", "SELECT key::string", `"a\"b"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, read, write := sinkTopics(t, 0)
			r := start(t)
			affected(t, r, "INSERT INTO "+write("copy", test.write)+" "+test.query)
			query, order, _ := strings.Cut(test.read, " ORDER BY ")
			query += " FROM " + read("copy")
			if order != "" {
				query += " ORDER BY " + order
			}
			gives(t, r.root(t), query, test.want)
		})
	}
}

// What is written with a registry comes back as the columns that it was.
func TestRecordsWithASchemaInTheRegistryComeBack(t *testing.T) {
	for _, format := range []string{"avro", "proto", "json"} {
		t.Run(format, func(t *testing.T) {
			registry := httptest.NewServer(srfake.NewRegistry().Handler())
			defer registry.Close()
			client, err := sr.NewClient(sr.URLs(registry.URL))
			if err != nil {
				t.Fatal(err)
			}
			_, read, write := sinkTopics(t, 0)
			db := start(t).root(t)
			where := "format => '" + format + "', schemaRegistryUrl => '" + registry.URL + "'"
			do(t, db, "INSERT INTO "+write("copy", where)+" SELECT key, flag, small, large, ratio, name, raw, at FROM ("+everyValue+") AS t")
			do(t, db, "INSERT INTO "+write("copy", where)+" SELECT key, flag, small, large, ratio, name, raw, at FROM ("+noValue+") AS t")
			want := "k1|1|7|-9223372036854775807|1.25|it's \"ä\", ok|00FF|2026-01-31 08:00:00.123456\nk2|NULL|NULL|NULL|NULL||NULL|NULL"
			columns := "_key::string AS k, flag, small, large, ratio, name, hex(raw), at"
			gives(t, db, "SELECT "+columns+" FROM "+read("copy", where)+" ORDER BY k", want)
			subjects, err := client.Subjects(t.Context())
			if err != nil || len(subjects) != 1 || subjects[0] != "copy-value" {
				t.Errorf("subjects %v, %v", subjects, err)
			}
			// The same columns are the same schema.
			do(t, db, "INSERT INTO "+write("copy", where)+" SELECT key, flag, small, large, ratio, name, raw, at FROM ("+everyValue+") AS t")
			if versions, err := client.SubjectVersions(t.Context(), "copy-value"); err != nil || len(versions) != 1 {
				t.Errorf("versions %v, %v", versions, err)
			}
			if format == "json" {
				return
			}
			// The schema that is there decides, and gives fields that have no column their default.
			do(t, db, "INSERT INTO "+write("copy", where, "autoRegisterSchemas => false")+" SELECT 'k3' AS key, 8 AS small")
			gives(t, db, "SELECT small, large, name FROM "+read("copy", where)+" WHERE _key::string = 'k3'", "8|NULL|NULL")
		})
	}
}

func TestFormatsThatDoNotFit(t *testing.T) {
	registry := httptest.NewServer(srfake.NewRegistry().Handler())
	defer registry.Close()
	_, _, write := sinkTopics(t, 0)
	db := start(t).root(t)
	schema := `schema => '{"type":"record","name":"R","fields":[{"name":"id","type":"int"}]}'`
	for name, test := range map[string]struct {
		statement string
		number    uint16
		text      string
	}{
		"no columns":               {write("out", "format => 'json'") + " SELECT 'k' AS key", 1054, "the query has no column for the value"},
		"two for raw":              {write("out", "format => 'raw'") + " SELECT 'a' AS a, 'b' AS b", 31004, "format 'raw' takes one column, and the query has 'a' and 'b'"},
		"a number for raw":         {write("out", "format => 'raw'") + " SELECT 1 AS a", 31002, "format 'raw' takes bytes or text"},
		"column without field":     {write("out", "format => 'avro'", schema) + " SELECT 1 AS id, 2 AS extra", 1054, "column 'extra' is none of the schema's fields\nhint: the fields are id"},
		"number too large":         {write("out", "format => 'avro'", schema) + " SELECT 3000000000 AS id", 31081, "row 1 cannot be written: its record does not fit the schema"},
		"NULL that is not allowed": {write("out", "format => 'avro'", schema) + " SELECT CAST(NULL AS SIGNED) AS id", 31081, "row 1 cannot be written: its record does not fit the schema"},
		"wrong schema":             {write("out", "format => 'avro'", "schema => '{'") + " SELECT 1 AS id", 31002, "'schema' is wrong"},
		"a name Avro has not":      {write("out", "format => 'avro'") + " SELECT 1 AS `a-b`", 31002, "column 'a-b' has a name that a field of Avro cannot have\nhint: give it another: SELECT … AS a_b"},
		"schema without format":    {write("out", schema) + " SELECT 'a' AS value", 31004, "'schema' is given without 'format'"},
		"csv for json":             {write("out", "format => 'json'", "delimiter => ';'") + " SELECT 1 AS a", 31004, "'delimiter' is given, but 'format' is 'json'"},
		"key too large":            {write("out", "keyFormat => 'short'") + " SELECT 40000 AS key, 'v' AS value", 31081, "row 1 cannot be written: its key 40000 does not fit short"},
		"text as long":             {write("out", "keyFormat => 'long'") + " SELECT 'a' AS key, 'v' AS value", 31002, "column 'key' is STRING, and 'keyFormat' is 'long'"},
		"unknown format":           {write("out", "format => 'jsn'") + " SELECT 1 AS a", 31002, "did you mean 'json'?"},
		"no subject":               {write("", "format => 'avro'", "schemaRegistryUrl => '"+registry.URL+"'") + " SELECT 'out' AS topic, 1 AS id", 31003, "the subject of the schema is not known"},
		"nothing registered":       {write("out", "format => 'avro'", "autoRegisterSchemas => false", "schemaRegistryUrl => '"+registry.URL+"'") + " SELECT 1 AS id", 31075, "subject 'out-value'"},
		"no registry":              {write("out", "format => 'avro'", "autoRegisterSchemas => false") + " SELECT 1 AS id", 31003, "the schema registry is not named"},
		"a key of a record":        {write("out", `keyFormat => 'avro', keySchema => '{"type":"record","name":"K","fields":[{"name":"id","type":"int"}]}'`) + " SELECT 1 AS key, 'v' AS value", 31002, "the schema of keys is a record without a field of that name\nhint: make it an object"},
		"a key that does not fit":  {write("out", `keyFormat => 'avro', keySchema => '"int"'`) + " SELECT 3000000000 AS key, 'v' AS value", 31081, "row 1 cannot be written: its key does not fit the schema"},
		"an object without schema": {write("out", "keyFormat => 'avro'") + " SELECT '{}'::json AS key, 'v' AS value", 31003, "column 'key' is JSON, whose fields only a schema tells"},
		"keySchema for numbers":    {write("out", "keyFormat => 'long'", `keySchema => '"int"'`) + " SELECT 1 AS key, 'v' AS value", 31004, "'keySchema' is given, but 'keyFormat' is 'long'"},
		"wrong keySchema":          {write("out", "keyFormat => 'avro'", "keySchema => '{'") + " SELECT 1 AS key, 'v' AS value", 31002, "'keySchema' is wrong"},
		"keySchema and look-up":    {write("out", "keyFormat => 'avro'", `keySchema => '"int"'`, "autoRegisterSchemas => false", "schemaRegistryUrl => '"+registry.URL+"'") + " SELECT 1 AS key, 'v' AS value", 31004, "'keySchema' is given, and 'autoRegisterSchemas' is false"},
		"keySubject alone":         {write("out", "keyFormat => 'avro'", "keySubject => 'k'") + " SELECT 1 AS key, 'v' AS value", 31003, "'keySubject' is given without 'schemaRegistryUrl'"},
		"no subject of keys":       {write("", "keyFormat => 'avro'", "schemaRegistryUrl => '"+registry.URL+"'") + " SELECT 'out' AS topic, 1 AS key, 'v' AS value", 31003, "the subject of the schema of keys is not known"},
		"unknown metadata":         {write("out", "format => 'json'", "metadataColumns => 'key,offset'") + " SELECT 1 AS id", 31002, "'metadataColumns' has 'offset'"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := db.Exec("INSERT INTO " + test.statement)
			wantNumber(t, err, test.number, test.text)
		})
	}
}

// Keys with a schema in the registry come back as the columns that they were.
func TestKeysWithASchemaInTheRegistryComeBack(t *testing.T) {
	for name, test := range map[string]struct{ format, more, key, column, want string }{
		"a type of Avro":           {"avro", "", "'k1'", "`key`", "k1"},
		"a record of Avro":         {"avro", `{"type":"record","name":"K","fields":[{"name":"id","type":"long"},{"name":"kind","type":["null","string"],"default":null}]}`, `'{"id": 7}'::json`, "id, kind", "7|NULL"},
		"a message of one column":  {"proto", "", "7::bigint", "`key`", "7"},
		"a message of several":     {"proto", `syntax = "proto3"; message K { int64 id = 1; string kind = 2; }`, `'{"id": 7, "kind": "x"}'::json`, "id, kind", "7|x"},
		"an object of JSON Schema": {"json", `{"type":"object","properties":{"id":{"type":"integer"}}}`, `'{"id": 7}'::json`, "id", "7"},
	} {
		t.Run(name, func(t *testing.T) {
			registry := httptest.NewServer(srfake.NewRegistry().Handler())
			defer registry.Close()
			client, err := sr.NewClient(sr.URLs(registry.URL))
			if err != nil {
				t.Fatal(err)
			}
			_, read, write := sinkTopics(t, 0)
			db := start(t).root(t)
			subject, where := "copy-key", "keyFormat => '"+test.format+"', schemaRegistryUrl => '"+registry.URL+"'"
			if test.format == "json" {
				subject = "keys"
				where += ", keySubject => 'keys'"
			}
			more := ""
			if test.more != "" {
				more = ", keySchema => '" + test.more + "'"
			}
			insert := " SELECT " + test.key + " AS key, 'v' AS value"
			do(t, db, "INSERT INTO "+write("copy", where+more)+insert)
			do(t, db, "INSERT INTO "+write("copy", where, "autoRegisterSchemas => false")+insert)
			gives(t, db, "SELECT "+test.column+", value::string FROM "+read("copy", where), test.want+"|v\n"+test.want+"|v")
			subjects, err := client.Subjects(t.Context())
			if err != nil || len(subjects) != 1 || subjects[0] != subject {
				t.Errorf("subjects %v, %v", subjects, err)
			}
		})
	}
}

// strict is a registry that takes one schema of a subject and no other, as one does whose rules do not allow the change.
func strict(of http.Handler) http.Handler {
	var mu sync.Mutex
	taken := map[string]string{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/versions") {
			body, err := io.ReadAll(r.Body)
			mu.Lock()
			other := taken[r.URL.Path] != "" && taken[r.URL.Path] != string(body)
			if !other {
				taken[r.URL.Path] = string(body)
			}
			mu.Unlock()
			if other || err != nil {
				w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
				w.WriteHeader(http.StatusConflict)
				_, _ = io.WriteString(w, `{"error_code": 409, "message": "Schema being registered is incompatible with an earlier schema"}`) // the client sees it
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		of.ServeHTTP(w, r)
	})
}

// A change that the subject's rules do not allow is told in the registry's words, and nothing is written.
func TestASchemaThatIsNotCompatibleIsRefused(t *testing.T) {
	registry := httptest.NewServer(strict(srfake.NewRegistry().Handler()))
	defer registry.Close()
	_, read, write := sinkTopics(t, 0)
	db := start(t).root(t)
	where := "format => 'avro', keyFormat => 'avro', schemaRegistryUrl => '" + registry.URL + "'"
	do(t, db, "INSERT INTO "+write("copy", where)+" SELECT 'k' AS key, 1 AS id")
	for _, subject := range []struct{ name, columns string }{{"copy-value", "'k' AS key, 'one' AS id"}, {"copy-key", "1 AS key, 1 AS id"}} {
		_, err := db.Exec("INSERT INTO " + write("copy", where) + " SELECT " + subject.columns)
		wantNumber(t, err, 31077, "does not take the schema for subject '"+subject.name+"': Schema being registered is incompatible with an earlier schema")
	}
	gives(t, db, "SELECT count(*) FROM "+read("copy"), "1")
}
