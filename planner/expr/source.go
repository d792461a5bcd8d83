package expr

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
)

// source is the class of a type that is cast from. It decides which casts exist.
type source uint8

const (
	fromText source = iota
	fromBinary
	fromBool
	fromInteger
	fromApproximate
	fromDecimal
	fromTimestamp
	fromDate
	fromJSON
	fromOther // TIME, YEAR, ENUM, SET, BIT, geometries: only to STRING
	fromNull  // NULL, or not known before the statement runs
)

var sourceNames = [...]string{"STRING", "BINARY", "BOOLEAN", "an integer", "DOUBLE", "DECIMAL", "TIMESTAMP", "DATE", "JSON", "this type", "NULL"}

func (s source) String() string { return sourceNames[s] }

// sourceOf is the class of a type of the engine.
func sourceOf(t sql.Type) source {
	switch {
	case t == nil, types.IsNullType(t), types.IsDeferredType(t):
		return fromNull
	case types.IsJSON(t): // before IsBinaryType, which takes JSON for binary
		return fromJSON
	case types.IsBinaryType(t):
		return fromBinary
	case types.IsEnum(t), types.IsSet(t), types.IsYear(t), types.IsBit(t), types.IsTime(t), types.IsTimespan(t):
		if types.IsDateType(t) {
			return fromDate
		}
		if types.IsDatetimeType(t) || types.IsTimestampType(t) {
			return fromTimestamp
		}
		return fromOther
	case types.IsTextOnly(t):
		return fromText
	case types.IsBoolean(t):
		return fromBool
	case types.IsInteger(t):
		return fromInteger
	case types.IsFloat(t):
		return fromApproximate
	case types.IsDecimal(t):
		return fromDecimal
	default:
		return fromOther
	}
}

// castable reports whether the pair has a conversion, by the rules of Spark's ANSI mode. JSON and text go to everything; what of them can be
// converted is a matter of the value.
func (s source) castable(to Kind) bool {
	if s == fromNull || to == String {
		return true
	}
	switch s {
	case fromText, fromJSON:
		return true
	case fromBinary:
		return to == Binary || to == JSON
	case fromBool:
		return to.isNumber() || to == Boolean || to == JSON
	case fromInteger, fromApproximate, fromDecimal:
		return to.isNumber() || to == Boolean || to == Timestamp || to == JSON
	case fromTimestamp:
		return to.isNumber() || to == Timestamp || to == TimestampNTZ || to == Date || to == JSON
	case fromDate:
		return to == Timestamp || to == TimestampNTZ || to == Date || to == JSON
	default:
		return false
	}
}

func (k Kind) isNumber() bool { return k >= TinyInt && k <= Decimal }
