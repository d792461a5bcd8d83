package readkafka

import (
	"strconv"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	query "github.com/dolthub/vitess/go/vt/proto/query"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/planner"
)

// layout is the columns of a call: what SQL sees, and what is behind each.
type layout struct {
	schema sql.Schema
	planner.Layout
	// hidden are columns that SELECT * leaves out, by lower-case name.
	hidden map[string]bool
	db     string
	// taken are the names so far, in lower case.
	taken map[string]bool
}

var (
	topicType     = types.MustCreateStringWithDefaults(sqltypes.VarChar, 249)
	timestampType = types.MustCreateDatetimeType(sqltypes.Datetime, 3)
)

func newLayout(db string) *layout {
	return &layout{db: db, hidden: map[string]bool{}, taken: map[string]bool{}}
}

// add appends a column. A name that is taken gets a number: names of SQL do not differ by case, those of other languages do.
func (l *layout) add(name string, c planner.Column, t sql.Type, nullable bool) {
	unique := name
	for n := 2; l.taken[strings.ToLower(unique)]; n++ {
		unique = name + "_" + strconv.Itoa(n)
	}
	l.taken[strings.ToLower(unique)] = true
	l.schema = append(l.schema, &sql.Column{Name: unique, Type: t, Nullable: nullable, Source: Name, DatabaseSource: l.db})
	l.Columns = append(l.Columns, c)
}

// plain appends a field of the record.
func (l *layout) plain(name string, f scan.Field, t sql.Type) {
	l.add(name, planner.Column{Field: f}, t, f.Column().Nullable)
}

// hide appends a field of the record that SELECT * leaves out.
func (l *layout) hide(name string, f scan.Field, t sql.Type) {
	l.plain(name, f, t)
	l.hidden[strings.ToLower(l.schema[len(l.schema)-1].Name)] = true
}

// rawLayout lists the columns of records as they are. payload is the value once more, under the name that Managed I/O gives it.
func rawLayout(db string, headers, payload bool) *layout {
	l := newLayout(db)
	l.plain("key", scan.Key, types.LongBlob)
	l.plain("value", scan.Value, types.LongBlob)
	l.plain("topic", scan.Topic, topicType)
	l.plain("partition", scan.Partition, types.Int32)
	l.plain("offset", scan.Offset, types.Int64)
	l.plain("timestamp", scan.Timestamp, timestampType)
	l.plain("timestampType", scan.TimestampType, types.Int32)
	if headers {
		l.plain("headers", scan.Headers, types.JSON)
	}
	if payload {
		l.plain("payload", scan.Value, types.LongBlob)
	}
	return l
}

// decoded appends the fields of a decoded key or value. prefix is put before names that are among taken.
func (l *layout) decoded(records planner.Records, prefix string, taken map[string]bool) {
	l.Records = append(l.Records, records)
	for i, f := range records.How.Fields() {
		name := f.Name
		if prefix != "" && name == "value" && len(records.How.Fields()) == 1 {
			name = "key" // a key that is one value
		}
		if taken[strings.ToLower(name)] {
			name = prefix + name
		}
		l.add(name, planner.Column{Kind: planner.Decoded, Records: len(l.Records) - 1, Number: i}, engineType(f), true)
	}
}

// metadata appends what every decoded record has beside its fields.
func (l *layout) metadata(f *Format) {
	l.plain("_key", scan.Key, types.LongBlob)
	l.hide("_value", scan.Value, types.LongBlob)
	l.plain("_topic", scan.Topic, topicType)
	l.plain("_partition", scan.Partition, types.Int32)
	l.plain("_offset", scan.Offset, types.Int64)
	l.plain("_timestamp", scan.Timestamp, timestampType)
	l.plain("_timestamp_type", scan.TimestampType, types.Int32)
	if f.Headers {
		l.plain("_headers", scan.Headers, types.JSON)
	} else {
		l.hide("_headers", scan.Headers, types.JSON)
	}
	l.add("_error", planner.Column{Kind: planner.Fault}, types.LongText, true)
	if f.Payload {
		l.hide("payload", scan.Value, types.LongBlob)
	}
}

// engineType is the type of a field in SQL.
func engineType(f column.Field) sql.Type {
	switch f.Type.Kind {
	case column.Bool:
		return types.Boolean
	case column.Int32, column.Int64:
		switch {
		case f.Width == 8:
			return types.Int8
		case f.Width == 16:
			return types.Int16
		case f.Type.Kind == column.Int32:
			return types.Int32
		}
		return types.Int64
	case column.Uint64:
		switch f.Width {
		case 8:
			return types.Uint8
		case 16:
			return types.Uint16
		case 32:
			return types.Uint32
		}
		return types.Uint64
	case column.Float64:
		if f.Width == 32 {
			return types.Float32
		}
		return types.Float64
	case column.Decimal:
		return types.MustCreateColumnDecimalType(f.Type.Precision, f.Type.Scale)
	case column.Bytes:
		return stringType(f, sqltypes.Binary, sqltypes.VarBinary, types.LongBlob)
	case column.Text:
		return stringType(f, sqltypes.Char, sqltypes.VarChar, types.LongText)
	case column.JSON:
		return types.JSON
	case column.Date:
		return types.Date
	case column.Time:
		return types.Time
	default:
		return types.MustCreateDatetimeType(sqltypes.Datetime, int(f.Type.Scale))
	}
}

// The longest of MySQL's types.
const (
	longestFixed   = 255
	longestVarying = 16383
)

// stringType is CHAR or VARCHAR for text that is bounded, BINARY or VARBINARY for bytes.
func stringType(f column.Field, fixed, varying query.Type, long sql.Type) sql.Type {
	t := varying
	switch {
	case f.Width == 0 || f.Width > longestVarying:
		return long
	case f.Fixed && f.Width <= longestFixed:
		t = fixed
	}
	if f.Type.Kind == column.Bytes {
		return types.MustCreateBinary(t, int64(f.Width))
	}
	return types.MustCreateStringWithDefaults(t, int64(f.Width))
}
