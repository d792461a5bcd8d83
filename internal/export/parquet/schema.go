package parquet

import (
	"math/big"
	"time"

	"github.com/parquet-go/parquet-go"

	"millrace/internal/column"
	"millrace/internal/convert"
	"millrace/internal/sqlerr"
)

// convertor makes a value of row i of a vector, which is not NULL there. What it returns may alias the vector, or memory that the next call uses again per 1,024 values.
type convertor func(v *column.Vector, i int) (parquet.Value, error)

// root is the group of all columns in the order of the query: parquet.Group sorts them by name.
type root struct {
	parquet.Group
	fields []parquet.Field
}

// Fields implements parquet.Node.
func (r root) Fields() []parquet.Field { return r.fields }

// schemaOf gives the schema of a file, every column optional: what SQL calls NOT NULL is a promise of the planner's that a file need not rely on.
func schemaOf(fields []column.Field) (parquet.Node, []convertor, error) {
	r := root{Group: parquet.Group{}}
	converters := make([]convertor, len(fields))
	for i, f := range fields {
		if _, ok := r.Group[f.Name]; ok {
			return nil, nil, errDuplicate(f.Name)
		}
		var node parquet.Node
		node, converters[i] = typeOf(f)
		r.Group[f.Name] = parquet.Optional(node)
	}
	byName := map[string]parquet.Field{}
	for _, f := range r.Group.Fields() {
		byName[f.Name()] = f
	}
	for _, f := range fields {
		r.fields = append(r.fields, byName[f.Name])
	}
	return r, converters, nil
}

// typeOf says how a column is stored.
func typeOf(f column.Field) (parquet.Node, convertor) {
	delta := func(n parquet.Node) parquet.Node { return parquet.Encoded(n, &parquet.DeltaBinaryPacked) }
	dictionary := func(n parquet.Node) parquet.Node { return parquet.Encoded(n, &parquet.RLEDictionary) }
	switch f.Type.Kind {
	case column.Bool:
		return parquet.Leaf(parquet.BooleanType), func(v *column.Vector, i int) (parquet.Value, error) { return parquet.BooleanValue(v.Int[i] != 0), nil }
	case column.Int32:
		bits := 32
		if f.Width == 8 || f.Width == 16 {
			bits = int(f.Width)
		}
		return delta(parquet.Int(bits)), int32Value
	case column.Int64:
		return delta(parquet.Int(64)), int64Value
	case column.Uint64:
		return delta(parquet.Uint(64)), int64Value
	case column.Float64:
		if f.Width == 32 {
			return parquet.Leaf(parquet.FloatType), func(v *column.Vector, i int) (parquet.Value, error) {
				return parquet.FloatValue(float32(v.Float[i])), nil
			}
		}
		return parquet.Leaf(parquet.DoubleType), func(v *column.Vector, i int) (parquet.Value, error) { return parquet.DoubleValue(v.Float[i]), nil }
	case column.Decimal:
		return decimalOf(f)
	case column.Text:
		return dictionary(parquet.String()), viewValue
	case column.JSON:
		return parquet.JSON(), viewValue
	case column.Date:
		return delta(parquet.Date()), int32Value
	case column.Time:
		return delta(parquet.TimeAdjusted(parquet.Microsecond, false)), timeValue(f.Name)
	case column.Timestamp:
		return delta(parquet.Timestamp(parquet.Microsecond)), int64Value
	default:
		return dictionary(parquet.Leaf(parquet.ByteArrayType)), viewValue
	}
}

func int32Value(v *column.Vector, i int) (parquet.Value, error) {
	return parquet.Int32Value(int32(v.Int[i])), nil
}
func int64Value(v *column.Vector, i int) (parquet.Value, error) {
	return parquet.Int64Value(v.Int[i]), nil
}
func viewValue(v *column.Vector, i int) (parquet.Value, error) {
	return parquet.ByteArrayValue(v.View(i)), nil
}

// timeValue checks that a TIME of SQL, an interval of up to 838 hours, is the time of day that Parquet means.
func timeValue(name string) convertor {
	return func(v *column.Vector, i int) (parquet.Value, error) {
		t := v.Int[i]
		if t < 0 || t >= int64(24*time.Hour/time.Microsecond) {
			return parquet.Value{}, sqlerr.New(sqlerr.BadValue, "column '%s' has the TIME %s, and that of a Parquet file is a time of day, from 00:00:00 to 23:59:59.999999", name, convert.AppendTime(nil, t)).
				WithHint("export it as text, CAST(%s AS CHAR), or in seconds, TIME_TO_SEC(%s)", name, name)
		}
		return parquet.Int64Value(t), nil
	}
}

// decimalOf stores a decimal as the integer that it is without its point: in 4 or 8 bytes where they hold it, else in as many as its precision needs.
func decimalOf(f column.Field) (parquet.Node, convertor) {
	precision, scale := int(f.Type.Precision), int(f.Type.Scale)
	precision = max(precision, scale, 1)
	fail := func(text []byte) error {
		return sqlerr.New(sqlerr.BadValue, "column '%s' has the value %s, which is no DECIMAL(%d,%d)", f.Name, text, precision, scale)
	}
	if precision <= 18 {
		t := parquet.Int64Type
		if precision <= 9 {
			t = parquet.Int32Type
		}
		return parquet.Encoded(parquet.Decimal(scale, precision, t), &parquet.DeltaBinaryPacked), func(v *column.Vector, i int) (parquet.Value, error) {
			n, ok := unscaled(v.View(i), precision, scale)
			switch {
			case !ok:
				return parquet.Value{}, fail(v.View(i))
			case precision <= 9:
				return parquet.Int32Value(int32(n)), nil
			default:
				return parquet.Int64Value(n), nil
			}
		}
	}
	size := decimalBytes(precision)
	// Values are copied when the writer has a run of them, so each of a run needs memory of its own.
	memory, next := make([]byte, valuesAtOnce*size), 0
	var scratch []byte
	return parquet.Encoded(parquet.Decimal(scale, precision, parquet.FixedLenByteArrayType(size)), &parquet.RLEDictionary), func(v *column.Vector, i int) (parquet.Value, error) {
		var fault convert.Fault
		if scratch, fault = convert.AppendBigEndian(scratch[:0], v.View(i), scale); fault != convert.OK || len(scratch) > size {
			return parquet.Value{}, fail(v.View(i))
		}
		out := memory[next*size : (next+1)*size : (next+1)*size]
		next = (next + 1) % valuesAtOnce
		sign := byte(0)
		if len(scratch) > 0 && scratch[0] >= 0x80 {
			sign = 0xff
		}
		pad := size - len(scratch)
		for k := range pad {
			out[k] = sign
		}
		copy(out[pad:], scratch)
		return parquet.FixedLenByteArrayValue(out), nil
	}
}

// decimalBytes is how many bytes a signed integer of that many digits needs.
func decimalBytes(precision int) int {
	largest := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)
	return (largest.Sub(largest, big.NewInt(1)).BitLen() + 8) / 8
}

// unscaled reads a decimal in canonical text as an integer of units of its last digit.
func unscaled(text []byte, precision, scale int) (n int64, ok bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	fraction, digits := -1, 0
	for _, c := range text {
		switch {
		case c == '.' && fraction < 0:
			fraction = 0
			continue
		case c < '0' || c > '9':
			return 0, false
		case fraction >= 0 && fraction == scale:
			if c != '0' {
				return 0, false
			}
			continue
		case fraction >= 0:
			fraction++
		}
		if n != 0 || c != '0' {
			digits++
		}
		if digits > precision {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	for range scale - max(fraction, 0) {
		if n != 0 {
			digits++
		}
		if digits > precision {
			return 0, false
		}
		n *= 10
	}
	if negative {
		n = -n
	}
	return n, true
}
