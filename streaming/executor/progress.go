package executor

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"millrace/streaming/store"
)

// Progress says what one batch did, in the terms of Spark's StreamingQueryProgress.
type Progress struct {
	Batch int64
	Time  time.Time
	// Records and Bytes were read, Rows written; Bad records gave no row.
	Records, Bytes, Rows, Bad int64
	// Expectations count the rows of the batch that met each expectation, and those that did not.
	Expectations []Tally
	// Dropped are the rows that expectations left out.
	Dropped  int64
	Duration Durations
	Moves    []store.Move
	// Ends are where the logs ended when the batch was planned, or later.
	Ends map[store.Partition]int64
}

// Durations are how long the parts of a batch took.
type Durations struct{ Read, Commit time.Duration }

// Lags gives the average, greatest and least distance of the partitions of a batch from the ends of their logs.
func (p *Progress) Lags() (average float64, most, least int64) {
	sum, n := int64(0), 0
	for _, m := range p.Moves {
		if m.To == nil {
			continue // the topic does not have the partition any more
		}
		lag := max(p.Ends[m.Partition]-m.To.Offset, 0)
		sum += lag
		most = max(most, lag)
		if n == 0 || lag < least {
			least = lag
		}
		n++
	}
	return float64(sum) / float64(max(n, 1)), most, least
}

func (t *Table) progress(st step) Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	bad := int64(0)
	if st.bad != nil {
		bad = int64(st.bad.N)
	}
	return Progress{
		Batch: t.record.Batch, Time: st.start, Records: st.records, Bytes: st.bytes, Rows: int64(st.rows.N), Bad: bad, Expectations: st.counts.tallies, Dropped: st.counts.dropped,
		Duration: Durations{Read: st.computed.Sub(st.start)}, Moves: st.moves, Ends: t.ends,
	}
}

// record is what a table keeps in the store beside its positions.
type record struct {
	// Started says that the positions of the start were fixed: a partition without one is new, and begins at its first record.
	Started bool `json:"started"`
	// Batch numbers batches for the life of the table.
	Batch int64 `json:"batch"`
	// Cluster is the id of the cluster that the positions are of, empty when it was never told.
	Cluster string `json:"cluster,omitempty"`
	// Rows and Bad count what all batches gave.
	Rows int64 `json:"rows"`
	Bad  int64 `json:"bad"`
	// Last is when the last commit was made, in milliseconds since 1970.
	Last int64 `json:"last,omitempty"`
	// Place is where the output of an exactly-once flow leaves numbers, Delivered the last one that is known to be there; Intent is what the next one stands
	// for, while it is not known.
	Place     string  `json:"place,omitempty"`
	Delivered int64   `json:"delivered,omitempty"`
	Intent    *intent `json:"intent,omitempty"`
	// Expectations count the rows of all batches for each expectation that the table has.
	Expectations []Tally `json:"expectations,omitempty"`
	// Loaded says that a table that reads in runs has read what there was when it was made; Served is how many refreshes are through, and Run its last run.
	Loaded bool      `json:"loaded,omitempty"`
	Served int64     `json:"served,omitempty"`
	Run    runRecord `json:"run,omitzero"`
}

// keep makes the counts of expectations those of the names in now: others are gone, new ones begin.
func (r *record) keep(now []Tally) {
	kept := make([]Tally, len(now))
	for i, x := range now {
		kept[i].Name = x.Name
		if k := slices.IndexFunc(r.Expectations, func(y Tally) bool { return y.Name == x.Name }); k >= 0 {
			kept[i] = r.Expectations[k]
		}
	}
	r.Expectations = kept
}

// add adds the counts of a batch.
func (r *record) add(tallies []Tally) {
	for _, x := range tallies {
		for i := range r.Expectations {
			if y := &r.Expectations[i]; y.Name == x.Name {
				y.Passed += x.Passed
				y.Failed += x.Failed
			}
		}
	}
}

func (r *record) decode(b []byte) error {
	*r = record{}
	if len(b) == 0 {
		return nil
	}
	if err := json.Unmarshal(b, r); err != nil {
		return fmt.Errorf("executor: the record of progress is damaged: %w", err)
	}
	return nil
}

// encode gives the record as of a batch.
func (r *record) encode(p *Progress) ([]byte, error) {
	r.Rows += p.Rows
	r.Bad += p.Bad
	r.add(p.Expectations)
	r.Last = time.Now().UnixMilli()
	return r.bytes()
}

func (r *record) bytes() ([]byte, error) { return json.Marshal(r) }

// StartRecord is the record of progress of a table whose positions of the start are committed with it.
func StartRecord() []byte {
	b, err := json.Marshal(record{Started: true})
	if err != nil {
		panic(err) // it has three numbers
	}
	return b
}

// Event is an entry of a table's log.
type Event struct {
	// Kind is a state, data_loss, or what a statement did.
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"`
	// Details, where there are any, are those of the event log of Databricks.
	Details json.RawMessage `json:"details,omitempty"`
	// At is when it was, in microseconds since 1970, of an event that the store did not take at once; else 0.
	At int64 `json:"at,omitempty"`
}

// Message is the event in words, of something that is called noun: states that have no reason have no text, and that of a refresh is its number, which other servers read.
func (e Event) Message(noun string) string {
	switch {
	case e.Kind == refreshedEvent:
		return "the topics were looked at for refresh " + e.Text
	case e.Text != "":
		return e.Text
	}
	switch State(e.Kind) {
	case Starting:
		return "the " + noun + " starts to read"
	case Running:
		return "the " + noun + " has read what its topics held when it started, and is running"
	case Paused:
		return "the " + noun + " is paused"
	}
	return ""
}

// When is the time of an event that the store has since then.
func (e Event) When(stored time.Time) time.Time {
	if e.At == 0 {
		return stored
	}
	return time.UnixMicro(e.At)
}

// EncodeEvent gives the bytes that DecodeEvent reads.
func EncodeEvent(e Event) ([]byte, error) { return json.Marshal(e) }

// DecodeEvent reads an event of the store.
func DecodeEvent(b []byte) (Event, error) {
	var e Event
	err := json.Unmarshal(b, &e)
	return e, err
}
