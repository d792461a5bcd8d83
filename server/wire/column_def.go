package wire

import (
	"encoding/binary"
	"math"

	"millrace/internal/column"
)

// Column is a column definition as clients see it.
type Column struct {
	// DB, Table and OrgTable are empty for expressions. OrgTable and OrgName are the names before aliases.
	DB, Table, OrgTable, Name, OrgName string
	// Charset is CharsetBinary for all but text.
	Charset uint16
	// Length is the longest text form in bytes; drivers size buffers by it and take a TINYINT of length 1 for a boolean.
	Length   uint32
	Type     byte
	Flags    uint16
	Decimals byte
}

func (c *Column) append(b []byte) []byte {
	b = appendString(b, "def")
	b = appendString(b, c.DB)
	b = appendString(b, c.Table)
	b = appendString(b, c.OrgTable)
	b = appendString(b, c.Name)
	b = appendString(b, c.OrgName)
	b = binary.LittleEndian.AppendUint16(append(b, 0x0c), c.Charset)
	b = binary.LittleEndian.AppendUint32(b, c.Length)
	b = append(b, c.Type)
	b = binary.LittleEndian.AppendUint16(b, c.Flags)
	return append(b, c.Decimals, 0, 0)
}

// notFixed is the number of decimals of types whose fraction has no fixed length.
const notFixed = 31

// ColumnOf is the definition of a field of ours, an expression without a table.
func ColumnOf(f column.Field) Column {
	c := Column{Name: f.Name, Charset: CharsetBinary, Flags: FlagBinary}
	if !f.Nullable {
		c.Flags |= FlagNotNull
	}
	switch scale := f.Type.Scale; f.Type.Kind {
	case column.Bool:
		c.Type, c.Length = TypeTiny, 1
	case column.Int32:
		c.Type, c.Length = TypeLong, 11
	case column.Int64:
		c.Type, c.Length = TypeLonglong, 20
	case column.Uint64:
		c.Type, c.Length = TypeLonglong, 20
		c.Flags |= FlagUnsigned
	case column.Float64:
		c.Type, c.Length, c.Decimals = TypeDouble, 22, notFixed
	case column.Decimal:
		c.Type, c.Decimals = TypeNewDecimal, scale
		c.Length = uint32(f.Type.Precision) + 1
		if scale > 0 {
			c.Length++
		}
	case column.Bytes, column.JSON:
		c.Type, c.Length = TypeBlob, math.MaxUint32
		c.Flags |= FlagBlob
		if f.Type.Kind == column.JSON {
			c.Type = TypeJSON
		}
	case column.Text:
		c.Type, c.Length, c.Charset = TypeBlob, math.MaxUint32, CharsetUTF8MB4
		c.Flags = c.Flags&^FlagBinary | FlagBlob
	case column.Date:
		c.Type, c.Length = TypeDate, 10
	case column.Time:
		c.Type, c.Length, c.Decimals = TypeTime, 10, scale
		if scale > 0 {
			c.Length += 1 + uint32(scale)
		}
	case column.Timestamp:
		c.Type, c.Length, c.Decimals = TypeDatetime, 19, scale
		if scale > 0 {
			c.Length += 1 + uint32(scale)
		}
	default:
		c.Type = TypeNull
	}
	return c
}
