package jsonschema

import (
	"slices"
	"strings"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// typeNames are what the keyword type may say; any is that of old drafts.
var typeNames = []string{"null", "boolean", "integer", "number", "string", "array", "object", "any"}

// keywords are those by which a JSON Schema is known: one without any of them says nothing of its records.
var keywords = []string{"$schema", "$id", "$ref", "$defs", "$anchor", "$comment", "definitions", "type", "properties", "patternProperties", "additionalProperties",
	"propertyNames", "required", "items", "prefixItems", "additionalItems", "contains", "allOf", "anyOf", "oneOf", "not", "if", "enum", "const", "title", "description",
	"default", "examples", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "minItems",
	"maxItems", "minProperties", "maxProperties", "contentEncoding", "contentMediaType", "dependentSchemas", "dependentRequired", "dependencies", "unevaluatedProperties"}

// check refuses texts in JSON that are something else than a JSON Schema, which would else be one that allows everything.
func check(root *node) error {
	switch {
	case root.kind != object:
		return nil
	case root.text("type") == "record" && root.get("fields") != nil:
		return sqlerr.New(sqlerr.OptionInvalid, "a JSON Schema is expected, found an Avro schema: its type is 'record'").
			WithHint("records in Avro have format => 'avro'; for JSON write a JSON Schema, or columns such as 'id BIGINT, name STRING'")
	case root.text("type") == "struct" && root.get("fields") != nil:
		return sqlerr.New(sqlerr.OptionInvalid, "a JSON Schema is expected, found a schema of Kafka Connect: its type is 'struct'").
			WithHint("write a JSON Schema, or columns such as 'id BIGINT, name STRING'")
	}
	known := func(key string) bool { return slices.Contains(keywords, key) || strings.HasPrefix(key, "connect.") }
	if len(root.keys) > 0 && !slices.ContainsFunc(root.keys, known) {
		return sqlerr.New(sqlerr.OptionInvalid, "a JSON Schema is expected, found an object with '%s' and none of its keywords", option.Show(root.keys[0])).
			WithHint(`write {"type": "object", "properties": {…}}, or columns such as 'id BIGINT, name STRING'`)
	}
	return nil
}

// checkTypes refuses a keyword type that names no type.
func checkTypes(n *node) error {
	for _, t := range append((&schema{node: n}).types(), n.text("type")) {
		if t == "" || slices.Contains(typeNames, t) {
			continue
		}
		err := sqlerr.New(sqlerr.OptionInvalid, "'%s' is not a type of JSON Schema; allowed are null, boolean, integer, number, string, array and object", option.Show(t))
		if near := option.Nearest(t, typeNames); near != "" {
			return err.WithHint("did you mean '%s'?", near)
		}
		return err
	}
	return nil
}
