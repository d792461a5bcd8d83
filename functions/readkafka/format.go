package readkafka

import (
	"errors"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/decode"
	"millrace/internal/decode/avro"
	"millrace/internal/decode/csv"
	"millrace/internal/decode/ddl"
	"millrace/internal/decode/debezium"
	"millrace/internal/decode/framed"
	"millrace/internal/decode/json"
	"millrace/internal/decode/jsonschema"
	"millrace/internal/decode/proto"
	"millrace/internal/decode/serde"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/planner"
)

// decoding finds the columns of the call.
func (n *Node) decoding(ctx *sql.Context) (*layout, error) {
	f := &n.format
	if f.raw() {
		l := rawLayout(n.DatabaseName(), f.Headers, f.Payload)
		l.SkipTombstones = f.SkipTombstones
		return l, nil
	}
	l := newLayout(n.DatabaseName())
	l.SkipTombstones = f.SkipTombstones
	value, err := n.schemaOf(ctx, f.Value, partValue)
	if err != nil {
		return nil, err
	}
	key, err := n.schemaOf(ctx, f.Key, partKey)
	if err != nil {
		return nil, err
	}
	if key != nil {
		taken := map[string]bool{"value": value == nil}
		if value != nil {
			for _, field := range value.Fields() {
				taken[strings.ToLower(field.Name)] = true
			}
		}
		l.decoded(planner.Records{From: scan.Key, How: ops.NewDecoding(key, f.Mode, "key", f.Key), Headed: f.registered(f.Key, partKey)}, "key_", taken)
	}
	if value != nil {
		l.decoded(planner.Records{From: scan.Value, How: ops.NewDecoding(value, f.Mode, "value", f.Value), Headed: f.registered(f.Value, partValue)}, "", nil)
	} else {
		l.plain("value", scan.Value, types.LongBlob)
	}
	l.metadata(f)
	return l, nil
}

// part says whether keys or values are decoded.
type part string

const (
	partKey   part = "key"
	partValue part = "value"
)

// schemaOf is the schema of keys or values in a format, nil for raw.
func (n *Node) schemaOf(ctx *sql.Context, format string, of part) (decode.Schema, error) {
	if n.format.registered(format, of) {
		return n.registrySchema(ctx, format, of)
	}
	switch format {
	case "raw":
		return nil, nil
	case "json":
		return n.jsonSchema(ctx, of)
	case "csv":
		return n.csvSchema(ctx, of)
	case "debezium":
		return n.debeziumSchema(ctx, of)
	case "avro":
		return n.avroSchema(of)
	case "proto":
		return n.protoSchema(of)
	}
	argument := "format"
	if of == partKey {
		argument = "keyFormat"
	}
	if slices.Contains(serde.Names(), format) {
		return serde.New(format, string(of))
	}
	return nil, sqlerr.New(sqlerr.NotSupported, "'%s' => '%s' is not supported yet", argument, format)
}

// jsonSchema is the schema of JSON: the fields of the argument schema, which is for values, else one column.
func (n *Node) jsonSchema(ctx *sql.Context, of part) (decode.Schema, error) {
	switch {
	case of == partKey, n.format.Schema == "" && !n.format.InferSchema:
		return framed.Plain(json.Whole(string(of))), nil
	case n.format.InferSchema:
		return n.inferredSchema(ctx)
	}
	if isJSONSchema(n.format.Schema) {
		fields, err := jsonschema.Parse(n.format.Schema, nil)
		if err != nil {
			return nil, wrongText(err, "write a JSON Schema, or columns with their types, such as 'id BIGINT, name STRING'")
		}
		return framed.Plain(json.NewSchema(fields)), nil
	}
	columns, err := ddl.StructFields(n.format.Schema)
	if err != nil {
		return nil, wrongSchema(err)
	}
	return framed.Plain(json.NewSchema(json.Declared(columns))), nil
}

// isJSONSchema tells a JSON Schema from a list of columns.
func isJSONSchema(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") || text == "true"
}

// needsSchema is the error for a format that cannot do without a schema.
func needsSchema(format string, of part) error {
	if of == partKey {
		return sqlerr.New(sqlerr.OptionMissing, "'keyFormat' => '%s' needs a schema registry", format).WithHint("give 'schemaRegistryUrl'; 'schema' is for values")
	}
	return sqlerr.New(sqlerr.OptionMissing, "'format' => '%s' needs a schema", format).WithHint("give 'schema', or 'schemaRegistryUrl' for records that were written with a schema registry")
}

// avroSchema is the schema of records in Avro that begin with nothing but themselves.
func (n *Node) avroSchema(of part) (decode.Schema, error) {
	if of == partKey || n.format.Schema == "" {
		return nil, needsSchema("avro", of)
	}
	s, err := avro.Parse(n.format.Schema)
	if err != nil {
		return nil, wrongText(err, "write an Avro schema in JSON, such as '{\"type\":\"record\",\"name\":\"Order\",\"fields\":[{\"name\":\"id\",\"type\":\"long\"}]}'")
	}
	return framed.Plain(s), nil
}

// protoSchema is the message that values are, by text or descriptors.
func (n *Node) protoSchema(of part) (decode.Schema, error) {
	f := &n.format
	if of == partKey || f.Schema == "" && f.Descriptors == "" {
		return nil, needsSchema("proto", of)
	}
	var files *proto.Files
	var err error
	if f.Descriptors != "" {
		if files, err = proto.ParseDescriptorSet([]byte(f.Descriptors)); err != nil {
			return nil, sqlerr.New(sqlerr.OptionInvalid, "'descFilePath' names a file that cannot be used: %s", mainLine(err)).WithHint("write it with protoc --include_imports --descriptor_set_out=orders.desc orders.proto")
		}
	} else if files, err = proto.ParseText(f.Schema, nil); err != nil {
		return nil, wrongText(err, "write the text of a .proto file, such as 'syntax = \"proto3\"; message Order { int64 id = 1; }'")
	}
	m, err := protoMessage(files, f.Message)
	if err != nil {
		return nil, err
	}
	return framed.Plain(m), nil
}

// protoMessage finds a message by name, the first one without a name.
func protoMessage(files *proto.Files, name string) (*proto.Message, error) {
	var m *proto.Message
	var err error
	if name == "" {
		m, err = files.MessageByIndex([]int{0})
	} else {
		m, err = files.Message(name)
	}
	if err != nil {
		wrong := sqlerr.New(sqlerr.OptionInvalid, "'messageName' is wrong: %s", mainLine(err))
		if inner, ok := sqlerr.As(err); ok {
			wrong.Hint = inner.Hint // the messages that there are
		}
		return nil, wrong
	}
	return m, nil
}

// mainLine is the text of an error without its hint.
func mainLine(err error) string {
	if e, ok := sqlerr.As(err); ok {
		return e.Msg
	}
	return err.Error()
}

// wrongText is the error for an argument schema in a language that has errors of its own; hint is for those without one.
func wrongText(err error, hint string) error {
	e := sqlerr.New(sqlerr.OptionInvalid, "'schema' is wrong: %w", err).WithHint("%s", hint)
	if inner, ok := sqlerr.As(err); ok {
		e = sqlerr.New(sqlerr.OptionInvalid, "'schema' is wrong: %s", inner.Msg).WithCause(err)
		e.Detail, e.Hint = inner.Detail, inner.Hint
		if e.Hint == "" {
			e.Hint = hint
		}
	}
	return e
}

// inferredSchema is the schema of JSON values as a sample has them.
func (n *Node) inferredSchema(ctx *sql.Context) (decode.Schema, error) {
	if columns, ok := schemasOf(ctx).sampled(partValue); ok {
		return framed.Plain(json.NewSchema(json.Loose(columns))), nil
	}
	records, err := n.sample(ctx, partValue, sampleRecords)
	if err != nil {
		return nil, err
	}
	columns, used := ddl.Infer(records)
	if len(columns) == 0 {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "'inferSchema' finds no fields: %d of the %d records read are JSON objects", used, len(records)).WithHint("give 'schema', such as 'id BIGINT, name STRING'")
	}
	schemasOf(ctx).sample(partValue, columns)
	return framed.Plain(json.NewSchema(json.Loose(columns))), nil
}

// debeziumSchema is the schema of Debezium's envelopes: the fields of rows by the argument schema, by the schema that records bring along, or as a sample has them.
func (n *Node) debeziumSchema(ctx *sql.Context, of part) (decode.Schema, error) {
	f := &n.format
	switch {
	case of == partKey:
		return nil, sqlerr.New(sqlerr.OptionInvalid, "'keyFormat' is 'debezium', which keys are not").WithHint("keys of Debezium are json or avro")
	case f.Schema != "":
		return n.declaredRows(ctx)
	}
	if columns, ok := schemasOf(ctx).sampled(of); ok {
		return framed.Plain(debezium.NewSchema(json.Loose(columns))), nil
	}
	records, err := n.sample(ctx, of, sampleRecords)
	if err != nil {
		return nil, err
	}
	fields, rows, exact := debezium.Sample(records)
	if exact {
		return framed.Plain(debezium.NewSchema(fields)), nil
	}
	columns, used := ddl.Infer(rows)
	if len(columns) == 0 {
		return nil, sqlerr.New(sqlerr.OptionMissing, "the columns of the rows are not known: %d of the %d records read hold a row", used, len(records)).WithHint("give 'schema', such as 'id BIGINT, name STRING'")
	}
	schemasOf(ctx).sample(of, columns)
	return framed.Plain(debezium.NewSchema(json.Loose(columns))), nil
}

// declaredRows is the schema of envelopes around rows with declared fields. Debezium's types hide behind numbers and base64, so what they stand for is looked up in
// a sample where a field is of such a type.
func (n *Node) declaredRows(ctx *sql.Context) (decode.Schema, error) {
	fields, err := n.format.rowFields()
	if err != nil || !debezium.NeedsSample(fields) {
		return framed.Plain(debezium.NewSchema(fields)), err
	}
	records, err := n.sample(ctx, partValue, sampleRecords)
	if err != nil {
		return nil, err
	}
	return framed.Plain(debezium.NewSchema(debezium.Declare(fields, records))), nil
}

// rowFields are the declared fields of rows.
func (f *Format) rowFields() ([]json.Field, error) {
	if isJSONSchema(f.Schema) {
		fields, err := jsonschema.Parse(f.Schema, nil)
		if err != nil {
			err = wrongText(err, "write the columns of the row, such as 'id BIGINT, name STRING'")
		}
		return fields, err
	}
	columns, err := ddl.StructFields(f.Schema)
	if err != nil {
		return nil, wrongSchema(err)
	}
	return json.Loose(columns), nil
}

// samplesRows reports whether envelopes are looked at for what their rows hold.
func (f *Format) samplesRows() bool {
	if f.Schema == "" {
		return true
	}
	fields, err := f.rowFields()
	return err == nil && debezium.NeedsSample(fields)
}

// csvSchema is the schema of csv: the columns of the argument schema, else those of the first record, all text.
func (n *Node) csvSchema(ctx *sql.Context, of part) (decode.Schema, error) {
	f := &n.format
	var fields []csv.Field
	if of == partValue && f.Schema != "" {
		columns, err := ddl.StructFields(f.Schema)
		if err != nil {
			return nil, wrongSchema(err)
		}
		for _, c := range columns {
			fields = append(fields, csv.Field{Field: c.Field(), WallClock: c.Type.Name == ddl.TimestampNTZ})
		}
		return csv.NewSchema(fields, f.CSV)
	}
	if columns, ok := schemasOf(ctx).sampled(of); ok {
		for _, c := range columns {
			fields = append(fields, csv.Field{Field: c.Field()})
		}
		return csv.NewSchema(fields, f.CSV)
	}
	records, err := n.sample(ctx, of, 1)
	switch {
	case err != nil:
		return nil, err
	case len(records) == 0:
		return nil, sqlerr.New(sqlerr.OptionMissing, "the columns of csv are not known: there is no record to take them from").WithHint("give 'schema', such as 'id BIGINT, name STRING'")
	}
	if fields, err = csv.Infer(records[0], f.CSV); err != nil {
		if _, ok := sqlerr.As(err); ok {
			return nil, err // an argument is wrong, not the record
		}
		return nil, sqlerr.New(sqlerr.OptionMissing, "the columns of csv are not known: the first record is no row of csv: %s", mainLine(err)).WithHint("give 'schema', such as 'id BIGINT, name STRING'")
	}
	var columns []ddl.Column
	for _, field := range fields {
		columns = append(columns, ddl.Column{Name: field.Name, Type: ddl.Type{Name: ddl.String}})
	}
	schemasOf(ctx).sample(of, columns)
	return csv.NewSchema(fields, f.CSV)
}

// wrongSchema is the error for an argument schema that cannot be read.
func wrongSchema(err error) error {
	const hint = "write columns with their types, such as 'id BIGINT, name STRING'"
	var where *ddl.Error
	if errors.As(err, &where) {
		return sqlerr.New(sqlerr.OptionInvalid, "'schema' is wrong %v", where).WithHint(hint)
	}
	return sqlerr.New(sqlerr.OptionInvalid, "'schema' is wrong: %w", err).WithHint(hint)
}
