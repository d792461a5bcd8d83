package executor

import (
	"fmt"
	"time"
)

// EventBad is the kind of the events on bad records.
const EventBad = "bad_records"

// badEvery is the least time between two such events: a topic of nothing but bad records must not push everything else out of the log, which keeps a bounded number.
const badEvery = time.Minute

// badLog gathers bad records until the event log is told of them: the first ones at once, then what a minute brings in one event.
type badLog struct {
	n    int64
	last string
	told time.Time
}

func (b *badLog) add(st step) {
	if st.bad == nil || st.bad.N == 0 {
		return
	}
	b.n += int64(st.bad.N)
	i, cols := st.bad.N-1, st.bad.Cols
	text := []rune(string(cols[atError].View(i)))
	if len(text) > 200 {
		text = append(text[:199], '…')
	}
	// The first columns of ErrorColumns are topic, partition and offset.
	b.last = fmt.Sprintf("offset %d of partition %d of topic '%s': %s", cols[2].Int[i], cols[1].Int[i], cols[0].View(i), string(text))
}

// tellBad adds an event for the bad records since the last one, when it is time to.
func (t *Table) tellBad(now bool) {
	b := &t.badLog
	if b.n == 0 || !now && time.Since(b.told) < badEvery {
		return
	}
	records := "1 record was bad"
	if b.n > 1 {
		records = fmt.Sprintf("%d records were bad", b.n)
	}
	t.addEvent(Event{Kind: EventBad, Text: records + ", the last at " + b.last})
	*b = badLog{told: time.Now()}
}
