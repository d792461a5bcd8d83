package server

import (
	"math"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	querypb "github.com/dolthub/vitess/go/vt/proto/query"

	"millrace/server/wire"
)

// intWidth is the display width that MySQL reports for integers.
var intWidth = map[querypb.Type]uint32{
	sqltypes.Int8: 4, sqltypes.Int16: 6, sqltypes.Int24: 9, sqltypes.Int32: 11, sqltypes.Int64: 20,
	sqltypes.Uint8: 3, sqltypes.Uint16: 5, sqltypes.Uint24: 8, sqltypes.Uint32: 10, sqltypes.Uint64: 20,
}

// columnsOf describes a schema as MySQL would: charset 63 for what is not text, lengths that drivers rely on, the type's own flags.
func columnsOf(ctx *sql.Context, schema sql.Schema) []wire.Column {
	text := uint16(wire.CharsetUTF8MB4)
	if cs := ctx.GetCharacterSetResults(); cs != sql.CharacterSet_Unspecified && cs != sql.CharacterSet_utf8mb4 {
		text = uint16(cs.DefaultCollation())
	}
	columns := make([]wire.Column, len(schema))
	for i, c := range schema {
		columns[i] = columnOf(ctx, c, text)
	}
	return columns
}

func columnOf(ctx *sql.Context, c *sql.Column, text uint16) wire.Column {
	t := c.Type.Type()
	code, _ := sqltypes.TypeToMySQL(t)
	col := wire.Column{DB: c.DatabaseSource, Table: c.Source, OrgTable: c.Source, Name: c.Name, OrgName: c.Name, Charset: wire.CharsetBinary, Type: byte(code)}
	switch {
	case intWidth[t] != 0:
		col.Length = intWidth[t]
		if n, ok := c.Type.(sql.NumberType); ok && n.DisplayWidth() > 0 {
			col.Length = uint32(n.DisplayWidth()) // TINYINT(1): drivers take it for a boolean
		}
		if c.Source == "" {
			col.Flags = wire.FlagBinary
		}
		if sqltypes.IsUnsigned(t) {
			col.Flags |= wire.FlagUnsigned
		}
	case t == sqltypes.Float32:
		col.Flags, col.Decimals, col.Length = wire.FlagBinary, 31, 12
	case t == sqltypes.Float64:
		col.Flags, col.Decimals, col.Length = wire.FlagBinary, 31, 22
	case t == sqltypes.Decimal:
		col.Flags = wire.FlagBinary
		if d, ok := c.Type.(sql.DecimalType); ok {
			col.Decimals, col.Length = d.Scale(), uint32(d.Precision())+1
			if d.Scale() > 0 {
				col.Length++
			}
		}
	case t == sqltypes.Date:
		col.Flags, col.Length = wire.FlagBinary, 10
	case t == sqltypes.Time:
		col.Flags, col.Length, col.Decimals = wire.FlagBinary, 17, 6
	case t == sqltypes.Datetime, t == sqltypes.Timestamp:
		col.Flags, col.Length = wire.FlagBinary, 19
		if d, ok := c.Type.(sql.DatetimeType); ok && d.Precision() > 0 {
			col.Length, col.Decimals = 20+uint32(d.Precision()), byte(d.Precision())
		}
	case t == sqltypes.Year:
		col.Flags, col.Length = wire.FlagUnsigned|wire.FlagZerofill, 4
	case t == sqltypes.Bit:
		col.Flags, col.Length = wire.FlagUnsigned, c.Type.MaxTextResponseByteLength(ctx)
	case t == sqltypes.TypeJSON:
		col.Flags, col.Length = wire.FlagBlob|wire.FlagBinary, math.MaxUint32
	case types.IsBinaryType(c.Type), t == sqltypes.Blob:
		col.Flags, col.Length = wire.FlagBinary, c.Type.MaxTextResponseByteLength(ctx)
		if t == sqltypes.Blob {
			col.Flags |= wire.FlagBlob
		}
	case t == sqltypes.Null:
		col.Flags = wire.FlagBinary
	default:
		col.Charset, col.Length = text, c.Type.MaxTextResponseByteLength(ctx)
		switch t {
		case sqltypes.Text:
			col.Flags = wire.FlagBlob
		case sqltypes.Enum:
			col.Flags = wire.FlagEnum
		case sqltypes.Set:
			col.Flags = wire.FlagSet
		}
	}
	// The engine takes every column of a table function, and what is computed from it, for NOT NULL. A driver that believes a wrong flag
	// fails; one that is not told only checks once more.
	if c.PrimaryKey {
		col.Flags |= wire.FlagPrimaryKey | wire.FlagNotNull
	}
	if c.AutoIncrement {
		col.Flags |= wire.FlagAutoIncrement
	}
	return col
}
