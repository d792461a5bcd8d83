package sketch

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// fewDistinct is how many different values are kept one by one.
const fewDistinct = 256

// Limits of the number of registers, as powers of two.
const (
	leastPrecision   = 4
	DefaultPrecision = 12
	mostPrecision    = 16
)

// Distinct estimates how many different values it was shown: HyperLogLog with 2^precision registers, whose standard error is 1.04/√2^precision, 1.6 % by
// default. Up to 256 values it keeps their hashes and is exact, but for values that share a hash of 64 bits.
//
// The hash is always the same, so the result does not depend on the run, nor on the order of the values, nor on which were merged.
type Distinct struct {
	precision uint8
	// few is a table with open addressing, 0 is free; nil once there are registers.
	few       []uint64
	n         int
	registers []uint8
}

// NewDistinct makes an empty sketch.
func NewDistinct(precision uint8) *Distinct { return &Distinct{precision: precision} }

// PrecisionFor is the least precision whose standard error is at most e. ok is false when none is.
func PrecisionFor(e float64) (precision uint8, ok bool) {
	for p := uint8(leastPrecision); p <= mostPrecision; p++ {
		if 1.04/math.Sqrt(float64(uint(1)<<p)) <= e {
			return p, true
		}
	}
	return 0, false
}

// AddInt adds an integer.
func (d *Distinct) AddInt(x int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(x))
	d.add(xxhash.Sum64(b[:]))
}

// AddFloat adds a number. 0 and -0 are the same, all NaN are.
func (d *Distinct) AddFloat(f float64) {
	if f != f {
		f = math.NaN()
	}
	d.AddInt(int64(math.Float64bits(f + 0))) // -0 + 0 is 0
}

// AddBytes adds a text.
func (d *Distinct) AddBytes(b []byte) { d.add(xxhash.Sum64(b)) }

func (d *Distinct) add(h uint64) {
	if d.registers != nil {
		d.register(h)
		return
	}
	if h == 0 {
		h = 1 // 0 is a free place
	}
	if 2*(d.n+1) > len(d.few) {
		d.grow()
		if d.registers != nil {
			d.register(h)
			return
		}
	}
	if d.place(h) {
		d.n++
	}
}

// place puts h into the table, and reports whether it was not there.
func (d *Distinct) place(h uint64) bool {
	mask := uint64(len(d.few) - 1)
	for p := h & mask; ; p = (p + 1) & mask {
		switch d.few[p] {
		case h:
			return false
		case 0:
			d.few[p] = h
			return true
		}
	}
}

func (d *Distinct) grow() {
	old := d.few
	if d.n >= fewDistinct {
		d.few, d.n = nil, 0
		d.registers = make([]uint8, 1<<d.precision)
		for _, h := range old {
			if h != 0 {
				d.register(h)
			}
		}
		return
	}
	d.few = make([]uint64, max(8, 2*len(old)))
	for _, h := range old {
		if h != 0 {
			d.place(h)
		}
	}
}

// register counts the zeros at the beginning of the hash behind the bits that choose the register.
func (d *Distinct) register(h uint64) {
	at := h >> (64 - d.precision)
	rank := uint8(bits.LeadingZeros64(h<<d.precision|1<<(d.precision-1))) + 1
	d.registers[at] = max(d.registers[at], rank)
}

// Merge adds what o has seen, which has the same precision.
func (d *Distinct) Merge(o *Distinct) {
	for _, h := range o.few {
		if h != 0 {
			d.add(h)
		}
	}
	if o.registers == nil {
		return
	}
	d.dense()
	for i, r := range o.registers {
		d.registers[i] = max(d.registers[i], r)
	}
}

// dense makes registers of what is kept one by one.
func (d *Distinct) dense() {
	if d.registers == nil {
		d.n = fewDistinct
		d.grow()
	}
}

// Estimate is the number of different values, by the estimator of Ertl (New cardinality estimation algorithms for HyperLogLog sketches, 2017), which needs no
// tables of corrections.
func (d *Distinct) Estimate() int64 {
	if d.registers == nil {
		return int64(d.n)
	}
	q := 64 - int(d.precision)
	counts := make([]float64, q+2)
	for _, r := range d.registers {
		counts[r]++
	}
	m := float64(len(d.registers))
	z := m * tau(1-counts[q+1]/m)
	for k := q; k >= 1; k-- {
		z = 0.5 * (z + counts[k])
	}
	z += m * sigma(counts[0]/m)
	return int64(math.Round(m * m / (2 * math.Ln2 * z)))
}

// sigma is x + Σ x^(2^k)·2^(k-1).
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	for y, z := 1.0, x; ; y += y {
		x *= x
		before := z
		if z += x * y; z == before {
			return z
		}
	}
}

// tau is (1 - x - Σ (1-x^(2^-k))²·2^-k) / 3.
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	for y, z := 1.0, 1-x; ; {
		x = math.Sqrt(x)
		before := z
		y *= 0.5
		if z -= (1 - x) * (1 - x) * y; z == before {
			return z / 3
		}
	}
}

// Bytes is the memory held.
func (d *Distinct) Bytes() int { return 8*cap(d.few) + cap(d.registers) + 64 }

// Append encodes the sketch.
func (d *Distinct) Append(dst []byte) []byte {
	if d.registers != nil {
		return append(append(dst, 1), d.registers...)
	}
	dst = binary.AppendUvarint(append(dst, 0), uint64(d.n))
	for _, h := range d.few {
		if h != 0 {
			dst = binary.LittleEndian.AppendUint64(dst, h)
		}
	}
	return dst
}

// errDamaged is the error of bytes that no sketch of the same make has written.
var errDamaged = errors.New("the encoded sketch is damaged")

// MergeEncoded merges what Append of a sketch of the same precision has written at the start of b, and gives what follows.
func (d *Distinct) MergeEncoded(b []byte) (rest []byte, err error) {
	if len(b) == 0 {
		return nil, errDamaged
	}
	switch kind := b[0]; kind {
	case 0:
		n, w := binary.Uvarint(b[1:])
		if w <= 0 || n > fewDistinct || uint64(len(b)-1-w) < 8*n {
			return nil, errDamaged
		}
		b = b[1+w:]
		for range n {
			d.add(binary.LittleEndian.Uint64(b))
			b = b[8:]
		}
		return b, nil
	case 1:
		if b = b[1:]; len(b) < 1<<d.precision {
			return nil, errDamaged
		}
		most := 64 - d.precision + 1
		d.dense()
		for i := range d.registers {
			if b[i] > most {
				return nil, errDamaged
			}
			d.registers[i] = max(d.registers[i], b[i])
		}
		return b[len(d.registers):], nil
	default:
		return nil, errDamaged
	}
}
