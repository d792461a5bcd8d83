package store

import "millrace/internal/column"

// Condition is a set of values that a column's value must be in for the row to be wanted.
type Condition struct {
	// Column is an index into Schema.Columns.
	Column int
	// Null says that NULL is in the set.
	Null bool
	// Ranges are the other values of the set: those in any of them.
	Ranges []Range
}

// Range is the values from Min to Max. A bound that is NULL is none; one that is open is not in the range itself. Values compare as Compare
// does, so texts compare byte by byte: a comparison under a collation that folds or sorts in another way is no Range.
type Range struct {
	Min, Max         Value
	MinOpen, MaxOpen bool
}

// Point is the range of one value.
func Point(v Value) Range { return Range{Min: v, Max: v} }

// Single reports whether r holds exactly one value: its Min.
func (r Range) Single(k column.Kind) bool {
	return !r.Min.IsNull() && !r.Max.IsNull() && !r.MinOpen && !r.MaxOpen && Compare(k, r.Min, r.Max) == 0
}

// Contains reports whether v, not NULL, is in r.
func (r Range) Contains(k column.Kind, v Value) bool {
	if !r.Min.IsNull() {
		if c := Compare(k, v, r.Min); c < 0 || c == 0 && r.MinOpen {
			return false
		}
	}
	if !r.Max.IsNull() {
		if c := Compare(k, v, r.Max); c > 0 || c == 0 && r.MaxOpen {
			return false
		}
	}
	return true
}

// overlaps reports whether some value from lo to hi may be in r.
func (r Range) overlaps(k column.Kind, lo, hi Value) bool {
	if !r.Min.IsNull() {
		if c := Compare(k, hi, r.Min); c < 0 || c == 0 && r.MinOpen {
			return false
		}
	}
	if !r.Max.IsNull() {
		if c := Compare(k, lo, r.Max); c > 0 || c == 0 && r.MaxOpen {
			return false
		}
	}
	return true
}

// Holds reports whether v is in the set. A NaN is in every set that has a range: what a query thinks of NaN is not the store's to say.
func (c *Condition) Holds(k column.Kind, v Value) bool {
	if v.IsNull() {
		return c.Null
	}
	if k == column.Float64 && v.Float64() != v.Float64() {
		return len(c.Ranges) > 0
	}
	for _, r := range c.Ranges {
		if r.Contains(k, v) {
			return true
		}
	}
	return false
}

// May reports whether some of rows values with these statistics may be in the set.
func (c *Condition) May(k column.Kind, s *ColumnStats, rows int64) bool {
	switch {
	case c.Null && s.Nulls > 0:
		return true
	case s.Nulls >= rows || len(c.Ranges) == 0:
		return false
	case s.NaN:
		return true
	case !s.Bounded:
		return true
	}
	for _, r := range c.Ranges {
		if r.overlaps(k, s.Min, s.Max) {
			return true
		}
	}
	return false
}
