package writekafka

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

// schemaName is what the names of fields and records may be in Avro and Protobuf.
var schemaName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// unnamed is the error for a column whose name a schema cannot have.
func unnamed(format, name string) error {
	return sqlerr.New(sqlerr.OptionInvalid, "column '%s' has a name that a field of %s cannot have", name, format).WithHint("give it another: SELECT … AS %s", strings.Trim(regexp.MustCompile(`[^A-Za-z0-9_]+`).ReplaceAllString(name, "_"), "_"))
}

// recordName makes the name of a record of the name of its topic.
func recordName(topic string) string {
	var b strings.Builder
	up := true
	for _, c := range topic {
		switch {
		case c >= 'a' && c <= 'z' && up:
			b.WriteRune(c - 'a' + 'A')
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9' && b.Len() > 0:
			b.WriteRune(c)
		}
		up = !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	}
	if b.Len() == 0 {
		return "Row"
	}
	return b.String()
}

// avroTypes are the types of Avro by kinds of columns; decimals have their own.
var avroTypes = map[column.Kind]any{
	column.Bool: "boolean", column.Int32: "int", column.Int64: "long", column.Float64: "double", column.Bytes: "bytes", column.Text: "string", column.JSON: "string", column.Invalid: "null",
	column.Date: logical("int", "date"), column.Time: logical("long", "time-micros"), column.Timestamp: logical("long", "timestamp-micros"),
	column.Uint64: map[string]any{"type": "bytes", "logicalType": "decimal", "precision": 20, "scale": 0},
}

func logical(of, name string) map[string]any { return map[string]any{"type": of, "logicalType": name} }

func avroType(f column.Field) any {
	switch {
	case f.Type.Kind == column.Decimal:
		return map[string]any{"type": "bytes", "logicalType": "decimal", "precision": max(f.Type.Precision, 1), "scale": f.Type.Scale}
	case f.Type.Kind == column.Float64 && f.Width == 32:
		return "float"
	}
	return avroTypes[f.Type.Kind]
}

// deriveAvro makes an Avro schema of columns: a field each, which may be null and by default is.
func deriveAvro(name string, fields []column.Field, columns []int) (string, error) {
	type field struct {
		Name    string `json:"name"`
		Type    any    `json:"type"`
		Default any    `json:"default"`
	}
	var list []field
	for _, at := range columns {
		f := fields[at]
		if !schemaName.MatchString(f.Name) {
			return "", unnamed("Avro", f.Name)
		}
		t := avroType(f)
		if t != "null" {
			t = []any{"null", t}
		}
		list = append(list, field{f.Name, t, nil})
	}
	text, err := json.Marshal(map[string]any{"type": "record", "name": name, "fields": list})
	return string(text), err
}

// protoTypes are the types of Protobuf by kinds of columns. What it has no type for is text.
var protoTypes = map[column.Kind]string{
	column.Bool: "bool", column.Int32: "int32", column.Int64: "int64", column.Uint64: "uint64", column.Float64: "double", column.Bytes: "bytes", column.Timestamp: "google.protobuf.Timestamp",
}

// deriveProto makes the text of a .proto file of columns: a field each, in their order.
func deriveProto(name string, fields []column.Field, columns []int) (string, error) {
	var b strings.Builder
	b.WriteString("syntax = \"proto3\";\n")
	for _, at := range columns {
		if fields[at].Type.Kind == column.Timestamp {
			b.WriteString("import \"google/protobuf/timestamp.proto\";\n")
			break
		}
	}
	fmt.Fprintf(&b, "message %s {\n", name)
	for n, at := range columns {
		f := fields[at]
		if !schemaName.MatchString(f.Name) {
			return "", unnamed("Protobuf", f.Name)
		}
		t := protoTypes[f.Type.Kind]
		switch {
		case f.Type.Kind == column.Float64 && f.Width == 32:
			t = "float"
		case t == "":
			t = "string"
		}
		fmt.Fprintf(&b, "  optional %s %s = %d;\n", t, f.Name, n+1)
	}
	b.WriteString("}\n")
	return b.String(), nil
}

// jsonTypes are the types of JSON Schema by kinds of columns. JSON may hold anything.
var jsonTypes = map[column.Kind]map[string]any{
	column.Bool: {"type": "boolean"}, column.Int32: {"type": "integer"}, column.Int64: {"type": "integer"}, column.Uint64: {"type": "integer"}, column.Float64: {"type": "number"},
	column.Decimal: {"type": "number"}, column.Text: {"type": "string"}, column.Bytes: {"type": "string", "contentEncoding": "base64"}, column.Date: {"type": "string", "format": "date"},
	column.Time: {"type": "string", "format": "time"}, column.Timestamp: {"type": "string", "format": "date-time"},
}

// deriveJSON makes a JSON Schema of columns: a property each, which may be null.
func deriveJSON(name string, fields []column.Field, columns []int) (string, error) {
	properties := map[string]any{}
	for _, at := range columns {
		f := fields[at]
		t := jsonTypes[f.Type.Kind]
		if t == nil {
			properties[f.Name] = map[string]any{}
			continue
		}
		properties[f.Name] = map[string]any{"oneOf": []any{map[string]any{"type": "null"}, t}}
	}
	text, err := json.Marshal(map[string]any{"$schema": "http://json-schema.org/draft-07/schema#", "title": name, "type": "object", "properties": properties})
	return string(text), err
}
