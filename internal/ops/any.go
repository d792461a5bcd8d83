package ops

import "millrace/internal/column"

// anyRow keeps the value of the first row of each group. All of a plan keep those of the same row.
type anyRow struct {
	values column.Vector
	at     []int32 // place in values and 1 more, 0 for a group without a row
}

func newAnyRow(t column.Type) *anyRow { return &anyRow{values: column.Vector{Type: t}} }

func (a *anyRow) grow(groups int) { a.at = grown(a.at, groups) }

func (a *anyRow) add(v, _ *column.Vector, n int, sel []int32, groups []int32) {
	if sel != nil {
		n = len(sel)
	}
	for k := range n {
		i, g := k, int32(0)
		if sel != nil {
			i = int(sel[k])
		}
		if groups != nil {
			g = groups[k]
		}
		if a.at[g] == 0 {
			a.take(g, v, i)
		}
	}
}

func (a *anyRow) take(g int32, v *column.Vector, i int) {
	a.values.AppendRow(v, i)
	a.at[g] = int32(a.values.Len())
}

func (a *anyRow) merge(from accumulator, to []int32) {
	f := from.(*anyRow)
	for g, at := range f.at {
		if at > 0 && a.at[to[g]] == 0 {
			a.take(to[g], &f.values, int(at-1))
		}
	}
}

func (a *anyRow) encode(dst []byte, g int) []byte {
	at := a.at[g]
	if dst = appendBool(dst, at > 0); at == 0 {
		return dst
	}
	if v := &a.values; v.Type.Kind == column.Float64 && !v.IsNull(int(at-1)) {
		return appendFloat(append(dst, 1), v.Float[at-1]) // a key has one zero only
	}
	return appendKey(dst, &a.values, int(at-1))
}

func (a *anyRow) decode(g int, state []byte) ([]byte, error) {
	r := stateReader{rest: state}
	if !r.bool() {
		return r.end()
	}
	var one column.Vector
	one.Reset(a.values.Type)
	r.key(&one)
	if !r.bad && a.at[g] == 0 {
		a.take(int32(g), &one, 0)
	}
	return r.end()
}

func (a *anyRow) emit(g int, out *column.Vector) {
	if a.at[g] == 0 {
		out.AppendNull()
		return
	}
	out.AppendRow(&a.values, int(a.at[g]-1))
}

func (a *anyRow) bytes() int {
	b := column.Batch{Cols: []column.Vector{a.values}}
	return b.Bytes() + 4*cap(a.at)
}
