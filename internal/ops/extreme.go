package ops

import (
	"bytes"
	"encoding/binary"

	"millrace/internal/column"
)

// newExtreme is MIN (sign -1) or MAX (sign 1) over a kind.
func newExtreme(k column.Kind, sign int) accumulator {
	switch {
	case k == column.Float64:
		return &extremeFloats{sign: sign}
	case k.IsView():
		return &extremeBytes{sign: sign, decimal: k == column.Decimal}
	}
	// Flipping all bits turns MIN into MAX, flipping the sign bit turns unsigned order into signed.
	e := &extremeInts{}
	if sign < 0 {
		e.mask = -1
	}
	if k == column.Uint64 {
		e.mask ^= -1 << 63
	}
	return e
}

// extremeInts keeps the largest x^mask of each group.
type extremeInts struct {
	mask int64
	best []int64
	seen []bool
}

func (e *extremeInts) grow(groups int) { e.best, e.seen = grown(e.best, groups), grown(e.seen, groups) }

func (e *extremeInts) add(v, _ *column.Vector, n int, sel []int32, groups []int32) {
	if groups != nil || v.Valid != nil {
		eachValid(v, n, sel, groups, func(i, g int) { e.take(g, v.Int[i]^e.mask) })
		return
	}
	if sel == nil {
		if n > 0 {
			best := v.Int[0] ^ e.mask
			for _, x := range v.Int[:n] {
				best = max(best, x^e.mask)
			}
			e.take(0, best)
		}
		return
	}
	if len(sel) > 0 {
		best := v.Int[sel[0]] ^ e.mask
		for _, i := range sel {
			best = max(best, v.Int[i]^e.mask)
		}
		e.take(0, best)
	}
}

func (e *extremeInts) take(g int, key int64) {
	if !e.seen[g] || key > e.best[g] {
		e.best[g], e.seen[g] = key, true
	}
}

func (e *extremeInts) merge(from accumulator, to []int32) {
	f := from.(*extremeInts)
	for g, ok := range f.seen {
		if ok {
			e.take(int(to[g]), f.best[g])
		}
	}
}

func (e *extremeInts) encode(dst []byte, g int) []byte {
	if dst = appendBool(dst, e.seen[g]); e.seen[g] {
		dst = binary.AppendVarint(dst, e.best[g])
	}
	return dst
}

func (e *extremeInts) decode(g int, state []byte) ([]byte, error) {
	r := stateReader{rest: state}
	if r.bool() {
		if best := r.int(); !r.bad {
			e.take(g, best)
		}
	}
	return r.end()
}

func (e *extremeInts) emit(g int, out *column.Vector) {
	if !e.seen[g] {
		out.AppendNull()
		return
	}
	out.AppendInt(e.best[g] ^ e.mask)
}

func (e *extremeInts) bytes() int { return 8*cap(e.best) + cap(e.seen) }

// extremeFloats orders NaN above all numbers.
type extremeFloats struct {
	sign int
	best []float64
	seen []bool
}

func (e *extremeFloats) grow(groups int) {
	e.best, e.seen = grown(e.best, groups), grown(e.seen, groups)
}

func (e *extremeFloats) add(v, _ *column.Vector, n int, sel []int32, groups []int32) {
	eachValid(v, n, sel, groups, func(i, g int) { e.take(g, v.Float[i]) })
}

func (e *extremeFloats) take(g int, x float64) {
	if !e.seen[g] || compareFloats(x, e.best[g]) == e.sign {
		e.best[g], e.seen[g] = x, true
	}
}

func (e *extremeFloats) merge(from accumulator, to []int32) {
	f := from.(*extremeFloats)
	for g, ok := range f.seen {
		if ok {
			e.take(int(to[g]), f.best[g])
		}
	}
}

func (e *extremeFloats) encode(dst []byte, g int) []byte {
	if dst = appendBool(dst, e.seen[g]); e.seen[g] {
		dst = appendFloat(dst, e.best[g])
	}
	return dst
}

func (e *extremeFloats) decode(g int, state []byte) ([]byte, error) {
	r := stateReader{rest: state}
	if r.bool() {
		if best := r.float(); !r.bad {
			e.take(g, best)
		}
	}
	return r.end()
}

func (e *extremeFloats) emit(g int, out *column.Vector) {
	if !e.seen[g] {
		out.AppendNull()
		return
	}
	out.AppendFloat(e.best[g])
}

func (e *extremeFloats) bytes() int { return 8*cap(e.best) + cap(e.seen) }

// extremeBytes orders texts and bytes bytewise, decimals by value. It copies the best of each group; nil means none yet.
type extremeBytes struct {
	sign    int
	decimal bool
	best    [][]byte
	held    int
}

func (e *extremeBytes) grow(groups int) { e.best = grown(e.best, groups) }

func (e *extremeBytes) add(v, _ *column.Vector, n int, sel []int32, groups []int32) {
	eachValid(v, n, sel, groups, func(i, g int) { e.take(g, v.Data[v.Beg[i]:v.End[i]]) })
}

func (e *extremeBytes) take(g int, x []byte) {
	old := e.best[g]
	if old != nil {
		var c int
		if e.decimal {
			c = compareDecimals(x, old)
		} else {
			c = bytes.Compare(x, old)
		}
		if c != e.sign {
			return
		}
	} else {
		old = []byte{}
	}
	e.held -= cap(old)
	e.best[g] = append(old[:0], x...)
	e.held += cap(e.best[g])
}

func (e *extremeBytes) merge(from accumulator, to []int32) {
	for g, x := range from.(*extremeBytes).best {
		if x != nil {
			e.take(int(to[g]), x)
		}
	}
}

func (e *extremeBytes) encode(dst []byte, g int) []byte {
	if dst = appendBool(dst, e.best[g] != nil); e.best[g] != nil {
		dst = appendSized(dst, e.best[g])
	}
	return dst
}

func (e *extremeBytes) decode(g int, state []byte) ([]byte, error) {
	r := stateReader{rest: state}
	if r.bool() {
		if best := r.bytes(); !r.bad {
			e.take(g, best)
		}
	}
	return r.end()
}

func (e *extremeBytes) emit(g int, out *column.Vector) {
	if e.best[g] == nil {
		out.AppendNull()
		return
	}
	out.AppendBytes(e.best[g])
}

func (e *extremeBytes) bytes() int { return 24*cap(e.best) + e.held }

// eachValid calls f with the row and group of every value that is not NULL. It is inlined into kernels that are not worth a loop
// of their own.
func eachValid(v *column.Vector, n int, sel, groups []int32, f func(i, g int)) {
	if sel != nil {
		n = len(sel)
	}
	for k := range n {
		i, g := k, 0
		if sel != nil {
			i = int(sel[k])
		}
		if groups != nil {
			g = int(groups[k])
		}
		if !v.IsNull(i) {
			f(i, g)
		}
	}
}
