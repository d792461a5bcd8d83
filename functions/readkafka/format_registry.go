package readkafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/column"
	"millrace/internal/decode"
	"millrace/internal/decode/avro"
	"millrace/internal/decode/debezium"
	"millrace/internal/decode/framed"
	"millrace/internal/decode/json"
	"millrace/internal/decode/jsonschema"
	"millrace/internal/decode/proto"
	"millrace/internal/registry"
	"millrace/internal/sqlerr"
)

// registered reports whether records of a part and format begin with the id of a schema in the registry.
func (f *Format) registered(format string, of part) bool {
	if !f.Registry.given() {
		return false
	}
	switch format {
	case "avro", "proto":
		return true
	case "debezium":
		return of == partValue
	case "json":
		return of == partValue || f.Registry.keySubject != ""
	}
	return false
}

// registrySchema is the schema of records that were written with a schema registry: the columns are those of a version of the subject, and each record is
// decoded by the schema whose id it carries.
func (n *Node) registrySchema(ctx *sql.Context, format string, of part) (decode.Schema, error) {
	subject, err := n.subject(ctx, of)
	if err != nil {
		return nil, err
	}
	a, pinned := n.format.Registry, schemasOf(ctx)
	if of == partKey {
		a.version = 0
	}
	if a.version == 0 {
		a.version = pinned.versionOf(subject)
	}
	s, err := n.env.Registries.subject(ctx, &a, subject)
	if e, ok := sqlerr.As(err); ok && e.Kind == sqlerr.RegistryNotFound && of == partKey {
		own := *e // others who asked for the subject share the error
		own.Hint = "'keySubject' names the subject of keys, which is by default the topic's name and '-key'; schema_registry_subjects(…) lists the subjects"
		err = &own
	}
	if err != nil {
		return nil, err
	}
	pinned.use(subject, s.Version)
	w, err := n.registered(s, format, of, subject, a)
	if err != nil {
		return nil, err
	}
	return framed.New(n.evolves(ctx, w, s, subject, a)), nil
}

// registered makes plans for the records of a subject, with the columns of a schema of it.
func (n *Node) registered(s *registry.Schema, format string, of part, subject string, a registryArgs) (framed.Writers, error) {
	if format == "debezium" {
		return n.registeredEnvelopes(s, subject, a)
	}
	message := ""
	if of == partValue {
		message = n.format.Message
	}
	found, _, err := (&writers{registries: n.env.Registries, args: a}).of(s, subject, format, message, of)
	return found, err
}

// of makes plans for records whose columns are those of s, a version of subject. bare says that the one column is the whole record.
func (w *writers) of(s *registry.Schema, subject, format, message string, of part) (_ framed.Writers, bare bool, err error) {
	if want := registryTypes[format]; s.Type != want {
		return nil, false, sqlerr.New(sqlerr.OptionConflict, "subject '%s' holds a schema of type %s, but the format is '%s'", subject, s.Type, format).WithHint("%s", formatOf(s.Type, of))
	}
	switch format {
	case "avro":
		reader, err := avro.Parse(s.Text, s.ReferenceTexts()...)
		if err != nil {
			return nil, false, unusable(s, subject, err)
		}
		return &avroWriters{*w, reader, uint32(s.ID)}, !reader.IsRecord(), nil
	case "proto":
		reader, err := w.message(s, subject, message)
		if err != nil {
			return nil, false, err
		}
		return &protoWriters{*w, reader}, false, nil
	default:
		fields, err := jsonschema.Parse(s.Text, s.ReferenceMap())
		if err != nil {
			return nil, false, unusable(s, subject, err)
		}
		return jsonWriters{json.NewSchema(fields)}, len(fields) == 1 && fields[0].Path != nil, nil
	}
}

// message is the one of a Protobuf schema that is named, the first without a name.
func (w *writers) message(s *registry.Schema, subject, name string) (*proto.Message, error) {
	if s.Type != registry.Protobuf {
		return nil, sqlerr.New(sqlerr.OptionConflict, "subject '%s' holds a schema of type %s, not %s", subject, s.Type, registry.Protobuf)
	}
	files, err := proto.ParseText(s.Text, s.ReferenceMap())
	if err != nil {
		return nil, unusable(s, subject, err)
	}
	return protoMessage(files, name)
}

// unusable is the error of a version of a subject that is not what it should be.
func unusable(s *registry.Schema, subject string, err error) error {
	return sqlerr.New(sqlerr.OptionInvalid, "version %d of subject '%s' cannot be used: %s", s.Version, subject, mainLine(err)).WithCause(err)
}

// formatOf is the hint for a schema of another format's language.
func formatOf(t registry.Type, of part) string {
	argument := "format"
	if of == partKey {
		argument = "keyFormat"
	}
	for format, language := range registryTypes {
		if language == t {
			return "read it with " + argument + " => '" + format + "', or name another subject"
		}
	}
	return "name another subject"
}

// registryTypes are the languages of formats.
var registryTypes = map[string]registry.Type{"avro": registry.Avro, "proto": registry.Protobuf, "json": registry.JSONSchema}

// subject is the one that the columns come from: as given, or the topic's.
func (n *Node) subject(ctx *sql.Context, of part) (string, error) {
	argument, given, end := "schemaRegistrySubject", n.format.Registry.subject, "-value"
	if of == partKey {
		argument, given, end = "keySubject", n.format.Registry.keySubject, "-key"
	}
	if given != "" {
		return given, nil
	}
	args, err := n.bind(ctx)
	if err != nil {
		return "", err
	}
	topic, sel := "", args.Spec.Select
	switch {
	case len(sel.Topics) == 1:
		topic = sel.Topics[0]
	case len(sel.Assign) == 1:
		for topic = range sel.Assign {
		}
	default:
		return "", sqlerr.New(sqlerr.OptionMissing, "'%s' is needed: without it the subject is named after the topic, and the call names none or several", argument).
			WithHint("for example %s => 'orders%s'", argument, end)
	}
	return topic + end, nil
}

// writers finds the schemas of records.
type writers struct {
	registries *Registries
	args       registryArgs
}

// find gives the schema with an id, of the type that is wanted. That there is none is bad data.
func (w *writers) find(ctx context.Context, id framed.ID, want registry.Type) (*registry.Schema, error) {
	s, err := w.registries.id(ctx, &w.args, id)
	var unknown *registry.UnknownID
	switch {
	case errors.As(err, &unknown):
		return nil, &decode.Error{Reason: decode.UnknownSchemaID, Offset: 1, Detail: unknown.Error()}
	case err != nil:
		return nil, err
	case s.Type != want:
		return nil, &decode.Error{Reason: decode.UnknownSchemaID, Offset: 1, Detail: fmt.Sprintf("schema %s is of type %s, not %s", id, s.Type, want)}
	}
	return s, nil
}

// unusable is the error of a record whose schema cannot be used.
func (w *writers) unusable(id framed.ID, err error) error {
	var data *decode.Error
	if errors.As(err, &data) {
		return data
	}
	return &decode.Error{Reason: decode.UnknownSchemaID, Offset: 1, Detail: fmt.Sprintf("schema %s cannot be used: %s", id, mainLine(err))}
}

// avroWriters implements framed.Writers.
type avroWriters struct {
	writers
	reader   *avro.Schema
	readerID uint32
}

func (w *avroWriters) Fields() []column.Field { return w.reader.Fields() }

func (w *avroWriters) SplitIndex(body []byte) (index, rest []byte, err error) { return nil, body, nil }

func (w *avroWriters) Compile(ctx context.Context, id framed.ID, _ []byte, wanted []int) (decode.Plan, error) {
	if !id.Global && id.Number == w.readerID {
		return w.reader.Compile(wanted)
	}
	s, err := w.find(ctx, id, registry.Avro)
	if err != nil {
		return nil, err
	}
	writer, err := avro.Parse(s.Text, s.ReferenceTexts()...)
	if err != nil {
		return nil, w.unusable(id, err)
	}
	plan, err := w.reader.CompileFrom(writer, wanted)
	if err != nil {
		return nil, w.unusable(id, err)
	}
	return plan, nil
}

// registeredEnvelopes is for Debezium's envelopes in Avro, or in JSON with a JSON Schema.
func (n *Node) registeredEnvelopes(s *registry.Schema, subject string, a registryArgs) (framed.Writers, error) {
	noEnvelope := func(format string) error {
		return sqlerr.New(sqlerr.OptionInvalid, "version %d of subject '%s' is not the schema of a Debezium envelope: it has no row in 'after' or 'before'", s.Version, subject).
			WithHint("format => '%s' reads records without an envelope", format)
	}
	switch s.Type {
	case registry.Avro:
		text, ok := debezium.RowSchema(s.Text)
		if !ok {
			return nil, noEnvelope("avro")
		}
		row, err := avro.Parse(text, s.ReferenceTexts()...)
		if err != nil {
			return nil, unusable(s, subject, err)
		}
		var fields []json.Field
		for _, f := range row.Fields() {
			fields = append(fields, json.Field{Field: f})
		}
		return &envelopeWriters{writers{n.env.Registries, a}, debezium.NewSchema(fields)}, nil
	case registry.JSONSchema:
		fields, ok, err := jsonschema.ParseMember(s.Text, s.ReferenceMap(), "after", "before")
		if err != nil {
			return nil, unusable(s, subject, err)
		}
		if !ok {
			return nil, noEnvelope("json")
		}
		return jsonWriters{debezium.NewSchema(fields)}, nil
	}
	return nil, sqlerr.New(sqlerr.NotSupported, "subject '%s' holds a schema of type %s: envelopes of Debezium are read in Avro and JSON", subject, s.Type)
}

// envelopeWriters implements framed.Writers for envelopes in Avro.
type envelopeWriters struct {
	writers
	*debezium.Schema
}

func (w *envelopeWriters) SplitIndex(body []byte) (index, rest []byte, err error) {
	return nil, body, nil
}

func (w *envelopeWriters) Compile(ctx context.Context, id framed.ID, _ []byte, wanted []int) (decode.Plan, error) {
	s, err := w.find(ctx, id, registry.Avro)
	if err != nil {
		return nil, err
	}
	writer, err := avro.Parse(s.Text, s.ReferenceTexts()...)
	if err != nil {
		return nil, w.unusable(id, err)
	}
	return w.CompileFrom(func() debezium.Transcoder { return writer.NewRecordJSON() }, wanted)
}

// jsonWriters implements framed.Writers. JSON tells itself which fields it has, so the schemas of records need not be asked for.
type jsonWriters struct{ decode.Schema }

func (w jsonWriters) SplitIndex(body []byte) (index, rest []byte, err error) { return nil, body, nil }

func (w jsonWriters) Compile(_ context.Context, _ framed.ID, _ []byte, wanted []int) (decode.Plan, error) {
	return w.Schema.Compile(wanted)
}

// protoWriters implements framed.Writers.
type protoWriters struct {
	writers
	reader *proto.Message
}

func (w *protoWriters) Fields() []column.Field { return w.reader.Fields() }

func (w *protoWriters) SplitIndex(body []byte) (index, rest []byte, err error) {
	return proto.SplitMessageIndex(body)
}

func (w *protoWriters) Compile(ctx context.Context, id framed.ID, index []byte, wanted []int) (decode.Plan, error) {
	s, err := w.find(ctx, id, registry.Protobuf)
	if err != nil {
		return nil, err
	}
	path, _, err := proto.MessageIndex(index)
	if err != nil {
		return nil, err
	}
	files, err := proto.ParseText(s.Text, s.ReferenceMap())
	if err != nil {
		return nil, w.unusable(id, err)
	}
	writer, err := files.MessageByIndex(path)
	if err != nil {
		return nil, &decode.Error{Reason: decode.UnknownSchemaID, Offset: framed.HeaderSize, Detail: fmt.Sprintf("schema %s has no message at %v", id, path)}
	}
	if writer.Name() != w.reader.Name() {
		// Topics may hold records of several types; their columns are those of one.
		return nil, &decode.Error{Reason: decode.WrongType, Offset: framed.HeaderSize, Detail: "a message " + writer.Name() + ", not " + w.reader.Name()}
	}
	plan, err := w.reader.CompileFrom(writer, wanted)
	if err != nil {
		return nil, w.unusable(id, err)
	}
	return plan, nil
}
