package column

// Dictionary has the distinct values of a vector with Codes, as views into its Data. Who meets one again, by its pointer, meets the same values.
type Dictionary struct {
	Beg, End []uint32
}

// Len is the number of values; codes are below it.
func (d *Dictionary) Len() int { return len(d.Beg) }

// Views gives the values of codes their views, in beg and end, which are as long.
func (d *Dictionary) Views(codes []uint16, beg, end []uint32) {
	beg, end = beg[:len(codes)], end[:len(codes)]
	from, to := d.Beg, d.End[:len(d.Beg)]
	for i, c := range codes {
		beg[i], end[i] = from[c], to[c]
	}
}

// Decoded is View for a vector with Codes, also one without views.
func (v *Vector) Decoded(i int) []byte {
	c := v.Codes[i]
	return v.Data[v.Dict.Beg[c]:v.Dict.End[c]:v.Dict.End[c]]
}

// MaxCodes is the most values that a Dictionary has.
const MaxCodes = 1 << 16

// Coded reports whether the values of v are found by their codes alone: it has no views.
func (v *Vector) Coded() bool { return v.Dict != nil && len(v.Beg) < len(v.Codes) }

// Expand gives a vector that is Coded its views, in memory that it has or takes.
func (v *Vector) Expand() {
	if !v.Coded() {
		return
	}
	n := len(v.Codes)
	if cap(v.Beg) < n || cap(v.End) < n {
		v.Beg, v.End = make([]uint32, n), make([]uint32, n)
	}
	v.Beg, v.End = v.Beg[:n], v.End[:n]
	v.Dict.Views(v.Codes, v.Beg, v.End)
}
