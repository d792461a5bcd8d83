package sqltable

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/sqltypes"
	querypb "github.com/dolthub/vitess/go/vt/proto/query"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

// integers are the widths of the integer types that lie in an Int32 or Int64 vector.
var integers = map[querypb.Type]uint32{
	sqltypes.Int8: 8, sqltypes.Int16: 16, sqltypes.Int24: 24, sqltypes.Int32: 32,
	sqltypes.Uint8: 8, sqltypes.Uint16: 16, sqltypes.Uint24: 24,
}

// FieldOf gives the column that holds values of a type of the engine.
func FieldOf(name string, t sql.Type, nullable bool) (column.Field, error) {
	f := column.Field{Name: name, Nullable: nullable}
	code := t.Type()
	switch {
	case integers[code] != 0:
		f.Type.Kind, f.Width = column.Int32, integers[code]
	case code == sqltypes.Int64, code == sqltypes.Uint32:
		f.Type.Kind = column.Int64
	case code == sqltypes.Uint64:
		f.Type.Kind = column.Uint64
	case code == sqltypes.Float32:
		f.Type.Kind, f.Width = column.Float64, 32
	case code == sqltypes.Float64:
		f.Type.Kind = column.Float64
	case code == sqltypes.Decimal:
		d, ok := t.(sql.DecimalType)
		if !ok {
			return f, unsupported(name, t)
		}
		f.Type = column.Type{Kind: column.Decimal, Precision: d.Precision(), Scale: d.Scale()}
	case code == sqltypes.Date:
		f.Type.Kind = column.Date
	case code == sqltypes.Time:
		f.Type = column.Type{Kind: column.Time, Scale: 6}
	case code == sqltypes.Datetime, code == sqltypes.Timestamp:
		d, ok := t.(sql.DatetimeType)
		if !ok {
			return f, unsupported(name, t)
		}
		f.Type = column.Type{Kind: column.Timestamp, Scale: uint8(d.Precision())}
	case code == sqltypes.TypeJSON:
		f.Type.Kind = column.JSON
	case code == sqltypes.Binary, code == sqltypes.VarBinary, code == sqltypes.Blob:
		f.Type.Kind = column.Bytes
	case code == sqltypes.Char, code == sqltypes.VarChar, code == sqltypes.Text:
		f.Type.Kind = column.Text
	default:
		return f, unsupported(name, t)
	}
	return f, nil
}

func unsupported(name string, t sql.Type) error {
	return sqlerr.New(sqlerr.NotSupported, "column '%s' has type %s, which tables cannot hold", name, t.String()).
		WithHint("allowed are integers, FLOAT, DOUBLE, DECIMAL, BOOLEAN, CHAR, VARCHAR, TEXT, BINARY, VARBINARY, BLOB, DATE, TIME, DATETIME, TIMESTAMP and JSON")
}

// FieldsOf gives the columns of a schema.
func FieldsOf(schema sql.Schema) ([]column.Field, error) {
	fields := make([]column.Field, len(schema))
	for i, c := range schema {
		var err error
		if fields[i], err = FieldOf(c.Name, c.Type, c.Nullable); err != nil {
			return nil, err
		}
	}
	return fields, nil
}
