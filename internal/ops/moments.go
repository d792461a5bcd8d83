package ops

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"millrace/internal/column"
)

// spread says which of the variances and deviations is asked for.
type spread struct{ sample, root bool }

func spreadOf(f Func) spread {
	return spread{sample: f == VarSamp || f == StdDevSamp, root: f == StdDevPop || f == StdDevSamp}
}

// uint192 is a sum of squares of 64-bit numbers, the least word first. 2^63 of them fit.
type uint192 [3]uint64

func (x *uint192) add(y uint192) {
	var carry uint64
	x[0], carry = bits.Add64(x[0], y[0], 0)
	x[1], carry = bits.Add64(x[1], y[1], carry)
	x[2] += y[2] + carry
}

func (x *uint192) addSquare(v uint64) {
	high, low := bits.Mul64(v, v)
	x.add(uint192{low, high, 0})
}

func (x *uint192) big() *big.Int {
	to := new(big.Int).SetUint64(x[2])
	for _, w := range []uint64{x[1], x[0]} {
		to.Lsh(to, 64)
		to.Add(to, new(big.Int).SetUint64(w))
	}
	return to
}

// exactMoments is a variance or deviation of integers and decimals. It keeps the sums of values and squares exactly and rounds once, so that the result does not
// depend on the order of the rows. Decimals are integers of their scale; those of more than 18 digits go to big numbers kept beside.
type exactMoments struct {
	spread
	arg     column.Type
	counts  []int64
	sums    []int128
	squares []uint192
	wide    map[int32]*wideMoments
}

type wideMoments struct{ sum, squares *big.Int }

func (m *exactMoments) grow(groups int) {
	m.counts, m.sums, m.squares = grown(m.counts, groups), grown(m.sums, groups), grown(m.squares, groups)
}

func (m *exactMoments) add(v, _ *column.Vector, n int, sel []int32, groups []int32) {
	switch m.arg.Kind {
	case column.Decimal:
		eachValid(v, n, sel, groups, func(i, g int) { m.addDecimal(g, v.View(i)) })
	case column.Uint64:
		eachValid(v, n, sel, groups, func(i, g int) {
			x := uint64(v.Int[i])
			m.counts[g]++
			m.sums[g].addUint(x)
			m.squares[g].addSquare(x)
		})
	default:
		eachValid(v, n, sel, groups, func(i, g int) { m.addInt(g, v.Int[i]) })
	}
}

func (m *exactMoments) addInt(g int, x int64) {
	m.counts[g]++
	m.sums[g].addInt(x)
	sign := x >> 63
	m.squares[g].addSquare(uint64(x^sign) - uint64(sign))
}

func (m *exactMoments) addDecimal(g int, d []byte) {
	if x, ok := scaledInt(d, int(m.arg.Scale)); ok {
		m.addInt(g, x)
		return
	}
	x := scaledBig(d, int(m.arg.Scale))
	m.counts[g]++
	m.addWide(int32(g), wideMoments{x, new(big.Int).Mul(x, x)})
}

func (m *exactMoments) addWide(g int32, w wideMoments) {
	if m.wide == nil {
		m.wide = map[int32]*wideMoments{}
	}
	if have, ok := m.wide[g]; ok {
		have.sum.Add(have.sum, w.sum)
		have.squares.Add(have.squares, w.squares)
		return
	}
	m.wide[g] = &wideMoments{new(big.Int).Set(w.sum), new(big.Int).Set(w.squares)}
}

func (m *exactMoments) merge(from accumulator, to []int32) {
	f := from.(*exactMoments)
	for g := range f.counts {
		m.counts[to[g]] += f.counts[g]
		m.sums[to[g]].add(f.sums[g])
		m.squares[to[g]].add(f.squares[g])
	}
	for g, w := range f.wide {
		m.addWide(to[g], *w)
	}
}

func (m *exactMoments) encode(dst []byte, g int) []byte {
	dst = appendInt128(binary.AppendVarint(dst, m.counts[g]), m.sums[g])
	for _, w := range m.squares[g] {
		dst = binary.AppendUvarint(dst, w)
	}
	wide, ok := m.wide[int32(g)]
	if dst = appendBool(dst, ok); ok {
		dst = appendBig(appendBig(dst, wide.sum), wide.squares)
	}
	return dst
}

func (m *exactMoments) decode(g int, state []byte) ([]byte, error) {
	r := stateReader{rest: state}
	m.counts[g] += r.int()
	m.sums[g].add(r.int128())
	m.squares[g].add(uint192{r.uint(), r.uint(), r.uint()})
	if r.bool() {
		m.addWide(int32(g), wideMoments{r.big(), r.big()})
	}
	return r.end()
}

func (m *exactMoments) emit(g int, out *column.Vector) {
	rows := m.counts[g]
	if rows == 0 || m.sample && rows == 1 {
		out.AppendNull()
		return
	}
	sum, squares := m.sums[g].big(new(big.Int)), m.squares[g].big()
	if w := m.wide[int32(g)]; w != nil {
		sum.Add(sum, w.sum)
		squares.Add(squares, w.squares)
	}
	// The variance is (n·Σx² - (Σx)²) / (n·n), or of a sample / (n·(n-1)).
	n := big.NewInt(rows)
	squares.Sub(squares.Mul(squares, n), sum.Mul(sum, sum))
	divisor := rows
	if m.sample {
		divisor--
	}
	n.Mul(n, big.NewInt(divisor))
	n.Mul(n, new(big.Int).Exp(big.NewInt(10), big.NewInt(2*int64(m.arg.Scale)), nil))
	f, _ := new(big.Rat).SetFrac(squares, n).Float64() // the nearest one
	if m.root {
		f = math.Sqrt(f)
	}
	out.AppendFloat(f)
}

func (m *exactMoments) bytes() int {
	return 8*cap(m.counts) + 16*cap(m.sums) + 24*cap(m.squares) + 192*len(m.wide)
}

// floatMoments is a variance or deviation of doubles, by Welford's method. Lanes are joined in the order they are merged, so the last digits may differ between
// runs.
type floatMoments struct {
	spread
	counts []int64
	means  []float64
	// squares are the sums of the squared distances from the mean.
	squares []float64
}

func (m *floatMoments) grow(groups int) {
	m.counts, m.means, m.squares = grown(m.counts, groups), grown(m.means, groups), grown(m.squares, groups)
}

func (m *floatMoments) add(v, _ *column.Vector, n int, sel []int32, groups []int32) {
	eachValid(v, n, sel, groups, func(i, g int) {
		m.counts[g]++
		distance := v.Float[i] - m.means[g]
		m.means[g] += distance / float64(m.counts[g])
		m.squares[g] += distance * (v.Float[i] - m.means[g])
	})
}

// join adds what another has seen (Chan, Golub and LeVeque).
func (m *floatMoments) join(g int, count int64, mean, squares float64) {
	if count == 0 {
		return
	}
	if m.counts[g] == 0 {
		m.counts[g], m.means[g], m.squares[g] = count, mean, squares
		return
	}
	a, b := float64(m.counts[g]), float64(count)
	distance := mean - m.means[g]
	m.counts[g] += count
	m.means[g] += distance * b / (a + b)
	m.squares[g] += squares + distance*distance*a*b/(a+b)
}

func (m *floatMoments) merge(from accumulator, to []int32) {
	f := from.(*floatMoments)
	for g := range f.counts {
		m.join(int(to[g]), f.counts[g], f.means[g], f.squares[g])
	}
}

func (m *floatMoments) encode(dst []byte, g int) []byte {
	return appendFloat(appendFloat(binary.AppendVarint(dst, m.counts[g]), m.means[g]), m.squares[g])
}

func (m *floatMoments) decode(g int, state []byte) ([]byte, error) {
	r := stateReader{rest: state}
	if count, mean, squares := r.int(), r.float(), r.float(); !r.bad {
		m.join(g, count, mean, squares)
	}
	return r.end()
}

func (m *floatMoments) emit(g int, out *column.Vector) {
	divisor := m.counts[g]
	if m.sample {
		divisor--
	}
	if divisor <= 0 {
		out.AppendNull()
		return
	}
	f := m.squares[g] / float64(divisor)
	if m.root {
		f = math.Sqrt(f)
	}
	out.AppendFloat(f)
}

func (m *floatMoments) bytes() int { return 8*cap(m.counts) + 8*cap(m.means) + 8*cap(m.squares) }
