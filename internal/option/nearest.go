package option

import "strings"

// Nearest returns the candidate that a misspelled name most likely means, or "" when none is near. Case, underscores, dots and dashes do
// not count, so that startingoffset, starting_offset and startingOffsets are near each other.
func Nearest(name string, candidates []string) string {
	plain := fold(name)
	if plain == "" {
		return ""
	}
	best, distance := "", len(plain)/4+2
	for _, c := range candidates {
		f := fold(c)
		// Lengths that differ by more than the best distance cannot be nearer; this also bounds the work on hostile input.
		if d := len(f) - len(plain); d >= distance || -d >= distance {
			continue
		}
		if d := editDistance(plain, f); d < distance && d*2 < len(plain) {
			best, distance = c, d
		}
	}
	return best
}

func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '.', '-', ' ':
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// editDistance counts insertions, deletions, substitutions and swaps of neighbours, over bytes.
func editDistance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
