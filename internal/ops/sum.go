package ops

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"millrace/internal/column"
)

// int128 is a signed 128-bit number: hi*2^64 + lo. 2^63 numbers of 64 bits fit.
type int128 struct {
	hi int64
	lo uint64
}

func (x *int128) addInt(v int64) {
	var carry uint64
	x.lo, carry = bits.Add64(x.lo, uint64(v), 0)
	x.hi += v>>63 + int64(carry)
}

func (x *int128) addUint(v uint64) {
	var carry uint64
	x.lo, carry = bits.Add64(x.lo, v, 0)
	x.hi += int64(carry)
}

func (x *int128) add(y int128) {
	var carry uint64
	x.lo, carry = bits.Add64(x.lo, y.lo, 0)
	x.hi += y.hi + int64(carry)
}

func (x int128) big(to *big.Int) *big.Int {
	to.SetInt64(x.hi)
	to.Lsh(to, 64)
	return to.Add(to, new(big.Int).SetUint64(x.lo))
}

// exactSum is SUM and AVG of integers and decimals. Decimals are summed as integers of their scale; those that need more than 18
// digits go to big numbers kept beside.
type exactSum struct {
	arg, out column.Type
	average  bool
	sums     []int128
	counts   []int64
	wide     map[int32]*big.Int
}

func (s *exactSum) grow(groups int) {
	s.sums, s.counts = grown(s.sums, groups), grown(s.counts, groups)
}

func (s *exactSum) add(v, _ *column.Vector, n int, sel []int32, groups []int32) {
	switch {
	case s.arg.Kind == column.Decimal:
		eachValid(v, n, sel, groups, func(i, g int) { s.addDecimal(g, v.Data[v.Beg[i]:v.End[i]]) })
	case s.arg.Kind == column.Uint64:
		eachValid(v, n, sel, groups, func(i, g int) {
			s.sums[g].addUint(uint64(v.Int[i]))
			s.counts[g]++
		})
	case groups == nil && v.Valid == nil:
		sum, count := sumInts(v.Int, n, sel)
		s.sums[0].add(sum)
		s.counts[0] += int64(count)
	case groups == nil:
		sum, count := sumValidInts(v, n, sel)
		s.sums[0].add(sum)
		s.counts[0] += int64(count)
	case v.Valid == nil:
		if sel == nil {
			for i, g := range groups[:n] {
				s.sums[g].addInt(v.Int[i])
				s.counts[g]++
			}
			return
		}
		for k, i := range sel {
			s.sums[groups[k]].addInt(v.Int[i])
			s.counts[groups[k]]++
		}
	default:
		eachValid(v, n, sel, groups, func(i, g int) {
			s.sums[g].addInt(v.Int[i])
			s.counts[g]++
		})
	}
}

// sumInts adds the high and low halves apart: neither can overflow within a batch, and the loop has no carry to wait for.
func sumInts(x []int64, n int, sel []int32) (int128, int) {
	var hi int64
	var lo uint64
	if sel == nil {
		for _, v := range x[:n] {
			hi += v >> 32
			lo += uint64(uint32(v))
		}
	} else {
		n = len(sel)
		for _, i := range sel {
			hi += x[i] >> 32
			lo += uint64(uint32(x[i]))
		}
	}
	return halves(hi, lo), n
}

// sumValidInts is sumInts with the numbers of NULL rows masked to zero.
func sumValidInts(v *column.Vector, n int, sel []int32) (int128, int) {
	var hi int64
	var lo uint64
	count := 0
	if sel == nil {
		for w := 0; w*64 < n; w++ {
			word := v.Valid[w]
			part := v.Int[w*64 : min(n, w*64+64)]
			if word == ^uint64(0) {
				for _, x := range part {
					hi += x >> 32
					lo += uint64(uint32(x))
				}
				count += len(part)
				continue
			}
			for j, x := range part {
				ok := word >> uint(j) & 1
				x &= -int64(ok)
				hi += x >> 32
				lo += uint64(uint32(x))
				count += int(ok)
			}
		}
		return halves(hi, lo), count
	}
	for _, i := range sel {
		ok := v.Valid[i>>6] >> (uint(i) & 63) & 1
		x := v.Int[i] & -int64(ok)
		hi += x >> 32
		lo += uint64(uint32(x))
		count += int(ok)
	}
	return halves(hi, lo), count
}

// halves is hi*2^32 + lo.
func halves(hi int64, lo uint64) int128 {
	s := int128{hi: hi >> 32, lo: uint64(hi) << 32}
	s.addUint(lo)
	return s
}

func (s *exactSum) addDecimal(g int, d []byte) {
	s.counts[g]++
	if v, ok := scaledInt(d, int(s.arg.Scale)); ok {
		s.sums[g].addInt(v)
		return
	}
	s.addWide(int32(g), scaledBig(d, int(s.arg.Scale)))
}

func (s *exactSum) addWide(g int32, v *big.Int) {
	if s.wide == nil {
		s.wide = map[int32]*big.Int{}
	}
	if sum, ok := s.wide[g]; ok {
		sum.Add(sum, v)
		return
	}
	s.wide[g] = v
}

// scaledBig reads a decimal text as an integer of 10^-scale.
func scaledBig(d []byte, scale int) *big.Int {
	negative, whole, fraction := decimalParts(d)
	digits := append(append([]byte(nil), whole...), fraction...)
	for range scale - len(fraction) {
		digits = append(digits, '0')
	}
	v, _ := new(big.Int).SetString(string(digits), 10) // digits by the contract of Decimal vectors
	if negative {
		v.Neg(v)
	}
	return v
}

// scaledInt reads a decimal text as an integer of 10^-scale, if it has at most 18 digits.
func scaledInt(d []byte, scale int) (int64, bool) {
	if len(d) > 19 {
		return 0, false
	}
	var v int64
	digits, fraction := 0, -1
	negative := false
	for i, c := range d {
		switch {
		case c == '-' && i == 0:
			negative = true
		case c == '.':
			fraction = 0
		default:
			v = v*10 + int64(c-'0')
			if digits++; fraction >= 0 {
				fraction++
			}
		}
	}
	missing := scale - max(fraction, 0)
	if digits+missing > 18 || missing < 0 {
		return 0, false
	}
	for range missing {
		v *= 10
	}
	if negative {
		v = -v
	}
	return v, true
}

func (s *exactSum) merge(from accumulator, to []int32) {
	f := from.(*exactSum)
	for g := range f.sums {
		s.sums[to[g]].add(f.sums[g])
		s.counts[to[g]] += f.counts[g]
	}
	for g, v := range f.wide {
		s.addWide(to[g], v)
	}
}

func (s *exactSum) encode(dst []byte, g int) []byte {
	dst = appendInt128(binary.AppendVarint(dst, s.counts[g]), s.sums[g])
	wide, ok := s.wide[int32(g)]
	if dst = appendBool(dst, ok); ok {
		dst = appendBig(dst, wide)
	}
	return dst
}

func (s *exactSum) decode(g int, state []byte) ([]byte, error) {
	r := stateReader{rest: state}
	s.counts[g] += r.int()
	s.sums[g].add(r.int128())
	if r.bool() {
		s.addWide(int32(g), r.big())
	}
	return r.end()
}

func (s *exactSum) emit(g int, out *column.Vector) {
	if s.counts[g] == 0 {
		out.AppendNull()
		return
	}
	total := s.sums[g].big(new(big.Int))
	if w := s.wide[int32(g)]; w != nil {
		total.Add(total, w)
	}
	if s.average {
		scaleUp := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(s.out.Scale-s.arg.Scale)), nil)
		total = divideRounded(total.Mul(total, scaleUp), big.NewInt(s.counts[g]))
	}
	out.AppendBytes(appendScaled(nil, total, int(s.out.Scale)))
}

// divideRounded is x/y for positive y, halves away from zero, as MySQL rounds.
func divideRounded(x, y *big.Int) *big.Int {
	half := new(big.Int).Rsh(y, 1)
	q, r := new(big.Int).QuoRem(x, y, new(big.Int))
	r.Abs(r)
	if odd := y.Bit(0) == 1; r.Cmp(half) > 0 || !odd && r.Cmp(half) == 0 {
		q.Add(q, big.NewInt(int64(x.Sign())))
	}
	return q
}

// appendScaled writes x*10^-scale as a decimal text.
func appendScaled(dst []byte, x *big.Int, scale int) []byte {
	text := new(big.Int).Abs(x).Append(nil, 10)
	if x.Sign() < 0 {
		dst = append(dst, '-')
	}
	for len(text) <= scale {
		text = append([]byte{'0'}, text...)
	}
	dst = append(dst, text[:len(text)-scale]...)
	if scale > 0 {
		dst = append(append(dst, '.'), text[len(text)-scale:]...)
	}
	return dst
}

func (s *exactSum) bytes() int { return 16*cap(s.sums) + 8*cap(s.counts) + 64*len(s.wide) }

// mergedAverage is AVG of sums, each with the number of values that it is of.
type mergedAverage struct{ exactSum }

func (s *mergedAverage) add(v, by *column.Vector, n int, sel []int32, groups []int32) {
	eachValid(v, n, sel, groups, func(i, g int) {
		s.addDecimal(g, v.Data[v.Beg[i]:v.End[i]])
		s.counts[g] += by.Int[i] - 1
	})
}

func (s *mergedAverage) merge(from accumulator, to []int32) {
	s.exactSum.merge(&from.(*mergedAverage).exactSum, to)
}

// floatSum is SUM and AVG of doubles. Lanes are added in the order they are merged, so the last digits may differ between runs.
type floatSum struct {
	average bool
	sums    []float64
	counts  []int64
}

func (s *floatSum) grow(groups int) {
	s.sums, s.counts = grown(s.sums, groups), grown(s.counts, groups)
}

func (s *floatSum) add(v, _ *column.Vector, n int, sel []int32, groups []int32) {
	if groups == nil && v.Valid == nil {
		sum := 0.0
		if sel == nil {
			for _, x := range v.Float[:n] {
				sum += x
			}
			s.counts[0] += int64(n)
		} else {
			for _, i := range sel {
				sum += v.Float[i]
			}
			s.counts[0] += int64(len(sel))
		}
		s.sums[0] += sum
		return
	}
	if sel == nil && v.Valid == nil { // here groups is not nil
		sums, counts := s.sums, s.counts[:len(s.sums)]
		for k, x := range v.Float[:n] {
			g := groups[k]
			sums[g] += x
			counts[g]++
		}
		return
	}
	eachValid(v, n, sel, groups, func(i, g int) {
		s.sums[g] += v.Float[i]
		s.counts[g]++
	})
}

func (s *floatSum) merge(from accumulator, to []int32) {
	f := from.(*floatSum)
	for g := range f.sums {
		s.sums[to[g]] += f.sums[g]
		s.counts[to[g]] += f.counts[g]
	}
}

func (s *floatSum) encode(dst []byte, g int) []byte {
	return appendFloat(binary.AppendVarint(dst, s.counts[g]), s.sums[g])
}

func (s *floatSum) decode(g int, state []byte) ([]byte, error) {
	r := stateReader{rest: state}
	s.counts[g] += r.int()
	s.sums[g] += r.float()
	return r.end()
}

func (s *floatSum) emit(g int, out *column.Vector) {
	switch {
	case s.counts[g] == 0:
		out.AppendNull()
	case s.average:
		out.AppendFloat(s.sums[g] / float64(s.counts[g]))
	default:
		out.AppendFloat(s.sums[g])
	}
}

func (s *floatSum) bytes() int { return 8*cap(s.sums) + 8*cap(s.counts) }

// canonicalBits gives equal bits to floats that group together: one NaN, one zero.
func canonicalBits(f float64) int64 {
	switch {
	case f != f:
		return int64(math.Float64bits(math.NaN()))
	case f == 0:
		return 0
	default:
		return int64(math.Float64bits(f))
	}
}
