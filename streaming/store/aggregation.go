package store

import (
	"millrace/internal/column"
	"millrace/internal/scan"
)

// Aggregation describes groups of rows and what is wanted of each. A Source that is Aggregated delivers batches with a column for each of Groups, of that column's
// type, and then one for each of Partials. A group may be in any number of them, as each row of a batch is about some of its rows, and each row of the table is
// counted in exactly one: the caller merges them. Without Groups there is one group, of which there may be results over no rows.
type Aggregation struct {
	// Groups are columns, as indexes into Schema.Columns. Values are told apart as Compare does.
	Groups   []int
	Partials []Partial
}

// Partial is a function over the rows of a group.
type Partial struct {
	Func PartialFunc
	// Column is an index into Schema.Columns; CountRows has none.
	Column int
	// Type is that of the results: Int64 of a count, for SumValues a Decimal with the scale of the column, else that of the column.
	Type column.Type
}

// PartialFunc is what a store may compute. NULLs are left out by all but CountRows; over no values the result is NULL, that of a count 0.
type PartialFunc uint8

const (
	// CountRows counts all rows.
	CountRows PartialFunc = iota
	// CountValues counts those where the column is not NULL.
	CountValues
	// SumValues is the exact sum of integers and decimals, with as many digits as it takes. Sums of doubles depend on their order, so there are none.
	SumValues
	// MinValue and MaxValue are the least and the greatest value by Compare. There are none of doubles, of which 0 and −0 are equal and not the same.
	MinValue
	MaxValue
)

// Aggregated reports whether the batches of src are the partial results that ScanSpec.Aggregation asks for.
func Aggregated(src scan.Source) bool {
	a, ok := src.(interface{ Aggregated() bool })
	return ok && a.Aggregated()
}
