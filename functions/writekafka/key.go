package writekafka

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"millrace/functions/readkafka"
	"millrace/internal/column"
	"millrace/internal/decode/avro"
	"millrace/internal/decode/proto"
	"millrace/internal/option"
	"millrace/internal/registry"
	"millrace/internal/sqlerr"
)

// keysHaveSchema reports whether keys are of a format whose schema may be in a registry. Those in JSON have one there when a subject is named for them, which is
// how read_kafka tells them, too.
func (f *Format) keysHaveSchema() bool {
	return f.Key == "avro" || f.Key == "proto" || f.Key == "json" && f.KeySubject != ""
}

// keyRegistered reports whether keys have a schema in the registry.
func (f *Format) keyRegistered() bool { return f.Registry != nil && f.keysHaveSchema() }

// bindKey binds the arguments of keys alone.
func (f *Format) bindKey(v *option.Values) error {
	f.KeySchema, f.KeySubject = v.String("keySchema"), v.String("keySubject")
	for _, name := range []string{"keySchema", "keySubject"} {
		if v.Has(name) && registryTypes[f.Key] == "" {
			return sqlerr.New(sqlerr.OptionConflict, "'%s' is given, but 'keyFormat' is '%s'", v.As(name), f.Key).WithHint("it is for keyFormat => avro, proto, json")
		}
	}
	switch {
	case f.KeySubject != "" && !v.Has("schemaRegistryUrl"):
		return sqlerr.New(sqlerr.OptionMissing, "'%s' is given without 'schemaRegistryUrl'", v.As("keySubject")).WithHint("for example schemaRegistryUrl => 'http://localhost:8081'")
	case f.Key == "json" && f.KeySchema != "" && f.KeySubject == "":
		return sqlerr.New(sqlerr.OptionConflict, "'%s' of json is for a schema registry, where keys of json are when 'keySubject' is given", v.As("keySchema")).WithHint("give keySubject, or leave the schema out: json needs none")
	case f.KeySchema != "" && !v.Bool("autoRegisterSchemas"):
		return sqlerr.New(sqlerr.OptionConflict, "'%s' is given, and '%s' is false: the schema is that of the subject", v.As("keySchema"), v.As("autoRegisterSchemas")).WithHint("keep one of them")
	}
	return nil
}

// plainKey makes the encoder of keys that need no schema of a registry.
func (p *Plan) plainKey() (encoder, error) {
	kind := p.fields[p.key].Type.Kind
	number := kind == column.Int32 || kind == column.Int64 || kind == column.Uint64
	switch f := p.args.Format.Key; f {
	case "raw":
		return contentEncoder{p.key}, nil
	case "string":
		return textEncoder{p.key, kind}, nil
	case "json":
		return &valueEncoder{member: member{at: p.key, kind: kind}}, nil
	case "avro", "proto":
		text, err := p.keySchemaText()
		if err != nil {
			return nil, err
		}
		return p.keyOf(&registry.Schema{Text: text})
	case "float", "double":
		if number || kind == column.Float64 {
			return numberEncoder{p.key, f, kind}, nil
		}
		return nil, sqlerr.New(sqlerr.OptionInvalid, "column 'key' is %s, and 'keyFormat' is '%s'", p.fields[p.key].Type.SQL(), f).WithHint("%s", p.castHint("key::double", "key"))
	default:
		if number {
			return numberEncoder{p.key, f, kind}, nil
		}
		return nil, sqlerr.New(sqlerr.OptionInvalid, "column 'key' is %s, and 'keyFormat' is '%s'", p.fields[p.key].Type.SQL(), f).WithHint("%s", p.castHint("key::bigint", "key"))
	}
}

// keySchemaText is the schema of keys as it was given, else one made of the column: its type in Avro and JSON Schema, a message with the field key in Protobuf.
func (p *Plan) keySchemaText() (string, error) {
	f, of := &p.args.Format, []int{p.key}
	switch {
	case f.KeySchema != "":
		return f.KeySchema, nil
	case f.Key == "json":
		t := jsonTypes[p.fields[p.key].Type.Kind]
		if t == nil {
			t = map[string]any{}
		}
		text, err := json.Marshal(t)
		return string(text), err
	case p.fields[p.key].Type.Kind == column.JSON:
		return "", sqlerr.New(sqlerr.OptionMissing, "column 'key' is JSON, whose fields only a schema tells").WithHint("give the schema of keys: keySchema => '…'")
	case f.Key == "proto":
		return deriveProto(recordName(p.args.Topic)+"Key", p.fields, of)
	default:
		text, err := json.Marshal(avroType(p.fields[p.key]))
		return string(text), err
	}
}

// keyOf makes the encoder of keys by a schema of Avro or Protobuf. A column of JSON is the record; any other is the value of a schema that is no record, or the
// record's field key.
func (p *Plan) keyOf(s *registry.Schema) (encoder, error) {
	if p.args.Format.Key == "avro" {
		schema, err := avro.Parse(s.Text, s.ReferenceTexts()...)
		if err != nil {
			return nil, schemaError("keySchema", err)
		}
		wanted := schema.Fields()
		if !schema.IsRecord() {
			wanted = []column.Field{wanted[0]}
			wanted[0].Name = p.fields[p.key].Name // the value has no name of its own
		}
		return p.keyRecord(schema.NewEncoder(), wanted, schema.IsRecord(), true, nil)
	}
	files, err := proto.ParseText(s.Text, s.ReferenceMap())
	if err != nil {
		return nil, schemaError("keySchema", err)
	}
	m, err := files.Message("")
	if err != nil {
		wrong, _ := sqlerr.As(schemaError("keySchema", err))
		return nil, wrong.WithHint("the schema of keys has one message")
	}
	var frame []byte
	if s.ID > 0 {
		frame = m.AppendIndex(nil)
	}
	return p.keyRecord(m.NewEncoder(), m.Fields(), true, false, frame)
}

func (p *Plan) keyRecord(rows rowEncoder, wanted []column.Field, isRecord, lax bool, frame []byte) (encoder, error) {
	e := &keyEncoder{at: p.key}
	f := p.fields[p.key]
	named := false
	for _, w := range wanted {
		named = named || strings.EqualFold(w.Name, f.Name)
	}
	switch {
	case f.Type.Kind == column.JSON && (isRecord || wanted[0].Type.Kind == column.JSON):
		e.recordEncoder = &recordEncoder{rows: rows, json: &valueEncoder{member: member{at: p.key, kind: column.JSON}}}
	case isRecord && !named:
		return nil, sqlerr.New(sqlerr.OptionInvalid, "column 'key' is %s, and the schema of keys is a record without a field of that name", f.Type.SQL()).
			WithHint("make it an object of its fields: json_object('id', id) AS key")
	default:
		record, err := newRecord(rows, wanted, p.fields, []int{p.key}, lax)
		if err != nil {
			return nil, err
		}
		if object, ok := record.json.(*objectEncoder); ok && !isRecord {
			record.json = &valueEncoder{member: object.members[0]}
		}
		e.recordEncoder = record
	}
	e.what, e.frame = "key", frame
	return e, nil
}

// keyEncoder makes keys by a schema. A column that is NULL is no key.
type keyEncoder struct {
	at int
	*recordEncoder
}

func (e *keyEncoder) append(dst []byte, b *column.Batch, i int) ([]byte, bool, error) {
	if b.Cols[e.at].IsNull(i) {
		return dst, true, nil
	}
	return e.recordEncoder.append(dst, b, i)
}

// registeredKey makes the encoder of keys whose schema is in a registry, which it asks.
func (p *Plan) registeredKey(ctx context.Context, env readkafka.Env) (encoder, error) {
	f := &p.args.Format
	s := &registry.Schema{}
	var err error
	if !f.Lookup {
		if s.Text, err = p.keySchemaText(); err != nil {
			return nil, err
		}
		if f.Key != "json" { // what does not fit the column must not be registered
			if _, err := p.keyOf(s); err != nil {
				return nil, err
			}
		}
	}
	subject := cmp.Or(f.KeySubject, p.args.Topic+"-key")
	if s, err = p.inRegistry(ctx, env, subject, "keyFormat", f.Key, s.Text, registry.Latest); err != nil {
		return nil, err
	}
	if f.Key == "json" {
		return framedEncoder{frameOf(s), &valueEncoder{member: member{at: p.key, kind: p.fields[p.key].Type.Kind}}}, nil
	}
	e, err := p.keyOf(s)
	if err != nil {
		return nil, err
	}
	key := e.(*keyEncoder)
	key.frame = append(frameOf(s), key.frame...)
	return key, nil
}
