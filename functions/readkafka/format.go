package readkafka

import (
	"errors"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/decode"
	"millrace/internal/decode/ddl"
	"millrace/internal/decode/json"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
)

// decoding finds the columns of the call.
func (n *Node) decoding(ctx *sql.Context) (*layout, error) {
	f := &n.format
	if f.raw() {
		l := rawLayout(n.databaseName(), f.Headers, f.Payload)
		l.SkipTombstones = f.SkipTombstones
		return l, nil
	}
	l := newLayout(n.databaseName())
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
		l.decoded(scan.Key, ops.NewDecoding(key, f.Mode, "key"), "key_", taken)
	}
	if value != nil {
		l.decoded(scan.Value, ops.NewDecoding(value, f.Mode, "value"), "", nil)
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
	switch format {
	case "raw":
		return nil, nil
	case "json":
		return n.jsonSchema(of)
	}
	argument := "format"
	if of == partKey {
		argument = "keyFormat"
	}
	return nil, sqlerr.New(sqlerr.NotSupported, "'%s' => '%s' is not supported yet", argument, format)
}

// jsonSchema is the schema of JSON: the fields of the argument schema, which is for values, else one column.
func (n *Node) jsonSchema(of part) (decode.Schema, error) {
	if of == partKey || n.format.Schema == "" {
		return json.Whole(string(of)), nil
	}
	columns, err := ddl.Parse(n.format.Schema)
	if err != nil {
		return nil, wrongSchema(err)
	}
	return json.NewSchema(jsonFields(columns)), nil
}

// jsonFields are columns in JSON records.
func jsonFields(columns []ddl.Column) []json.Field {
	fields := make([]json.Field, len(columns))
	for i, c := range columns {
		fields[i] = json.Field{Field: c.Field(), WallClock: c.Type.Name == ddl.TimestampNTZ, KeepNull: c.Type.Name == ddl.Variant}
	}
	return fields
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
