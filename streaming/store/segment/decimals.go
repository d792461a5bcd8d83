package segment

import (
	"encoding/binary"
	"math"
	"slices"

	"millrace/internal/column"
)

// Doubles are mostly decimals that were written as text: prices, rates, temperatures. Such a double is the quotient of an integer and a power of ten, exactly as it was
// parsed, so the integers are kept, packed as others are. What is no such quotient (NaN, -0, a third) is kept beside them as it is.

// mostExponent is that of the greatest power of ten to divide by. Powers up to 1e22 are doubles, so each quotient is the double next to the decimal.
const mostExponent = 18

var powers = func() (p [mostExponent + 1]float64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// sampledDoubles is how many values are looked at to find out whether a column is one of decimals, and of which. No more than one in tolerated of them may be none.
const (
	sampledDoubles = 256
	tolerated      = 16
)

// quotient gives the integer that divided by power is x to the bit.
func quotient(x, power float64) (n int64, ok bool) {
	scaled := math.RoundToEven(x * power)
	if !(math.Abs(scaled) <= 1<<53) { // beyond it not all integers are doubles
		return 0, false
	}
	n = int64(scaled)
	return n, math.Float64bits(float64(n)/power) == math.Float64bits(x)
}

// exponentOf finds the least exponent by which a sample of the values are decimals; ok is false when they are not.
func exponentOf(v *column.Vector, rows Rows) (exponent int, ok bool) {
	step := max(rows.Len()/sampledDoubles, 1)
	var found [mostExponent + 1]int // values that are decimals from this exponent on
	values, others := 0, 0
	for k := 0; k < rows.Len(); k += step {
		i := rows.at(k)
		if v.IsNull(i) {
			continue
		}
		values++
		e := slices.IndexFunc(powers[:], func(power float64) bool {
			_, ok := quotient(v.Float[i], power)
			return ok
		})
		if e >= 0 {
			found[e]++
		} else if others++; others > sampledDoubles/tolerated {
			return 0, false
		}
	}
	sum := 0
	for e, n := range found {
		if sum += n; n > 0 && sum >= values-values/tolerated {
			return e, true
		}
	}
	return 0, false
}

// decimals appends rows as: exponent, integers; how many others there are, their rows, their values. It reports false, and leaves the payload as it was, when that would not be
// shorter by an eighth than doubles as they are.
func (e *Encoder) decimals(v *column.Vector, rows Rows) bool {
	exponent, ok := exponentOf(v, rows)
	if !ok {
		return false
	}
	n, power := rows.Len(), powers[exponent]
	e.ints, e.others = slices.Grow(e.ints[:0], n), e.others[:0]
	last := int64(0) // stands in for what has no integer
	for k := range n {
		i := rows.at(k)
		if !v.IsNull(i) {
			if x, ok := quotient(v.Float[i], power); ok {
				last = x
			} else if e.others = append(e.others, int64(k)); len(e.others) > n/tolerated {
				return false
			}
		}
		e.ints = append(e.ints, last)
	}
	start := len(e.payload)
	e.payload = append(e.payload, byte(exponent))
	e.payload = appendInts(e.payload, e.ints, e.frame())
	e.payload = binary.AppendUvarint(e.payload, uint64(len(e.others)))
	e.payload = appendInts(e.payload, e.others, e.frame())
	for _, k := range e.others {
		e.payload = binary.LittleEndian.AppendUint64(e.payload, math.Float64bits(v.Float[rows.at(int(k))]))
	}
	if len(e.payload)-start > 7*n {
		e.payload = e.payload[:start]
		return false
	}
	return true
}

// readDecimals decodes len(dst) doubles and gives what follows them.
func readDecimals(dst []float64, src []byte, s *Scratch) ([]byte, error) {
	if len(src) == 0 || src[0] > mostExponent {
		return nil, corrupt("decimals without an exponent")
	}
	power := powers[src[0]]
	src = src[1:]
	var err error
	s.frame = sized(s.frame, frameRows)
	for part := range slices.Chunk(dst, frameRows) {
		ints := s.frame[:len(part)]
		if src, err = readFrame(ints, src); err != nil {
			return nil, err
		}
		for i, n := range ints {
			part[i] = float64(n) / power
		}
	}
	count, w := binary.Uvarint(src)
	if w <= 0 || count > uint64(len(dst)) {
		return nil, corrupt("%d other values among %d", count, len(dst))
	}
	s.ints = sized(s.ints, int(count))
	if src, err = readInts(s.ints, src[w:]); err != nil {
		return nil, err
	}
	if len(src) < 8*len(s.ints) {
		return nil, corrupt("other values are cut")
	}
	for i, k := range s.ints {
		if k < 0 || k >= int64(len(dst)) {
			return nil, corrupt("another value in row %d of %d", k, len(dst))
		}
		dst[k] = math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
	}
	return src[8*len(s.ints):], nil
}
