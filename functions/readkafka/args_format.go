package readkafka

import (
	"encoding/json"
	"strings"

	"millrace/internal/decode"
	"millrace/internal/decode/csv"
	"millrace/internal/kafka"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// Format says how keys and values are decoded. What it needs of files, registries and topics is asked when the columns are decided.
type Format struct {
	// Value and Key are words of the arguments format and keyFormat.
	Value, Key string
	// Schema is the text of the argument, in the language of the format.
	Schema string
	// Message is the Protobuf message, empty for the first; Descriptors is the content of the file of descriptors.
	Message, Descriptors string
	// Registry is the schema registry, when there is one.
	Registry registryArgs
	// Evolution is a word of schemaEvolution.
	Evolution string
	// InferSchema finds the fields of JSON in a sample.
	InferSchema bool
	// CSV is the dialect of csv.
	CSV  csv.Options
	Mode decode.Mode
	// SkipTombstones leaves out records without a value.
	SkipTombstones bool
	// Payload adds the column payload of Managed I/O, which spells the format data_format; Headers shows the headers in SELECT *.
	Payload, Headers bool
}

// raw reports whether records are given as they are.
func (f *Format) raw() bool { return f.Value == "raw" && f.Key == "raw" }

// samples reports whether the columns are found in records.
func (f *Format) samples() bool {
	return f.InferSchema || f.Schema == "" && f.Value == "csv" || f.Value == "debezium" && !f.Registry.given() && f.samplesRows() || f.Key == "csv"
}

// asks reports whether finding the columns takes somebody else's answer.
func (f *Format) asks() bool { return f.samples() || f.Registry.given() }

// needsTopic reports whether the columns depend on which topic is read.
func (f *Format) needsTopic() bool {
	return f.samples() || f.registered(f.Value, partValue) && f.Registry.subject == "" || f.registered(f.Key, partKey) && f.Registry.keySubject == ""
}

// decidingColumns are the arguments that decide which columns a call has.
var decidingColumns = []string{"includeHeaders", "schemaEvolution", "format", "keyFormat", "schema", "inferSchema", "messageName", "descFilePath", "schemaRegistryUrl", "schemaRegistrySubject",
	"schemaRegistryVersion", "schemaRegistryAuthUser", "schemaRegistryAuthPassword", "schemaRegistryAuthToken", "schemaRegistryTimeout", "confluent.schema.registry.*", "keySubject", "mode", "errorHandling", "tombstones", "delimiter", "quote", "escape", "comment", "header", "nullValue", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace"}

// csvArguments are those of format csv alone.
var csvArguments = []string{"delimiter", "quote", "escape", "comment", "header", "nullValue", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace"}

// DecidesColumns reports whether the value of the named argument decides which columns read_kafka has, or what is in them.
func DecidesColumns(name string) bool {
	o := Arguments.Lookup(name)
	if o == nil {
		return false
	}
	for _, n := range decidingColumns {
		if o.Name == n {
			return true
		}
	}
	return false
}

// Decodes reports whether the named argument says how keys or values are decoded.
func Decodes(name string) bool {
	o := Arguments.Lookup(name)
	return o != nil && (o.Name == "format" || o.Name == "keyFormat")
}

// bindFormat binds the arguments that say how records are decoded.
func bindFormat(v *option.Values, env ArgsEnv) (Format, error) {
	f := Format{Value: v.String("format"), Key: v.String("keyFormat"), Schema: v.String("schema"), SkipTombstones: v.String("tombstones") == "skip", Headers: v.Bool("includeHeaders")}
	f.Payload = v.Has("format") && strings.HasPrefix(strings.ToLower(v.As("format")), "data")
	switch v.String("mode") {
	case "DROPMALFORMED":
		f.Mode = decode.DropMalformed
	case "FAILFAST":
		f.Mode = decode.FailFast
	}
	err := f.errorHandling(v)
	if err != nil {
		return f, err
	}
	if f.Registry, err = bindRegistry(v, env); err != nil {
		return f, err
	}
	if err := f.Registry.bindSubjects(v); err != nil {
		return f, err
	}
	if f.Registry.given() && !f.registered(f.Value, partValue) && !f.registered(f.Key, partKey) {
		return f, sqlerr.New(sqlerr.OptionConflict, "'%s' is given, but no format that has schemas there", v.As("schemaRegistryUrl")).WithHint("formats with a schema registry are avro, proto and json")
	}
	f.Evolution = v.String("schemaEvolution")
	switch evolves := f.Evolution != EvolutionNone; {
	case evolves && !f.Registry.given():
		return f, sqlerr.New(sqlerr.OptionConflict, "'%s' is '%s', and there is no schema registry whose schemas could evolve", v.As("schemaEvolution"), f.Evolution).
			WithHint("it is for format => 'avro', 'proto', 'json' or 'debezium' with 'schemaRegistryUrl'")
	case evolves && f.Registry.version > 0:
		return f, sqlerr.New(sqlerr.OptionConflict, "'%s' is '%s', and '%s' fixes the columns", v.As("schemaEvolution"), f.Evolution, v.As("schemaRegistryVersion")).WithHint("leave one of them out")
	}
	if v.Has("schema") && f.registered(f.Value, partValue) {
		v.Warnings = append(v.Warnings, "'"+v.As("schema")+"' is ignored: the schema registry says what the fields are")
		f.Schema = ""
	} else if v.Has("schema") && !takesSchema(f.Value) {
		return f, sqlerr.New(sqlerr.OptionConflict, "'%s' is given, but '%s' is '%s', which has no schema", v.As("schema"), v.As("format"), f.Value).
			WithHint("formats with a schema are json, avro, proto and csv")
	}
	if f.InferSchema = v.Bool("inferSchema"); f.InferSchema && f.Value != "json" {
		return f, notFor(v, "inferSchema", f.Value, "json")
	}
	if f.InferSchema && f.Schema != "" {
		return f, sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' exclude each other", v.As("schema"), v.As("inferSchema")).WithHint("keep one of them")
	}
	if err := f.dialect(v); err != nil {
		return f, err
	}
	return f, f.protobuf(v, env)
}

// errorHandling binds the argument of Managed I/O that sends bad records to an output of their own: the name of the output, or an object that has it. There is one such
// output for a streaming table, and none for a query; the rows that are left are the same.
func (f *Format) errorHandling(v *option.Values) error {
	if !v.Has("errorHandling") {
		return nil
	}
	if v.Has("mode") {
		return sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' exclude each other", v.As("errorHandling"), v.As("mode")).WithHint("keep one of them: bad records are left out, as with mode => 'DROPMALFORMED'")
	}
	if _, err := ErrorOutput(v); err != nil {
		return err
	}
	f.Mode = decode.DropMalformed
	return nil
}

// ErrorOutput reads the argument errorHandling, which names an output, or is an object that does.
func ErrorOutput(v *option.Values) (string, error) {
	text := strings.TrimSpace(v.String("errorHandling"))
	if !strings.HasPrefix(text, "{") {
		return text, nil
	}
	var object struct{ Output string }
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&object); err != nil || object.Output == "" {
		return "", v.Invalid("errorHandling", "is '%s', expected an object with 'output'", option.Show(text)).WithHint("map('output', 'errors'), or 'errors'")
	}
	return object.Output, nil
}

// notFor is the error for an argument that means nothing to a format.
func notFor(v *option.Values, name, format, only string) error {
	return sqlerr.New(sqlerr.OptionConflict, "'%s' is given, but '%s' is '%s'", v.As(name), v.As("format"), format).WithHint("it is for format => '%s'", only)
}

// dialect binds the arguments that only csv has.
func (f *Format) dialect(v *option.Values) error {
	for _, name := range csvArguments {
		if v.Has(name) && f.Value != "csv" {
			return notFor(v, name, f.Value, "csv")
		}
	}
	f.CSV = csv.Options{
		Delimiter: v.String("delimiter"), Quote: v.String("quote"), Escape: v.String("escape"), Comment: v.String("comment"), Header: v.Bool("header"), Null: v.String("nullValue"),
		TrimLeading: v.Bool("ignoreLeadingWhiteSpace"), TrimTrailing: v.Bool("ignoreTrailingWhiteSpace"),
	}
	return nil
}

// protobuf binds the arguments that only Protobuf has.
func (f *Format) protobuf(v *option.Values, env ArgsEnv) error {
	for _, name := range []string{"messageName", "descFilePath"} {
		if v.Has(name) && f.Value != "proto" {
			return notFor(v, name, f.Value, "proto")
		}
	}
	f.Message = strings.TrimPrefix(v.String("messageName"), ".")
	if !v.Has("descFilePath") {
		return nil
	}
	if v.Has("schema") {
		return sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' exclude each other", v.As("schema"), v.As("descFilePath")).WithHint("keep one of them")
	}
	if !v.Has("messageName") {
		return sqlerr.New(sqlerr.OptionMissing, "'%s' needs 'messageName': a set of descriptors holds many messages", v.As("descFilePath")).WithHint("for example messageName => 'shop.Order'")
	}
	var err error
	f.Descriptors, err = kafka.ReadFile(env.FilesDir, v.As("descFilePath"), v.String("descFilePath"), "start the server with --files-dir, or give the text of the .proto file as 'schema'")
	return err
}

// takesSchema reports whether the argument schema means something to a format.
func takesSchema(format string) bool {
	switch format {
	case "json", "avro", "proto", "csv", "debezium":
		return true
	}
	return false
}
