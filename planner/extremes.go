package planner

import (
	"slices"

	"millrace/internal/ops"
	"millrace/internal/scan"
)

// batchFields are the same for all records of a batch.
var batchFields = []scan.Field{scan.Topic, scan.Partition, scan.TimestampType}

// headerExtreme is true for MIN(offset), MAX(offset) and MAX(timestamp): what a batch's header tells. The header does not hold the least timestamp.
func headerExtreme(f ops.Func, x kernel) bool {
	if !x.plain {
		return false
	}
	switch x.field {
	case scan.Offset:
		return f == ops.Min || f == ops.Max
	case scan.Timestamp:
		return f == ops.Max
	default:
		return false
	}
}

// extremesOnly reports whether s asks of the offsets and timestamps of the records of a batch for nothing but those extremes: then a source may
// answer from headers.
func (s *Scan) extremesOnly() bool {
	if !s.aggregated() || !slices.ContainsFunc(s.aggregates, func(a aggregate) bool { return a.header }) {
		return false
	}
	in := new(inputs)
	build := func(k kernel) bool {
		_, err := k.build(in)
		return err == nil && !k.fails
	}
	for _, k := range slices.Concat(s.filters, s.keys) {
		if !build(k) {
			return false
		}
	}
	for _, a := range s.aggregates {
		if a.header {
			continue
		}
		if _, err := a.build(in); err != nil || a.fails {
			return false
		}
	}
	return !slices.ContainsFunc(in.fields, func(f scan.Field) bool { return !slices.Contains(batchFields, f) })
}
