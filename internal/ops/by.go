package ops

import (
	"bytes"
	"cmp"

	"millrace/internal/column"
)

// cells holds a value of one type for each group, in memory that is used again when the value changes.
type cells struct {
	typ   column.Type
	null  []bool
	ints  []int64
	float []float64
	views [][]byte
	held  int
}

func (c *cells) grow(groups int) {
	c.null = grown(c.null, groups)
	switch {
	case c.typ.Kind.IsView():
		c.views = grown(c.views, groups)
	case c.typ.Kind == column.Float64:
		c.float = grown(c.float, groups)
	default:
		c.ints = grown(c.ints, groups)
	}
}

// set copies row i of v into group g.
func (c *cells) set(g int, v *column.Vector, i int) {
	if c.null[g] = v.IsNull(i); c.null[g] {
		return
	}
	switch {
	case c.typ.Kind.IsView():
		c.held -= cap(c.views[g])
		c.views[g] = append(c.views[g][:0], v.Data[v.Beg[i]:v.End[i]]...)
		c.held += cap(c.views[g])
	case c.typ.Kind == column.Float64:
		c.float[g] = v.Float[i] + 0 // -0 and 0 are equal, so either may come first: the result is 0
	default:
		c.ints[g] = v.Int[i]
	}
}

// compare compares row i of v with the value of group g. NULL is below all.
func (c *cells) compare(v *column.Vector, i, g int) int {
	if v.IsNull(i) || c.null[g] {
		return bit(c.null[g]) - bit(v.IsNull(i))
	}
	switch k := c.typ.Kind; {
	case k == column.Decimal:
		return compareDecimals(v.View(i), c.views[g])
	case k.IsView():
		return bytes.Compare(v.View(i), c.views[g])
	case k == column.Float64:
		return compareFloats(v.Float[i], c.float[g])
	case k == column.Uint64:
		return cmp.Compare(uint64(v.Int[i]), uint64(c.ints[g]))
	default:
		return cmp.Compare(v.Int[i], c.ints[g])
	}
}

// emit appends the value of group g.
func (c *cells) emit(g int, out *column.Vector) {
	switch {
	case c.null[g]:
		out.AppendNull()
	case c.typ.Kind.IsView():
		out.AppendBytes(c.views[g])
	case c.typ.Kind == column.Float64:
		out.AppendFloat(c.float[g])
	default:
		out.AppendInt(c.ints[g])
	}
}

func (c *cells) bytes() int {
	return cap(c.null) + 8*cap(c.ints) + 8*cap(c.float) + 24*cap(c.views) + c.held
}

// extremeBy is MIN_BY (sign -1) or MAX_BY (sign 1): the first argument in the row where the second is least or greatest. Where several rows have it, the greatest of
// their first arguments, so that the result does not depend on the order of the rows.
type extremeBy struct {
	sign     int
	seen     []bool
	best, by cells
}

func newExtremeBy(arg, by column.Type, sign int) *extremeBy {
	return &extremeBy{sign: sign, best: cells{typ: arg}, by: cells{typ: by}}
}

func (e *extremeBy) grow(groups int) {
	e.seen = grown(e.seen, groups)
	e.best.grow(groups)
	e.by.grow(groups)
}

func (e *extremeBy) add(v, by *column.Vector, n int, sel []int32, groups []int32) {
	eachValid(by, n, sel, groups, func(i, g int) { e.take(g, v, by, i) })
}

func (e *extremeBy) take(g int, v, by *column.Vector, i int) {
	if e.seen[g] {
		c := e.by.compare(by, i, g)
		if c == -e.sign || c == 0 && e.best.compare(v, i, g) <= 0 {
			return
		}
	}
	e.seen[g] = true
	e.by.set(g, by, i)
	e.best.set(g, v, i)
}

// pair gives group g as vectors of one row.
func (e *extremeBy) pair(g int) (v, by column.Vector) {
	v.Reset(e.best.typ)
	by.Reset(e.by.typ)
	e.best.emit(g, &v)
	e.by.emit(g, &by)
	return v, by
}

func (e *extremeBy) merge(from accumulator, to []int32) {
	f := from.(*extremeBy)
	for g, seen := range f.seen {
		if seen {
			v, by := f.pair(g)
			e.take(int(to[g]), &v, &by, 0)
		}
	}
}

func (e *extremeBy) encode(dst []byte, g int) []byte {
	if dst = appendBool(dst, e.seen[g]); e.seen[g] {
		v, by := e.pair(g)
		dst = appendKey(appendKey(dst, &v, 0), &by, 0)
	}
	return dst
}

func (e *extremeBy) decode(g int, state []byte) ([]byte, error) {
	r := stateReader{rest: state}
	if r.bool() {
		var v, by column.Vector
		v.Reset(e.best.typ)
		by.Reset(e.by.typ)
		r.key(&v)
		r.key(&by)
		if !r.bad && !by.IsNull(0) {
			e.take(g, &v, &by, 0)
		}
	}
	return r.end()
}

func (e *extremeBy) emit(g int, out *column.Vector) {
	if !e.seen[g] {
		out.AppendNull()
		return
	}
	e.best.emit(g, out)
}

func (e *extremeBy) bytes() int { return cap(e.seen) + e.best.bytes() + e.by.bytes() }
