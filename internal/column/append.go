package column

// AppendRow copies row i of src, which has the same Type, to the end of v.
func (v *Vector) AppendRow(src *Vector, i int) {
	switch {
	case src.IsNull(i):
		v.AppendNull()
	case src.Type.Kind.IsView():
		v.AppendBytes(src.View(i))
	case src.Type.Kind == Float64:
		v.AppendFloat(src.Float[i])
	default:
		v.AppendInt(src.Int[i])
	}
}

// AppendFrom copies n rows of src, which has the same Type, to the end of v: rows sel[:n], or the first n when sel is nil. v owns
// the copies; bytes of view kinds land side by side in v.Data, whatever surrounded them in src. The caller keeps v.Data below 4
// GiB.
func (v *Vector) AppendFrom(src *Vector, sel []int32, n int) {
	if sel != nil {
		sel = sel[:n]
	}
	base := v.Len()
	switch {
	case src.Type.Kind.IsView():
		v.appendViews(src, sel, n)
	case src.Type.Kind == Float64:
		v.Float = appendFlat(v.Float, src.Float, sel, n)
	default:
		v.Int = appendFlat(v.Int, src.Int, sel, n)
	}
	v.appendValid(src, sel, base, n)
}

func appendFlat[T int64 | float64](dst, src []T, sel []int32, n int) []T {
	if sel == nil {
		return append(dst, src[:n]...)
	}
	for _, i := range sel {
		dst = append(dst, src[i])
	}
	return dst
}

func (v *Vector) appendViews(src *Vector, sel []int32, n int) {
	for k := range n {
		i := k
		if sel != nil {
			i = int(sel[k])
		}
		beg := len(v.Data)
		if !src.IsNull(i) {
			v.Data = append(v.Data, src.Data[src.Beg[i]:src.End[i]]...)
		}
		v.Beg = append(v.Beg, uint32(beg))
		v.End = append(v.End, uint32(len(v.Data)))
	}
}

// appendValid extends the bitmap after n values were appended behind base rows.
func (v *Vector) appendValid(src *Vector, sel []int32, base, n int) {
	if src.Valid == nil {
		if v.Valid == nil {
			return
		}
		v.needValid(base + n)
		for i := base; i < base+n; i++ {
			v.Valid[i>>6] |= 1 << (uint(i) & 63)
		}
		return
	}
	v.needValid(base + n)
	for k := range n {
		i := k
		if sel != nil {
			i = int(sel[k])
		}
		bit := src.Valid[i>>6] >> (uint(i) & 63) & 1
		w := &v.Valid[(base+k)>>6]
		*w = *w&^(1<<(uint(base+k)&63)) | bit<<(uint(base+k)&63)
	}
}

// AppendRows copies the live rows of src, at most limit of them when limit is not negative, to the end of b, whose columns have the
// same types. It returns the number of rows copied. b owns the copies.
func (b *Batch) AppendRows(src *Batch, limit int) int {
	n := src.Live()
	if limit >= 0 && n > limit {
		n = limit
	}
	for c := range src.Cols {
		b.Cols[c].AppendFrom(&src.Cols[c], src.Sel, n)
	}
	b.N += n
	return n
}

// Truncate takes v back to its first n values. Bytes of view kinds that were appended behind them are given back as well.
func (v *Vector) Truncate(n int) {
	switch {
	case v.Type.Kind.IsView():
		if n < len(v.Beg) {
			end := uint32(0)
			for _, e := range v.End[:n] {
				end = max(end, e)
			}
			v.Data = v.Data[:end]
		}
		v.Beg, v.End = v.Beg[:n], v.End[:n]
	case v.Type.Kind == Float64:
		v.Float = v.Float[:n]
	default:
		v.Int = v.Int[:n]
	}
}

// Truncate takes b, all of whose rows are live, back to its first n rows.
func (b *Batch) Truncate(n int) {
	for i := range b.Cols {
		b.Cols[i].Truncate(n)
	}
	b.N = n
}
