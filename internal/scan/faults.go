package scan

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Faults counts the bad data among the records of one scan, by the format that they are read in. Who computes on the records counts; who opened the source may
// look at any time. A nil *Faults counts for nobody.
type Faults struct {
	mu       sync.Mutex
	byFormat map[string]*FormatFaults
}

// FormatFaults are those of one format.
type FormatFaults struct {
	// Records could not be decoded at all, Fields are single values of others that do not fit their columns, as far as they were asked for. Dropped records have
	// one or the other and were left out.
	Records, Fields, Dropped atomic.Int64
}

// Of gives the counters of a format.
func (f *Faults) Of(format string) *FormatFaults {
	if f == nil {
		return new(FormatFaults)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.byFormat[format]
	if c == nil {
		if f.byFormat == nil {
			f.byFormat = map[string]*FormatFaults{}
		}
		c = new(FormatFaults)
		f.byFormat[format] = c
	}
	return c
}

// Formats lists the formats that records were read in, in order.
func (f *Faults) Formats() []string {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.byFormat))
}
