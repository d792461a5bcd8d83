package ops

import (
	"math/bits"

	"millrace/internal/column"
)

// room gives s a length of n, its contents undefined, allocating only when it must grow.
func room[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, max(n, 2*cap(s)))
	}
	return s[:n]
}

// chooseValid gives the rows of sel that are valid (want) or NULL (!want) in v. dst may be the memory of sel.
func chooseValid(v *column.Vector, n int, sel []int32, want bool, dst []int32) []int32 {
	if v.Valid == nil {
		switch {
		case !want:
			return dst[:0]
		case sel == nil:
			return fillIdentity(dst[:n])
		default:
			return dst[:copy(dst[:len(sel)], sel)]
		}
	}
	var flip uint64
	if !want {
		flip = ^uint64(0)
	}
	k := 0
	if sel != nil {
		dst = dst[:len(sel)]
		for _, i := range sel {
			dst[k] = i
			k += int((v.Valid[i>>6] ^ flip) >> (uint(i) & 63) & 1)
		}
		return dst[:k]
	}
	dst = dst[:n]
	for w := 0; w*64 < n; w++ {
		word := v.Valid[w] ^ flip
		if left := n - w*64; left < 64 {
			word &= 1<<left - 1
		}
		for ; word != 0; word &= word - 1 {
			dst[k] = int32(w*64 + bits.TrailingZeros64(word))
			k++
		}
	}
	return dst[:k]
}

func fillIdentity(dst []int32) []int32 {
	for i := range dst {
		dst[i] = int32(i)
	}
	return dst
}

// union merges two ascending selections without common rows. dst must not overlap them.
func union(a, b, dst []int32) []int32 {
	dst = dst[:len(a)+len(b)]
	k := 0
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			dst[k], a = a[0], a[1:]
		} else {
			dst[k], b = b[0], b[1:]
		}
		k++
	}
	k += copy(dst[k:], a)
	k += copy(dst[k:], b)
	return dst[:k]
}

// minus gives the rows of sel (all n when nil) that are not in less, a subset of it. dst may be the memory of sel.
func minus(n int, sel, less, dst []int32) []int32 {
	k := 0
	if sel == nil {
		dst = dst[:n]
		for i := range int32(n) {
			if len(less) > 0 && less[0] == i {
				less = less[1:]
				continue
			}
			dst[k] = i
			k++
		}
		return dst[:k]
	}
	dst = dst[:len(sel)]
	for _, i := range sel {
		if len(less) > 0 && less[0] == i {
			less = less[1:]
			continue
		}
		dst[k] = i
		k++
	}
	return dst[:k]
}

// both gives dst the rows that are valid in a and in b, out of n.
func both(dst []uint64, a, b *column.Vector, n int) []uint64 {
	words := (n + 63) / 64
	switch {
	case a.Valid == nil && b.Valid == nil:
		return nil
	case b.Valid == nil:
		return append(dst[:0], a.Valid[:words]...)
	case a.Valid == nil:
		return append(dst[:0], b.Valid[:words]...)
	}
	dst = room(dst, words)
	for w := range dst {
		dst[w] = a.Valid[w] & b.Valid[w]
	}
	return dst
}
