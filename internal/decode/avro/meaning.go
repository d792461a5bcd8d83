package avro

import (
	"strconv"
	"unicode/utf8"

	"github.com/twmb/avro"

	"millrace/internal/column"
	"millrace/internal/convert"
)

// meaning is what a value stands for beyond its layout: Avro's logical types and those that Kafka Connect and Debezium put beside them.
type meaning uint8

const (
	plain meaning = iota
	decimal
	bigDecimal      // bytes: an encoded bytes and an encoded int, the scale
	variableDecimal // a record of scale and value
	date            // days
	timeMillis
	timeMicros
	timeNanos
	timestampMillis
	timestampMicros
	timestampNanos
	localMillis
	localMicros
	localNanos
	zonedTimestamp // text
	uuid
	duration
	jsonText // text that is JSON
)

const (
	maxPrecision = convert.MaxPrecision
	maxScale     = convert.MaxScale
)

var logicalTypes = map[string]meaning{
	"decimal": decimal, "big-decimal": bigDecimal, "date": date, "time-millis": timeMillis, "time-micros": timeMicros,
	"timestamp-millis": timestampMillis, "timestamp-micros": timestampMicros, "timestamp-nanos": timestampNanos,
	"local-timestamp-millis": localMillis, "local-timestamp-micros": localMicros, "local-timestamp-nanos": localNanos,
	"uuid": uuid, "duration": duration,
}

// connectNames are the values of connect.name that say more than the layout does. Debezium's timestamps without a zone are wall clock times.
var connectNames = map[string]meaning{
	"io.debezium.time.Date": date, "io.debezium.time.Time": timeMillis, "io.debezium.time.MicroTime": timeMicros, "io.debezium.time.NanoTime": timeNanos,
	"io.debezium.time.Timestamp": localMillis, "io.debezium.time.MicroTimestamp": localMicros, "io.debezium.time.NanoTimestamp": localNanos,
	"io.debezium.time.ZonedTimestamp": zonedTimestamp, "io.debezium.data.Json": jsonText, "io.debezium.data.VariableScaleDecimal": variableDecimal,
	"org.apache.kafka.connect.data.Date": date, "org.apache.kafka.connect.data.Time": timeMillis, "org.apache.kafka.connect.data.Timestamp": timestampMillis,
	"org.apache.kafka.connect.data.Decimal": decimal,
}

// meaning reads the logical type of n, or its connect.name; made is its node. One that does not fit the layout counts for nothing, as Avro has it.
func (b *builder) meaning(made *node, n *avro.SchemaNode) meaning {
	as := logicalTypes[n.LogicalType]
	if as == plain && b.connect {
		name, _ := n.Props["connect.name"].(string)
		if as = connectNames[name]; as == decimal {
			made.precision, made.scale = connectDecimal(n)
		}
	}
	if !as.fits(made) {
		return plain
	}
	return as
}

// connectDecimal reads the parameters of a Connect Decimal that carries no logical type.
func connectDecimal(n *avro.SchemaNode) (precision, scale int) {
	parameters, _ := n.Props["connect.parameters"].(map[string]any)
	number := func(name string, missing int) int {
		s, _ := parameters[name].(string)
		if v, err := strconv.Atoi(s); err == nil && v >= 0 {
			return v
		}
		return missing
	}
	scale = number("scale", 0)
	return max(number("connect.decimal.precision", maxPrecision), scale), scale
}

// fits reports whether a value of n's layout can mean as. Integers may be narrower than the schema of the other side says.
func (as meaning) fits(n *node) bool {
	integral := n.wire == integer32 || n.wire == integer64
	switch as {
	case decimal:
		return n.wire == byteString || n.wire == fixed
	case bigDecimal:
		return n.wire == byteString
	case variableDecimal:
		return n.wire == record && len(n.fields) == 2 && n.fields[0].name == "scale" && n.fields[0].node.wire == integer32 &&
			n.fields[1].name == "value" && n.fields[1].node.wire == byteString
	case date, timeMillis:
		return n.wire == integer32
	case timeMicros, timeNanos, timestampMillis, timestampMicros, timestampNanos, localMillis, localMicros, localNanos:
		return integral
	case zonedTimestamp, jsonText:
		return n.wire == text
	case uuid:
		return n.wire == text || n.wire == fixed && n.size == 16
	case duration:
		return n.wire == fixed && n.size == 12
	default:
		return true
	}
}

// columnType is the SQL type of a field of type n.
func columnType(n *node) column.Type {
	if n.wire == union {
		return unionType(n)
	}
	switch n.as {
	case decimal:
		if n.precision <= maxPrecision && n.scale <= maxScale {
			return column.Type{Kind: column.Decimal, Precision: uint8(n.precision), Scale: uint8(n.scale)}
		}
		return column.Type{Kind: column.Text}
	case bigDecimal, variableDecimal, uuid:
		return column.Type{Kind: column.Text}
	case date:
		return column.Type{Kind: column.Date}
	case timeMillis:
		return column.Type{Kind: column.Time, Scale: 3}
	case timeMicros, timeNanos:
		return column.Type{Kind: column.Time, Scale: 6}
	case timestampMillis, localMillis:
		return column.Type{Kind: column.Timestamp, Scale: 3}
	case timestampMicros, localMicros, timestampNanos, localNanos, zonedTimestamp:
		return column.Type{Kind: column.Timestamp, Scale: 6}
	case duration, jsonText:
		return column.Type{Kind: column.JSON}
	}
	switch n.wire {
	case boolean:
		return column.Type{Kind: column.Bool}
	case integer32:
		return column.Type{Kind: column.Int32}
	case integer64:
		return column.Type{Kind: column.Int64}
	case float32s, float64s:
		return column.Type{Kind: column.Float64}
	case byteString, fixed:
		return column.Type{Kind: column.Bytes}
	case null, text, enum:
		return column.Type{Kind: column.Text}
	default:
		return column.Type{Kind: column.JSON}
	}
}

// The longest BINARY and VARBINARY of SQL.
const (
	maxBinary    = 255
	maxVarbinary = 65535
)

// narrow notes in the column of n what its values keep to beyond its kind.
func narrow(c *column.Field, n *node) {
	if n = n.only(); n == nil {
		return
	}
	switch {
	case n.as == uuid:
		c.Width, c.Fixed = 36, true
	case n.as != plain:
	case n.wire == float32s:
		c.Width = 32
	case n.wire == fixed && n.size <= maxVarbinary:
		c.Width, c.Fixed = uint32(n.size), n.size <= maxBinary
	case n.wire == enum:
		for _, symbol := range n.symbols {
			c.Width = max(c.Width, uint32(utf8.RuneCountInString(symbol)))
		}
	}
}

// unionType is the type of the only branch besides null; the widest of numbers, where it holds all of them exactly; else JSON.
func unionType(n *node) column.Type {
	if only := n.only(); only != nil {
		return columnType(only)
	}
	kinds := map[wire]bool{}
	numbers := true
	for _, branch := range n.branches {
		kinds[branch.wire] = true
		numbers = numbers && branch.as == plain && (branch.wire == null || branch.wire >= integer32 && branch.wire <= float64s)
	}
	switch {
	case len(n.branches) == 0 || len(kinds) == 1 && kinds[null]:
		return column.Type{Kind: column.Text}
	case !numbers || kinds[integer64] && (kinds[float32s] || kinds[float64s]):
		return column.Type{Kind: column.JSON}
	case kinds[float32s] || kinds[float64s]:
		return column.Type{Kind: column.Float64}
	default:
		return column.Type{Kind: column.Int64}
	}
}

// only is n itself, or the one branch besides null when n is a union; nil when there are several or none.
func (n *node) only() *node {
	if n.wire != union {
		return n
	}
	var found *node
	for _, branch := range n.branches {
		if branch.wire == null {
			continue
		}
		if found != nil {
			return nil
		}
		found = branch
	}
	return found
}
