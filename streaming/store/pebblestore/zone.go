package pebblestore

import (
	"math"
	"slices"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// zone bounds the numbers in a window of a segment. Look-ups and narrow ranges then hand on a few thousand rows and not a whole segment.
type zone struct{ min, max int64 }

// narrowing is a condition on a column that is delivered: windows that cannot meet it are left out.
type narrowing struct {
	column int // of the source
	where  store.Condition
}

// narrowings are the conditions that zones can decide.
func narrowings(columns []store.Column, schema *store.Schema, where []store.Condition) (list []narrowing) {
	for _, c := range where {
		of := &schema.Columns[c.Column]
		if k := of.Type.Kind; !k.IsInt() || k == column.Uint64 {
			continue
		}
		if i := slices.IndexFunc(columns, func(x store.Column) bool { return x.ID == of.ID }); i >= 0 {
			list = append(list, narrowing{i, c})
		}
	}
	return list
}

// zonesOf bounds each window of a decoded column of numbers; doubles by scan.FloatOrder. A NULL counts as what it is decoded to, its neighbour mostly.
func zonesOf(v *column.Vector) []zone {
	if v.Type.Kind != column.Float64 {
		return zonesBy(v.Int, func(x int64) int64 { return x })
	}
	return zonesBy(v.Float, scan.FloatOrder)
}

func zonesBy[T int64 | float64](values []T, number func(T) int64) []zone {
	zones := make([]zone, 0, (len(values)+windowRows-1)/windowRows)
	for part := range slices.Chunk(values, windowRows) {
		z := zone{math.MaxInt64, math.MinInt64}
		for _, x := range part {
			n := number(x)
			z.min, z.max = min(z.min, n), max(z.max, n)
		}
		zones = append(zones, z)
	}
	return zones
}

// mayMeet reports whether rows of a window may meet the condition.
func (n *narrowing) mayMeet(v *column.Vector, z zone) bool {
	stats := store.ColumnStats{Min: store.Int(z.min), Max: store.Int(z.max), Bounded: true}
	rows := int64(1)
	if v.Valid != nil { // there may be a NULL, and another value
		stats.Nulls, rows = 1, 2
	}
	return n.where.May(v.Type.Kind, &stats, rows)
}
