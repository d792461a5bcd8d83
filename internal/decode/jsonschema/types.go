package jsonschema

import (
	stdjson "encoding/json"
	"math/big"
	"strings"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/decode/json"
)

// maxVarchar is the longest text that MySQL makes a VARCHAR of in four-byte characters.
const maxVarchar = 16383

// columnType is the column of a schema, without its name.
func (s *schema) columnType() json.Field {
	if s.cycle {
		return of(column.JSON)
	}
	if values := s.values(); len(values) > 0 {
		return valuesType(values)
	}
	types := s.types()
	if len(s.choices) > 0 && len(types) <= 1 && len(s.properties) == 0 {
		var fields []json.Field
		for _, c := range s.choices {
			if c.get("type") == nil && len(types) == 1 {
				c = &schema{node: s.with(c)}
			}
			fields = append(fields, c.columnType())
		}
		return widest(fields)
	}
	var fields []json.Field
	for _, t := range types {
		fields = append(fields, s.typed(t))
	}
	if len(fields) == 0 {
		return of(column.JSON)
	}
	return widest(fields)
}

// with is a choice together with what stands beside the choices.
func (s *schema) with(choice *schema) *node {
	n := &node{kind: object, members: map[string]*node{}}
	for _, from := range []*schema{choice, s} {
		for _, key := range from.keys {
			if n.members[key] == nil {
				n.set(key, from.members[key])
			}
		}
	}
	return n
}

func of(k column.Kind) json.Field { return json.Field{Field: column.Field{Type: column.Type{Kind: k}}} }

// types are the members of the keyword type but null.
func (s *schema) types() (types []string) {
	if t := s.text("type"); t != "" && t != "null" {
		return []string{t}
	}
	for _, t := range s.list("type") {
		if name, ok := t.scalar.(string); ok && name != "null" {
			types = append(types, name)
		}
	}
	return types
}

// values are those of enum or const but null.
func (s *schema) values() (values []any) {
	items := s.list("enum")
	if c := s.get("const"); c != nil {
		items = []*node{c}
	}
	for _, v := range items {
		if v.kind != scalar {
			return []any{v}
		}
		if v.scalar != nil {
			values = append(values, v.scalar)
		}
	}
	return values
}

// valuesType is the type of a list of values.
func valuesType(values []any) json.Field {
	var fields []json.Field
	for _, v := range values {
		switch v := v.(type) {
		case string:
			fields = append(fields, of(column.Text))
		case bool:
			fields = append(fields, of(column.Bool))
		case stdjson.Number:
			kind := column.Float64
			if _, fault := convert.Int64([]byte(v)); fault == convert.OK {
				kind = column.Int64
			}
			fields = append(fields, of(kind))
		default:
			return of(column.JSON)
		}
	}
	return widest(fields)
}

// widest is a type for the values of all fields.
func widest(fields []json.Field) json.Field {
	all := fields[0]
	for _, f := range fields[1:] {
		all = wider(all, f)
	}
	return all
}

func wider(a, b json.Field) json.Field {
	if a.Type == b.Type && a.Unit == b.Unit {
		if a.Width == 0 || b.Width == 0 {
			a.Width = 0
		} else {
			a.Width = max(a.Width, b.Width)
		}
		a.Fixed = a.Fixed && b.Fixed && a.Width == b.Width
		return a
	}
	if isString(a) && isString(b) {
		return of(column.Text)
	}
	if !isNumber(a) || !isNumber(b) {
		return of(column.JSON)
	}
	digitsA, scaleA := digits(a)
	digitsB, scaleB := digits(b)
	if a.Type.Kind == column.Float64 || b.Type.Kind == column.Float64 {
		return of(column.Float64)
	}
	scale := max(scaleA, scaleB)
	precision := max(digitsA-scaleA, digitsB-scaleB) + scale
	switch {
	case a.Type.Kind != column.Decimal && b.Type.Kind != column.Decimal && a.Type.Kind != column.Uint64 && b.Type.Kind != column.Uint64:
		return of(column.Int64)
	case precision > convert.MaxPrecision:
		return of(column.Float64)
	}
	return ofDecimal(precision, scale)
}

func isNumber(f json.Field) bool {
	switch f.Type.Kind {
	case column.Int32, column.Int64, column.Uint64, column.Float64, column.Decimal:
		return f.Unit == json.Seconds
	}
	return false
}

// isString reports whether the values of a field are strings in JSON.
func isString(f json.Field) bool {
	switch f.Type.Kind {
	case column.Text, column.Bytes:
		return true
	case column.Date, column.Time, column.Timestamp:
		return f.Unit == json.Seconds
	}
	return false
}

// digits are the precision and scale of a decimal that holds the numbers of a field.
func digits(f json.Field) (precision, scale int) {
	switch f.Type.Kind {
	case column.Decimal:
		return int(f.Type.Precision), int(f.Type.Scale)
	case column.Int32:
		return 10, 0
	case column.Int64:
		return 19, 0
	default:
		return 20, 0
	}
}

func ofDecimal(precision, scale int) json.Field {
	f := of(column.Decimal)
	f.Type.Precision, f.Type.Scale = uint8(precision), uint8(scale)
	return f
}

func ofWidth(k column.Kind, width uint32) json.Field {
	f := of(k)
	f.Width = width
	return f
}

func ofTime(k column.Kind, unit json.Unit) json.Field {
	f := of(k)
	f.Unit = unit
	if k != column.Date {
		f.Type.Scale = 6
	}
	return f
}

// typed is the column of values of one of the types that a schema allows.
func (s *schema) typed(t string) json.Field {
	if f, ok := s.logical(t); ok {
		return f
	}
	switch t {
	case "boolean":
		return of(column.Bool)
	case "integer":
		return s.integer()
	case "number":
		return s.float()
	case "string":
		return s.string()
	default:
		return of(column.JSON)
	}
}

// logicalTypes are the names that Kafka Connect and Debezium give types, in the title. They hold for numbers.
var logicalTypes = map[string]json.Field{
	"org.apache.kafka.connect.data.Date":      ofTime(column.Date, json.Days),
	"org.apache.kafka.connect.data.Time":      ofTime(column.Time, json.Millis),
	"org.apache.kafka.connect.data.Timestamp": ofTime(column.Timestamp, json.Millis),
	"io.debezium.time.Date":                   ofTime(column.Date, json.Days),
	"io.debezium.time.Time":                   ofTime(column.Time, json.Millis),
	"io.debezium.time.MicroTime":              ofTime(column.Time, json.Micros),
	"io.debezium.time.Timestamp":              ofTime(column.Timestamp, json.Millis),
	"io.debezium.time.MicroTimestamp":         ofTime(column.Timestamp, json.Micros),
	"io.debezium.time.NanoTimestamp":          ofTime(column.Timestamp, json.Nanos),
}

const (
	connectDecimal = "org.apache.kafka.connect.data.Decimal"
	zonedTimestamp = "io.debezium.time.ZonedTimestamp"
)

// logical is the column of a logical type of Connect.
func (s *schema) logical(t string) (json.Field, bool) {
	title := s.text("title")
	number := t == "integer" || t == "number"
	switch {
	case title == connectDecimal && (number || t == "string" && s.text("connect.type") == "bytes"):
		parameters := s.get("connect.parameters")
		scale, ok := parameters.small("scale")
		if !ok || scale > convert.MaxScale {
			return json.Field{}, false
		}
		precision, ok := parameters.small("connect.decimal.precision")
		if !ok || precision < max(1, scale) || precision > convert.MaxPrecision {
			precision = max(38, scale)
		}
		f := ofDecimal(precision, scale)
		if !number { // the bytes of the number without its point
			f.Unscaled, f.Point = true, uint8(scale)
		}
		return f, true
	case number:
		f, ok := logicalTypes[title]
		return f, ok
	case t == "string" && title == zonedTimestamp:
		return ofTime(column.Timestamp, json.Seconds), true
	}
	return json.Field{}, false
}

func (s *schema) integer() json.Field {
	switch s.text("connect.type") {
	case "int8":
		return ofWidth(column.Int32, 8)
	case "int16":
		return ofWidth(column.Int32, 16)
	case "int32":
		return of(column.Int32)
	case "int64":
		return of(column.Int64)
	}
	low, high := s.bound("minimum"), s.bound("maximum")
	switch {
	case high != nil && high.Cmp(maxUint64) > 0 || low != nil && low.Cmp(minInt64) < 0 || low != nil && low.Sign() < 0 && high != nil && high.Cmp(maxInt64) > 0:
		digits := 20
		for _, b := range []*big.Int{low, high} {
			if b != nil {
				digits = max(digits, len(new(big.Int).Abs(b).String()))
			}
		}
		return ofDecimal(min(digits, convert.MaxPrecision), 0)
	case low != nil && low.Sign() >= 0 && high != nil && high.Cmp(maxInt64) > 0:
		return of(column.Uint64)
	}
	return of(column.Int64)
}

var (
	minInt64  = big.NewInt(-1 << 63)
	maxInt64  = big.NewInt(1<<63 - 1)
	maxUint64 = new(big.Int).SetUint64(1<<64 - 1)
)

// maxBound is the longest text of a bound that is looked at.
const maxBound = 100

// bound is minimum or maximum as an integer, nil when there is none. An exclusive one is taken as if it were not, which can only make the type wider.
func (s *schema) bound(key string) *big.Int {
	text, ok := s.number(key)
	if !ok {
		if text, ok = s.number("exclusiveM" + key[1:]); !ok {
			return nil
		}
	}
	digits, fault := convert.AppendDecimal(nil, []byte(text), convert.MaxPrecision, 0)
	if len(text) > maxBound || fault != convert.OK {
		return nil
	}
	b, ok := new(big.Int).SetString(string(digits), 10)
	if !ok {
		return nil
	}
	return b
}

func (s *schema) float() json.Field {
	switch s.text("connect.type") {
	case "float32":
		return ofWidth(column.Float64, 32)
	case "float64":
		return of(column.Float64)
	}
	if step, ok := s.number("multipleOf"); ok {
		if scale, ok := powerOfTen(step); ok {
			return ofDecimal(38, scale)
		}
	}
	return of(column.Float64)
}

// powerOfTen reads 10^-scale, scale from 0 to what a DECIMAL can have.
func powerOfTen(text string) (scale int, ok bool) {
	exact, fault := convert.AppendDecimal(nil, []byte(text), convert.MaxPrecision, convert.MaxScale)
	if fault != convert.OK || convert.CompareDecimal(exact, []byte(text)) != 0 {
		return 0, false
	}
	whole, fraction, _ := strings.Cut(strings.TrimRight(string(exact), "0"), ".")
	if whole == "1" && fraction == "" {
		return 0, true
	}
	if whole != "0" || strings.Trim(fraction, "0") != "1" {
		return 0, false
	}
	return len(fraction), true
}

func (s *schema) string() json.Field {
	if strings.EqualFold(s.text("contentEncoding"), "base64") || s.text("connect.type") == "bytes" {
		return of(column.Bytes)
	}
	switch s.text("format") {
	case "date-time":
		return ofTime(column.Timestamp, json.Seconds)
	case "date":
		return of(column.Date)
	case "time":
		return ofTime(column.Time, json.Seconds)
	case "uuid":
		f := ofWidth(column.Text, 36)
		f.Fixed = true
		return f
	}
	if n, ok := s.small("maxLength"); ok && n > 0 && n <= maxVarchar {
		return ofWidth(column.Text, uint32(n))
	}
	return of(column.Text)
}
