package ops

import (
	"sync/atomic"

	"millrace/internal/decode"
)

// DecodeFaults is what a run has met of bad data.
type DecodeFaults struct {
	// Records could not be decoded at all; Fields are single values of the others that are not of their column's type, as far as they were asked for. Dropped
	// records have one or the other and were left out.
	Records, Fields, Dropped int64
	// Reasons counts both by their class.
	Reasons map[decode.Reason]int64
}

// Any reports whether there is something to tell.
func (f DecodeFaults) Any() bool { return f.Records+f.Fields+f.Dropped > 0 }

// faults counts for all lanes of a run.
type faults struct {
	records, fields, dropped atomic.Int64
	reasons                  [16]atomic.Int64
	// zeros are the divisions by zero.
	zeros atomic.Int64
}

func (f *faults) record(r decode.Reason) { f.records.Add(1); f.reasons[r&15].Add(1) }
func (f *faults) field(r decode.Reason)  { f.fields.Add(1); f.reasons[r&15].Add(1) }

// ZeroDivisions is how many divisions by zero gave a NULL so far.
func (r *Rows) ZeroDivisions() int64 { return r.faults.zeros.Load() }

// Faults is the bad data met so far.
func (r *Rows) Faults() DecodeFaults {
	f := DecodeFaults{Records: r.faults.records.Load(), Fields: r.faults.fields.Load(), Dropped: r.faults.dropped.Load(), Reasons: map[decode.Reason]int64{}}
	for reason := range r.faults.reasons {
		if n := r.faults.reasons[reason].Load(); n > 0 {
			f.Reasons[decode.Reason(reason)] = n
		}
	}
	return f
}
