package server

import (
	"encoding/binary"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
)

// framedHex is a record behind the id of its schema, as a literal of SQL.
func framedHex(id uint32, body string) string {
	return fmt.Sprintf("x'%x'", append(binary.BigEndian.AppendUint32([]byte{0}, id), body...))
}

// Functions that decode take a map with a registry in the place of a schema, as Databricks' do.
func TestFunctionsDecodeByARegistry(t *testing.T) {
	registry := srfake.NewRegistry()
	registry.SeedSchema("t-value", 1, 1, sr.Schema{Schema: `{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}`})
	registry.SeedSchema("t-value", 2, 2, sr.Schema{Schema: `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"note","type":["null","string"],"default":null}]}`})
	registry.SeedSchema("name", 1, 3, sr.Schema{Schema: `"string"`})
	registry.SeedSchema("m", 1, 4, sr.Schema{Type: sr.TypeProtobuf, Schema: `syntax = "proto3"; message A { int64 n = 1; } message B { string s = 1; }`})
	registry.SeedSchema("j", 1, 5, sr.Schema{Type: sr.TypeJSON, Schema: `{"type":"object","properties":{"id":{"type":"integer"},"at":{"type":"string","format":"date"}}}`})
	at := httptest.NewServer(registry.Handler())
	defer at.Close()
	options := func(subject string, more string) string {
		return "map('schema.registry.address', '" + at.URL + "', 'schema.registry.subject', '" + subject + "'" + more + ")"
	}
	r := start(t)
	root := r.root(t)
	for expression, result := range map[string]string{
		"from_avro(" + framedHex(1, "\x02") + ", " + options("t-value", "") + ")":                                        `{"id":1,"note":null}`,
		"from_avro(" + framedHex(2, "\x02\x02\x02a") + ", " + options("t-value", "") + "):note::string":                  "a",
		"from_avro(" + framedHex(2, "\x02\x02\x02a") + ", " + options("t-value", ", 'schema.registry.version', 1") + ")": `{"id":1}`,
		"from_avro(" + framedHex(3, "\x04ab") + ", " + options("name", "") + ")":                                         `"ab"`,
		"from_avro(" + framedHex(9, "x") + ", " + options("t-value", "") + ", map('mode', 'PERMISSIVE'))":                "NULL",
		"from_avro(" + framedHex(9, "x") + ", " + options("t-value", ", 'mode', 'permissive'") + ")":                     "NULL",
		"from_avro(NULL, " + options("t-value", "") + ")":                                                                "NULL",
		"from_protobuf(" + framedHex(4, "\x00\x08\x07") + ", '', " + options("m", "") + ")":                              `{"n":7}`,
		"from_protobuf(" + framedHex(4, "\x02\x02\x0a\x01x") + ", 'B', " + options("m", "") + ")":                        `{"s":"x"}`,
		"from_json(" + framedHex(5, `{"id":"7","at":"2026-01-02"}`) + ", " + options("j", "") + ")":                      `{"id":7,"at":"2026-01-02"}`,
		"from_avro(x'02', '{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"}]}')":      `{"id":1}`,
	} {
		want(t, root, "SELECT "+expression+" AS v", "v\n"+result)
	}
	for expression, message := range map[string]string{
		"from_avro(" + framedHex(9, "x") + ", " + options("t-value", "") + ")": "unknown schema id: the schema registry has no schema with id 9",
		"from_avro(x'02', " + options("t-value", "") + ")":                     "no schema id",
		"from_avro(x'02', " + options("nowhere", "") + ")":                     "has no subject 'nowhere'",
		"from_avro(x'02', " + options("m", "") + ")":                           "holds a schema of type PROTOBUF, but the format is 'avro'",
		"from_avro(x'02', map('schema.registry.address', '" + at.URL + "'))":   "schemaRegistrySubject",
		"from_avro(x'02', map('schema.registry.subject', 't-value'))":          "lacks 'schema.registry.address'",
		"from_avro(x'02', " + options("t-value", ", 'colour', 'red'") + ")":    "has no option 'colour'",
		"from_avro(x'02', " + options("t-value", ", 'mode', 'DROP'") + ")":     "allowed are PERMISSIVE and FAILFAST",
		"from_protobuf(x'02', 'C', " + options("m", "") + ")":                  `no message "C"`,
	} {
		if _, err := rows(root, "SELECT "+expression+" AS v"); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: got %v, want %s", expression, err, message)
		}
	}
	// Who may not read topics may not make the server reach out either.
	do(t, root, "CREATE USER reader IDENTIFIED BY 'pw'")
	do(t, root, "GRANT SELECT ON *.* TO reader")
	if _, err := rows(r.connect(t, "reader:pw@/main"), "SELECT from_avro(x'02', "+options("t-value", "")+")"); err == nil || !strings.Contains(err.Error(), "KAFKA_READ") {
		t.Error(err)
	}
}
