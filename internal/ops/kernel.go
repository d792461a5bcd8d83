package ops

import (
	"bytes"
	"strconv"
	"unsafe"

	"millrace/internal/column"
)

// chooseRange gives the rows of sel whose x, as an unsigned distance from lo, is at most width (want) or is not. Adding one
// number and comparing once covers =, <>, <, <=, >, >= and BETWEEN, for signed and unsigned columns alike. NULL rows are treated
// as whatever number lies there.
//
// Each row is written and kept or overwritten by the next, which takes no branch: the time does not depend on the data.
func chooseRange(x []int64, n int, sel []int32, lo, width uint64, want bool, dst []int32) []int32 {
	k := 0
	if sel == nil {
		dst = dst[:n]
		if want {
			for i, v := range x[:n] {
				dst[k] = int32(i)
				k += bit(uint64(v)-lo <= width)
			}
		} else {
			for i, v := range x[:n] {
				dst[k] = int32(i)
				k += bit(uint64(v)-lo > width)
			}
		}
		return dst[:k]
	}
	dst = dst[:len(sel)]
	flip := bit(!want)
	for _, i := range sel {
		dst[k] = i
		k += bit(uint64(x[i])-lo <= width) ^ flip
	}
	return dst[:k]
}

// bit is compiled to a conditional set, not a jump.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// accepts is a set of outcomes of a three-way comparison: bit 0 less, bit 1 equal, bit 2 greater.
type accepts uint8

const (
	less accepts = 1 << iota
	equal
	greater
)

// has gives 1 when the outcome c (-1, 0, 1) is in the set.
func (a accepts) has(c int) int { return int(a>>uint(c+1)) & 1 }

// The kernels below take selections without NULL rows. sel and dst may be the same memory.

func chooseInts(a, b []int64, sel []int32, in accepts, dst []int32) []int32 {
	k := 0
	dst = dst[:len(sel)]
	for _, i := range sel {
		dst[k] = i
		k += in.has(bit(a[i] > b[i]) - bit(a[i] < b[i]))
	}
	return dst[:k]
}

func chooseUints(a, b []int64, sel []int32, in accepts, dst []int32) []int32 {
	k := 0
	dst = dst[:len(sel)]
	for _, i := range sel {
		x, y := uint64(a[i]), uint64(b[i])
		dst[k] = i
		k += in.has(bit(x > y) - bit(x < y))
	}
	return dst[:k]
}

// chooseIntsUints compares signed a with unsigned b: a negative number is below every unsigned one.
func chooseIntsUints(a, b []int64, sel []int32, in accepts, dst []int32) []int32 {
	k := 0
	dst = dst[:len(sel)]
	for _, i := range sel {
		x, y := uint64(a[i]), uint64(b[i])
		c := bit(x > y) - bit(x < y)
		if a[i] < 0 {
			c = -1
		}
		dst[k] = i
		k += in.has(c)
	}
	return dst[:k]
}

// compareFloats is a total order: NaN equals itself and is above every number, -0 equals 0.
func compareFloats(a, b float64) int {
	if a != a || b != b {
		return bit(a != a) - bit(b != b)
	}
	return bit(a > b) - bit(a < b)
}

func chooseFloats(a, b []float64, sel []int32, in accepts, dst []int32) []int32 {
	k := 0
	dst = dst[:len(sel)]
	for _, i := range sel {
		dst[k] = i
		k += in.has(compareFloats(a[i], b[i]))
	}
	return dst[:k]
}

func chooseFloatsConst(a []float64, c float64, sel []int32, in accepts, dst []int32) []int32 {
	k := 0
	dst = dst[:len(sel)]
	for _, i := range sel {
		dst[k] = i
		k += in.has(compareFloats(a[i], c))
	}
	return dst[:k]
}

func chooseBytes(a, b *column.Vector, sel []int32, in accepts, dst []int32) []int32 {
	k := 0
	dst = dst[:len(sel)]
	for _, i := range sel {
		dst[k] = i
		k += in.has(bytes.Compare(a.Data[a.Beg[i]:a.End[i]], b.Data[b.Beg[i]:b.End[i]]))
	}
	return dst[:k]
}

func chooseBytesConst(a *column.Vector, c []byte, sel []int32, in accepts, dst []int32) []int32 {
	k := 0
	dst = dst[:len(sel)]
	if in == equal || in == less|greater {
		// Most strings differ in length already, so equality need not touch their bytes.
		flip := bit(in != equal)
		for _, i := range sel {
			beg, end := a.Beg[i], a.End[i]
			dst[k] = i
			k += bit(int(end-beg) == len(c) && string(a.Data[beg:end]) == string(c)) ^ flip
		}
		return dst[:k]
	}
	for _, i := range sel {
		dst[k] = i
		k += in.has(bytes.Compare(a.Data[a.Beg[i]:a.End[i]], c))
	}
	return dst[:k]
}

func chooseDecimals(a, b *column.Vector, sel []int32, in accepts, dst []int32) []int32 {
	k := 0
	dst = dst[:len(sel)]
	for _, i := range sel {
		dst[k] = i
		k += in.has(compareDecimals(a.Data[a.Beg[i]:a.End[i]], b.Data[b.Beg[i]:b.End[i]]))
	}
	return dst[:k]
}

// compareDecimals compares decimal texts (-? digits . digits) by value without parsing: trailing zeros of a fraction and leading
// zeros do not count.
func compareDecimals(a, b []byte) int {
	an, ai, af := decimalParts(a)
	bn, bi, bf := decimalParts(b)
	switch {
	case an && !bn:
		return -1
	case bn && !an:
		return 1
	}
	c := bit(len(ai) > len(bi)) - bit(len(ai) < len(bi))
	if c == 0 {
		if c = bytes.Compare(ai, bi); c == 0 {
			c = bytes.Compare(af, bf)
		}
	}
	if an {
		return -c
	}
	return c
}

// decimalParts splits a decimal text into its sign and its digits before and after the point, without zeros that mean nothing. Zero is
// never negative.
func decimalParts(d []byte) (negative bool, whole, fraction []byte) {
	if len(d) > 0 && d[0] == '-' {
		negative, d = true, d[1:]
	}
	whole = d
	if p := bytes.IndexByte(d, '.'); p >= 0 {
		whole, fraction = d[:p], bytes.TrimRight(d[p+1:], "0")
	}
	whole = bytes.TrimLeft(whole, "0")
	return negative && len(whole)+len(fraction) > 0, whole, fraction
}

// parseFloat reads a decimal text as a double.
func parseFloat(d []byte) float64 {
	// The text is canonical, so the only possible error is a range error, for which ParseFloat gives the infinity that is meant.
	f, _ := strconv.ParseFloat(unsafe.String(unsafe.SliceData(d), len(d)), 64)
	return f
}
