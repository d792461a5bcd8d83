package readkafka

import (
	"strings"

	"millrace/internal/decode"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// Format says how keys and values are decoded. What it needs of files, registries and topics is asked when the columns are decided.
type Format struct {
	// Value and Key are words of the arguments format and keyFormat.
	Value, Key string
	// Schema is the text of the argument, in the language of the format.
	Schema string
	Mode   decode.Mode
	// SkipTombstones leaves out records without a value.
	SkipTombstones bool
	// Payload adds the column payload of Managed I/O, which spells the format data_format; Headers shows the headers in SELECT *.
	Payload, Headers bool
}

// raw reports whether records are given as they are.
func (f *Format) raw() bool { return f.Value == "raw" && f.Key == "raw" }

// decidingColumns are the arguments that decide which columns a call has.
var decidingColumns = []string{"includeHeaders", "format", "keyFormat", "schema", "inferSchema", "messageName", "descFilePath", "schemaRegistryUrl", "schemaRegistrySubject",
	"schemaRegistryVersion", "schemaRegistryAuth*", "keySubject", "mode", "tombstones"}

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
func bindFormat(v *option.Values) (Format, error) {
	f := Format{Value: v.String("format"), Key: v.String("keyFormat"), Schema: v.String("schema"), SkipTombstones: v.String("tombstones") == "skip", Headers: v.Bool("includeHeaders")}
	f.Payload = v.Has("format") && strings.HasPrefix(strings.ToLower(v.As("format")), "data")
	switch v.String("mode") {
	case "DROPMALFORMED":
		f.Mode = decode.DropMalformed
	case "FAILFAST":
		f.Mode = decode.FailFast
	}
	if v.Has("schema") && !takesSchema(f.Value) {
		return f, sqlerr.New(sqlerr.OptionConflict, "'%s' is given, but '%s' is '%s', which has no schema", v.As("schema"), v.As("format"), f.Value).
			WithHint("formats with a schema are json, avro, proto and csv")
	}
	return f, nil
}

// takesSchema reports whether the argument schema means something to a format.
func takesSchema(format string) bool {
	switch format {
	case "json", "avro", "proto", "csv", "debezium":
		return true
	}
	return false
}
