package wire

import (
	"math"
	"strconv"

	"millrace/internal/sqlerr"
)

// maxParams is the largest number of parameters, as in MySQL.
const maxParams = 65_535

var errMalformed = sqlerr.New(sqlerr.Malformed, "Malformed communication packet.")

// paramSet is the block that COM_STMT_EXECUTE and COM_QUERY share: a NULL bitmap, types, names, values.
type paramSet struct {
	n int
	// named means that each type has a name after it.
	named bool
	// types are remembered from the last execution; the block brings new ones or relies on them.
	types []byte
	// long are values that came before, by COM_STMT_SEND_LONG_DATA.
	long map[uint16][]byte
}

// decode reads the block. It returns the types for the next time.
func (s *paramSet) decode(k *cursor) (values []Attribute, types []byte, err error) {
	if s.n < 0 || s.n > maxParams {
		return nil, nil, errMalformed
	}
	nulls := k.bytes((s.n + 7) / 8)
	values = make([]Attribute, s.n)
	types = s.types
	if k.uint(1) == 1 {
		types = make([]byte, 0, 2*s.n)
		for i := range s.n {
			types = append(types, k.bytes(2)...)
			if s.named {
				values[i].Name = string(k.lenencBytes())
			}
		}
	}
	if k.bad || len(types) < 2*s.n {
		return nil, nil, errMalformed
	}
	for i := range values {
		v := &values[i].Param
		v.Type, v.Unsigned = types[2*i], types[2*i+1]&0x80 != 0
		if long, ok := s.long[uint16(i)]; ok {
			v.V = longValue(v.Type, long)
			continue
		}
		if nulls[i/8]>>(i%8)&1 == 1 {
			continue
		}
		if v.V, err = decodeValue(k, v.Type, v.Unsigned); err != nil {
			return nil, nil, err
		}
	}
	if k.bad {
		return nil, nil, errMalformed
	}
	return values, types, nil
}

func isBytes(t byte) bool {
	return t == TypeBit || t >= TypeTinyBlob && t <= TypeBlob || t == TypeGeometry
}

func longValue(t byte, b []byte) any {
	if isBytes(t) {
		return b
	}
	return string(b)
}

func decodeValue(k *cursor, t byte, unsigned bool) (any, error) {
	switch t {
	case TypeNull:
		return nil, nil
	case TypeTiny, TypeShort, TypeYear, TypeLong, TypeInt24, TypeLonglong:
		width := IntWidth(t)
		v := k.uint(width)
		if unsigned {
			return v, nil
		}
		unused := 64 - 8*width
		return int64(v<<unused) >> unused, nil
	case TypeFloat:
		return floatValue(math.Float32frombits(uint32(k.uint(4)))), nil
	case TypeDouble:
		return math.Float64frombits(k.uint(8)), nil
	case TypeDate, TypeDatetime, TypeTimestamp:
		return datetimeValue(k.bytes(int(k.uint(1))), t == TypeDate)
	case TypeTime:
		return timeValue(k.bytes(int(k.uint(1))))
	case TypeDecimal, TypeNewDecimal, TypeVarchar, TypeVarString, TypeString, TypeEnum, TypeSet, TypeJSON:
		return string(k.lenencBytes()), nil
	}
	if isBytes(t) {
		return append([]byte{}, k.lenencBytes()...), nil
	}
	return nil, sqlerr.New(sqlerr.BadParameters, "parameter of unknown type %d", t)
}

// floatValue widens by the decimal form: 0.1 as FLOAT means 0.1, not 0.10000000149011612.
func floatValue(f float32) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(float64(f), 'g', -1, 32), 64)
	if err != nil {
		return float64(f)
	}
	return v
}

func padded(b []byte, v uint64, width int) []byte {
	var digits [20]byte
	s := strconv.AppendUint(digits[:0], v, 10)
	for range width - len(s) {
		b = append(b, '0')
	}
	return append(b, s...)
}

func clock(b []byte, hours, minutes, seconds uint64) []byte {
	b = append(padded(b, hours, 2), ':')
	b = append(padded(b, minutes, 2), ':')
	return padded(b, seconds, 2)
}

// datetimeValue gives the text of a date of 0, 4, 7 or 11 bytes: parts at the end that are zero are left out. Whether the text is a
// date is for the engine to say, but it must be text of the right form.
func datetimeValue(b []byte, dateOnly bool) (any, error) {
	switch len(b) {
	case 0, 4, 7, 11:
	default:
		return nil, errMalformed
	}
	k := cursor{b: b}
	out := append(padded(make([]byte, 0, 32), k.uint(2), 4), '-')
	out = append(padded(out, k.uint(1), 2), '-')
	out = padded(out, k.uint(1), 2)
	if !dateOnly || len(b) > 4 {
		out = clock(append(out, ' '), k.uint(1), k.uint(1), k.uint(1))
	}
	if len(b) == 11 {
		out = padded(append(out, '.'), k.uint(4), 6)
	}
	return string(out), nil
}

// timeValue gives the text of a time of 0, 8 or 12 bytes.
func timeValue(b []byte) (any, error) {
	switch len(b) {
	case 0:
		return "00:00:00", nil
	case 8, 12:
	default:
		return nil, errMalformed
	}
	k := cursor{b: b}
	out := make([]byte, 0, 32)
	if k.uint(1) == 1 {
		out = append(out, '-')
	}
	days := k.uint(4)
	out = clock(out, days*24+k.uint(1), k.uint(1), k.uint(1))
	if len(b) == 12 {
		out = padded(append(out, '.'), k.uint(4), 6)
	}
	return string(out), nil
}
