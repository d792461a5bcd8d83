package streaming

import (
	"strconv"
	"strings"

	"millrace/internal/column"
)

// Widens reports whether a column can be declared with the type of to where the query gives that of from: each value of from is one of to, without loss. The values
// need a cast when the vectors differ, that is unless to.Type is from.Type.
func Widens(to, from Column) bool {
	declared, given := sqlTypeOf(to.SQL), sqlTypeOf(from.SQL)
	switch {
	case strings.EqualFold(to.SQL, from.SQL) && to.Type == from.Type:
		return true
	case given.digits() > 0:
		switch {
		case declared.boolean():
			return false
		case declared.bits() > 0: // one bit more holds what is unsigned
			return declared.unsigned == given.unsigned && declared.bits() >= given.bits() || given.unsigned && declared.bits() > given.bits()
		case to.Type.Kind == column.Decimal:
			return int(to.Type.Precision)-int(to.Type.Scale) >= given.digits()
		default:
			return to.Type.Kind == column.Float64 && given.bits() <= mantissas[declared.name]
		}
	case from.Type.Kind != to.Type.Kind:
		return false
	case from.Type.Kind == column.Decimal:
		return to.Type.Scale >= from.Type.Scale && to.Type.Precision-to.Type.Scale >= from.Type.Precision-from.Type.Scale
	case from.Type.Kind == column.Timestamp:
		return declared.name == given.name && to.Type.Scale >= from.Type.Scale
	case from.Type.Kind == column.Float64:
		return declared.name == "double"
	case from.Type.Kind == column.Text, from.Type.Kind == column.Bytes:
		return strings.EqualFold(declared.collation, given.collation) && declared.holds(given)
	}
	return false
}

// mantissas are how many bits of an integer an approximate type keeps.
var mantissas = map[string]int{"float": 24, "double": 53}

// sqlType is a type as CREATE TABLE has it, in its parts.
type sqlType struct {
	name, collation string
	length          int
	unsigned        bool
}

func sqlTypeOf(text string) sqlType {
	var t sqlType
	text, t.collation, _ = strings.Cut(strings.ToLower(text), " collate ")
	text, t.unsigned = strings.CutSuffix(text, " unsigned")
	t.name = text
	if name, rest, ok := strings.Cut(text, "("); ok {
		if n, err := strconv.Atoi(strings.TrimSuffix(rest, ")")); err == nil {
			t.name, t.length = name, n
		}
	}
	return t
}

func (t sqlType) boolean() bool { return t.name == "tinyint" && t.length == 1 }

var integers = map[string]struct{ bits, digits int }{"tinyint": {8, 3}, "smallint": {16, 5}, "mediumint": {24, 8}, "int": {32, 10}, "bigint": {64, 19}}

// bits is how many an integer has, 0 for what is none.
func (t sqlType) bits() int { return integers[t.name].bits }

// digits is how many decimal digits an integer may have, 0 for what is none.
func (t sqlType) digits() int {
	if t.name == "bigint" && t.unsigned {
		return 20
	}
	return integers[t.name].digits
}

// holds reports whether a type of texts or bytes has room for all values of another one. Types without a length of their own, but for the longest, have one in bytes.
func (t sqlType) holds(other sqlType) bool {
	switch t.name {
	case "longtext", "longblob":
		return true
	case "varchar", "varbinary":
		return (other.name == t.name || "var"+other.name == t.name) && t.length >= other.length
	}
	return false
}
