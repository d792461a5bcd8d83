package writekafka

import (
	"context"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"millrace/functions/readkafka"
	"millrace/internal/column"
	"millrace/internal/decode/proto"
	"millrace/internal/kafka"
	"millrace/internal/option"
	"millrace/internal/registry"
	"millrace/internal/sqlerr"
)

// Format says how keys and values are encoded.
type Format struct {
	// Value is a word of the argument format, empty for the column value as it is; Key is one of keyFormat.
	Value, Key string
	// Metadata are the columns that are parts of a record, when there is a format.
	Metadata []string
	// Schema is the text of the argument, Message and Descriptors are those of Protobuf; all may be empty.
	Schema, Message, Descriptors string
	SkipNull                     bool
	// Delimiter, Quote, Escape and Null are the dialect of csv.
	Delimiter, Quote, Escape, Null string
	// Registry is where schemas are registered, nil for none: in Subject, unless Latest or a Version of it is used as it is.
	Registry *readkafka.Registry
	Subject  string
	Lookup   bool
	Version  int
	// KeySchema and KeySubject are the schema of keys, and its subject; both may be empty.
	KeySchema, KeySubject string
}

// valueRegistered reports whether values have a schema in the registry.
func (f *Format) valueRegistered() bool { return f.Registry != nil && registryTypes[f.Value] != "" }

// formatArgument is an argument that means something to some formats only.
var formatArgument = map[string][]string{
	"schema": {"avro", "proto", "json"}, "messageName": {"proto"}, "descFilePath": {"proto"}, "delimiter": {"csv"}, "quote": {"csv"}, "escape": {"csv"}, "nullValue": {"csv"},
	"ignoreNullFields": {"json"}, "schemaRegistryUrl": {"avro", "proto", "json"}, "schemaRegistrySubject": {"avro", "proto", "json"}, "autoRegisterSchemas": {"avro", "proto", "json"},
	"schemaRegistryVersion": {"avro", "proto", "json"}, "metadataColumns": valueFormats,
}

// ofKeysToo are arguments that mean something to keys with a schema, too.
var ofKeysToo = []string{"schemaRegistryUrl", "autoRegisterSchemas"}

func bindFormat(v *option.Values, env readkafka.ArgsEnv) (Format, error) {
	f := Format{
		Key: v.String("keyFormat"), SkipNull: v.Bool("ignoreNullFields"), Schema: v.String("schema"), Message: strings.TrimPrefix(v.String("messageName"), "."),
		Delimiter: v.String("delimiter"), Quote: v.String("quote"), Escape: v.String("escape"), Null: v.String("nullValue"), Metadata: metadata,
		Subject: v.String("schemaRegistrySubject"), Lookup: !v.Bool("autoRegisterSchemas"), Version: registry.Latest,
	}
	if v.Has("format") {
		f.Value = v.String("format")
	}
	if f.Value == "protobuf" {
		f.Value = "proto"
	}
	if f.Key == "protobuf" {
		f.Key = "proto"
	}
	if err := f.bindKey(v); err != nil {
		return f, err
	}
	for _, o := range Arguments.Options() {
		formats, limited := formatArgument[o.Name]
		if !limited || !v.Has(o.Name) || slices.Contains(formats, f.Value) || slices.Contains(ofKeysToo, o.Name) && f.keysHaveSchema() {
			continue
		}
		if f.Value == "" {
			return f, sqlerr.New(sqlerr.OptionConflict, "'%s' is given without 'format'", v.As(o.Name)).WithHint("it is for format => %s", strings.Join(formats, ", "))
		}
		return f, sqlerr.New(sqlerr.OptionConflict, "'%s' is given, but '%s' is '%s'", v.As(o.Name), v.As("format"), f.Value).WithHint("it is for format => %s", strings.Join(formats, ", "))
	}
	if v.Has("metadataColumns") {
		f.Metadata = v.List("metadataColumns")
		for i, name := range f.Metadata {
			if f.Metadata[i] = strings.ToLower(name); !slices.Contains(metadata, f.Metadata[i]) {
				return f, v.Invalid("metadataColumns", "has '%s', expected some of %s", option.Show(name), strings.Join(metadata, ", "))
			}
		}
	}
	return f, f.bindSchema(v, env)
}

func (f *Format) bindSchema(v *option.Values, env readkafka.ArgsEnv) (err error) {
	if f.Registry, err = readkafka.OptionalRegistry(v, env); err != nil {
		return err
	}
	switch {
	case f.Registry == nil && (v.Has("schemaRegistrySubject") || v.Has("autoRegisterSchemas") || v.Has("schemaRegistryVersion")):
		return sqlerr.New(sqlerr.OptionMissing, "the schema registry is not named").WithHint("for example schemaRegistryUrl => 'http://localhost:8081'")
	case f.Registry == nil && f.Value == "json" && f.Schema != "":
		return sqlerr.New(sqlerr.OptionConflict, "'%s' of json is for a schema registry, and none is named", v.As("schema")).WithHint("leave it out: json needs no schema")
	case f.Lookup && f.Schema != "":
		return sqlerr.New(sqlerr.OptionConflict, "'%s' is given, and '%s' is false: the schema is that of the subject", v.As("schema"), v.As("autoRegisterSchemas")).WithHint("keep one of them")
	case v.Has("schemaRegistryVersion") && !f.Lookup:
		return sqlerr.New(sqlerr.OptionConflict, "'%s' is given, but schemas are registered", v.As("schemaRegistryVersion")).WithHint("add autoRegisterSchemas => false")
	case v.Has("schema") && v.Has("descFilePath"):
		return sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' exclude each other", v.As("schema"), v.As("descFilePath")).WithHint("keep one of them")
	case v.Has("descFilePath") && f.Registry != nil:
		return sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' exclude each other: a registry takes the text of a .proto file", v.As("descFilePath"), v.As("schemaRegistryUrl")).WithHint("give that as 'schema'")
	case v.Has("messageName") && !v.Has("schema") && !v.Has("descFilePath") && !f.Lookup:
		return sqlerr.New(sqlerr.OptionMissing, "'%s' is given without 'schema' or 'descFilePath'", v.As("messageName"))
	}
	if text := strings.ToLower(strings.TrimSpace(v.String("schemaRegistryVersion"))); text != "latest" {
		if f.Version, err = strconv.Atoi(text); err != nil || f.Version < 1 {
			return v.Invalid("schemaRegistryVersion", "is '%s', expected a number from 1 or latest", option.Show(text))
		}
	}
	if v.Has("descFilePath") {
		f.Descriptors, err = kafka.ReadFile(env.FilesDir, v.As("descFilePath"), v.String("descFilePath"), "start the server with --files-dir, or give the text of the .proto file as 'schema'")
	}
	return err
}

// valueEncoder makes the encoder of values that need no schema of a registry.
func (p *Plan) valueEncoder() (encoder, error) {
	f := &p.args.Format
	switch f.Value {
	case "", "raw":
		return contentEncoder{p.value}, nil
	case "string":
		return textEncoder{p.value, p.fields[p.value].Type.Kind}, nil
	case "json":
		return newObject(p.fields, p.data, f.SkipNull), nil
	case "csv":
		e := &csvEncoder{columns: p.data, delimiter: f.Delimiter, quote: f.Quote, escape: f.Escape, null: f.Null}
		for _, at := range p.data {
			e.kinds = append(e.kinds, p.fields[at].Type.Kind)
		}
		return e, nil
	}
	text, err := p.schemaText()
	if err != nil {
		return nil, err
	}
	return p.recordOf(text, &registry.Schema{Text: text})
}

// schemaText is the schema as it was given, else one made of the columns; empty for a file of descriptors.
func (p *Plan) schemaText() (string, error) {
	f, name := &p.args.Format, recordName(p.args.Topic)
	switch {
	case f.Schema != "" || f.Descriptors != "":
		return f.Schema, nil
	case f.Value == "avro":
		return deriveAvro(name, p.fields, p.data)
	case f.Value == "proto":
		return deriveProto(name, p.fields, p.data)
	default:
		return deriveJSON(name, p.fields, p.data)
	}
}

// recordOf makes the encoder of a format with a schema.
func (p *Plan) recordOf(text string, s *registry.Schema) (encoder, error) {
	f := &p.args.Format
	if f.Value == "avro" {
		return newAvro(text, s.ReferenceTexts(), p.fields, p.data)
	}
	files, err := proto.ParseDescriptorSet([]byte(f.Descriptors))
	if f.Descriptors == "" {
		files, err = proto.ParseText(text, s.ReferenceMap())
	}
	if err != nil {
		return nil, schemaError("schema", err)
	}
	e, m, err := newProto(files, f.Message, p.fields, p.data)
	if err != nil {
		return nil, err
	}
	if s.ID > 0 {
		e.frame = m.AppendIndex(e.frame)
	}
	return e, nil
}

// registryTypes are what a registry calls the formats.
var registryTypes = map[string]registry.Type{"avro": registry.Avro, "proto": registry.Protobuf, "json": registry.JSONSchema}

// registered makes the encoder of values whose schema is in a registry, which it asks.
func (p *Plan) registered(ctx context.Context, env readkafka.Env) (encoder, error) {
	f := &p.args.Format
	s := &registry.Schema{}
	var err error
	if !f.Lookup {
		if s.Text, err = p.schemaText(); err != nil {
			return nil, err
		}
		if f.Value != "json" { // what does not fit the columns must not be registered
			if _, err := p.recordOf(s.Text, s); err != nil {
				return nil, err
			}
		}
	}
	if s, err = p.inRegistry(ctx, env, p.subject(), "format", f.Value, s.Text, f.Version); err != nil {
		return nil, err
	}
	if f.Value == "json" {
		return framedEncoder{frameOf(s), newObject(p.fields, p.data, f.SkipNull)}, nil
	}
	e, err := p.recordOf(s.Text, s)
	if err != nil {
		return nil, err
	}
	record := e.(*recordEncoder)
	record.frame = append(frameOf(s), record.frame...)
	return record, nil
}

// inRegistry registers a schema, or looks up the version of the subject that is to be used as it is. format is the word of argument.
func (p *Plan) inRegistry(ctx context.Context, env readkafka.Env, subject, argument, format, text string, version int) (s *registry.Schema, err error) {
	f := &p.args.Format
	err = f.Registry.In(env.Registries).Ask(func(c *registry.Client) error {
		if f.Lookup {
			s, err = c.SchemaOf(ctx, subject, version)
			return err
		}
		s = &registry.Schema{Text: text}
		s.ID, err = c.Register(ctx, subject, registryTypes[format], text)
		return err
	})
	if err == nil && f.Lookup && s.Type != registryTypes[format] {
		err = sqlerr.New(sqlerr.OptionConflict, "subject '%s' has a schema of %s, and '%s' is '%s'", subject, s.Type, argument, format)
	}
	return s, err
}

// frameOf is what records with a schema of the registry begin with.
func frameOf(s *registry.Schema) []byte {
	return binary.BigEndian.AppendUint32([]byte{0}, uint32(s.ID))
}

// subject is that of the schema of values.
func (p *Plan) subject() string {
	if s := p.args.Format.Subject; s != "" {
		return s
	}
	return p.args.Topic + "-value"
}

// framedEncoder puts bytes before what another encoder makes.
type framedEncoder struct {
	frame []byte
	encoder
}

func (e framedEncoder) append(dst []byte, b *column.Batch, i int) ([]byte, bool, error) {
	return e.encoder.append(append(dst, e.frame...), b, i)
}
