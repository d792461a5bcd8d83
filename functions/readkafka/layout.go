package readkafka

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"

	"millrace/internal/scan"
)

// layout is the columns of a call: what SQL sees, and the field of a record behind each.
type layout struct {
	schema sql.Schema
	fields []scan.Field
}

var (
	topicType     = types.MustCreateStringWithDefaults(sqltypes.VarChar, 249)
	timestampType = types.MustCreateDatetimeType(sqltypes.Datetime, 3)
)

// newLayout lists the columns. payload is the value once more, under the name that Managed I/O gives it.
func newLayout(db string, headers, payload bool) layout {
	var l layout
	add := func(name string, f scan.Field, t sql.Type) {
		l.schema = append(l.schema, &sql.Column{Name: name, Type: t, Nullable: f.Column().Nullable, Source: Name, DatabaseSource: db})
		l.fields = append(l.fields, f)
	}
	add("key", scan.Key, types.LongBlob)
	add("value", scan.Value, types.LongBlob)
	add("topic", scan.Topic, topicType)
	add("partition", scan.Partition, types.Int32)
	add("offset", scan.Offset, types.Int64)
	add("timestamp", scan.Timestamp, timestampType)
	add("timestampType", scan.TimestampType, types.Int32)
	if headers {
		add("headers", scan.Headers, types.JSON)
	}
	if payload {
		add("payload", scan.Value, types.LongBlob)
	}
	return l
}
