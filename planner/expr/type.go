package expr

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/sqlerr"
)

// Kind is a type that a value can be cast to, without its parameters.
type Kind uint8

// The kinds, by their names in the dialect.
const (
	String Kind = iota
	TinyInt
	SmallInt
	Int
	BigInt
	Float
	Double
	Decimal
	Boolean
	Timestamp
	TimestampNTZ
	Date
	Binary
	JSON
)

var kindNames = [...]string{"STRING", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "TIMESTAMP", "TIMESTAMP_NTZ", "DATE", "BINARY", "JSON"}

func (k Kind) String() string { return kindNames[k] }

// Type is a type that a value can be cast to.
type Type struct {
	Kind Kind
	// Precision and Scale of a Decimal.
	Precision, Scale uint8
}

func (t Type) String() string {
	if t.Kind == Decimal {
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	}
	return t.Kind.String()
}

// ParseType reads a type as the dialect writes it into millrace_cast: the names of Kind, VARIANT for JSON, and DECIMAL with or without parameters.
func ParseType(text string) (Type, error) {
	name := strings.ToUpper(strings.TrimSpace(text))
	if name == "VARIANT" {
		return Type{Kind: JSON}, nil
	}
	if rest, ok := strings.CutPrefix(name, "DECIMAL"); ok {
		return parseDecimal(text, rest)
	}
	for k, n := range kindNames {
		if n == name {
			return Type{Kind: Kind(k)}, nil
		}
	}
	return Type{}, sqlerr.New(sqlerr.NotSupported, "cannot cast to '%s': not a type", text).
		WithHint("the types are %s", strings.Join(kindNames[:], ", "))
}

func parseDecimal(text, parameters string) (Type, error) {
	t := Type{Kind: Decimal, Precision: 10}
	if parameters = strings.TrimSpace(parameters); parameters == "" {
		return t, nil
	}
	inner, ok := strings.CutPrefix(parameters, "(")
	if ok {
		inner, ok = strings.CutSuffix(inner, ")")
	}
	first, second, two := strings.Cut(inner, ",")
	precision, err1 := strconv.ParseUint(strings.TrimSpace(first), 10, 8)
	scale, err2 := uint64(0), error(nil)
	if two {
		scale, err2 = strconv.ParseUint(strings.TrimSpace(second), 10, 8)
	}
	if !ok || err1 != nil || err2 != nil || precision < 1 || precision > convert.MaxPrecision || scale > convert.MaxScale || scale > precision {
		return Type{}, sqlerr.New(sqlerr.OutOfRange, "type '%s': DECIMAL(p,s) takes a precision of 1 to %d and a scale of 0 to %d, not above the precision", text, convert.MaxPrecision, convert.MaxScale)
	}
	t.Precision, t.Scale = uint8(precision), uint8(scale)
	return t, nil
}

// Engine is the type of the result in the engine.
func (t Type) Engine() sql.Type {
	switch t.Kind {
	case String:
		return types.LongText
	case TinyInt:
		return types.Int8
	case SmallInt:
		return types.Int16
	case Int:
		return types.Int32
	case BigInt:
		return types.Int64
	case Float:
		return types.Float32
	case Double:
		return types.Float64
	case Decimal:
		return types.MustCreateColumnDecimalType(t.Precision, t.Scale)
	case Boolean:
		return types.Boolean
	case Timestamp, TimestampNTZ:
		return types.DatetimeMaxPrecision
	case Date:
		return types.Date
	case Binary:
		return types.LongBlob
	default:
		return types.JSON
	}
}

// Column is what holds the result in column batches. ok is false for TIMESTAMP_NTZ, which reads text in another way than TIMESTAMP.
func (t Type) Column() (_ column.Field, ok bool) {
	f := column.Field{}
	switch t.Kind {
	case String:
		f.Type.Kind = column.Text
	case TinyInt:
		f.Type.Kind, f.Width = column.Int32, 8
	case SmallInt:
		f.Type.Kind, f.Width = column.Int32, 16
	case Int:
		f.Type.Kind = column.Int32
	case BigInt:
		f.Type.Kind = column.Int64
	case Float:
		f.Type.Kind, f.Width = column.Float64, 32
	case Double:
		f.Type.Kind = column.Float64
	case Decimal:
		f.Type = column.Type{Kind: column.Decimal, Precision: t.Precision, Scale: t.Scale}
	case Boolean:
		f.Type.Kind = column.Bool
	case Timestamp:
		f.Type = column.Type{Kind: column.Timestamp, Scale: 6}
	case Date:
		f.Type.Kind = column.Date
	case Binary:
		f.Type.Kind = column.Bytes
	case JSON:
		f.Type.Kind = column.JSON
	default:
		return f, false
	}
	return f, true
}
