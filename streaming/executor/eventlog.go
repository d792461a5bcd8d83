package executor

import (
	"context"
	"errors"
	"sync"
	"time"

	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// A table's log lies where its rows do, so what is most worth telling, that the store takes nothing, is what it cannot be told. Such events wait in memory for the next one that the store takes, and
// are written before it, with the times at which they were.

// maxUnwritten is how many events wait at most. Beyond that the latest one takes the place of the one before it: how trouble began, and how it is now, says most.
const maxUnwritten = 64

// unwritten are events that the store did not take. Who reads a table and who shows its positions to a consumer group add events from their own goroutines.
type unwritten struct {
	mu     sync.Mutex
	events []Event
}

// forget drops what waits: another server has the table, and what this one wanted to say of it is not so any more.
func (u *unwritten) forget() {
	u.mu.Lock()
	u.events = nil
	u.mu.Unlock()
}

// event adds an entry to the table's log. A log that cannot be written stops nothing.
func (t *Table) event(kind, text string) { t.addEvent(Event{Kind: kind, Text: text}) }

func (t *Table) addEvent(e Event) {
	u := &t.unwritten
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	for len(u.events) > 0 && t.writeEvent(u.events[0]) {
		u.events = u.events[1:]
	}
	if len(u.events) == 0 && t.writeEvent(e) {
		return
	}
	e.At = now.UnixMicro()
	if len(u.events) == maxUnwritten {
		u.events = u.events[:maxUnwritten-1]
	}
	u.events = append(u.events, e)
}

// writeEvent gives an event to the store. It is false when the event should be written later.
func (t *Table) writeEvent(e Event) bool {
	b, err := EncodeEvent(e)
	if err != nil {
		t.log.Warn("writing the event log of a "+t.Noun, "table", t.name, "error", err)
		return true // it would fail again
	}
	switch err = t.Store.AppendEvent(context.Background(), t.ID, b); {
	case err == nil || errors.Is(err, store.ErrNoTable) || errors.Is(err, store.ErrClosed):
		return true
	case sqlerr.HasKind(err, sqlerr.StoreAway): // which is what there is to tell, and is told by the table's state
		t.log.Debug("writing the event log of a "+t.Noun, "table", t.name, "error", err)
	default:
		t.log.Warn("writing the event log of a "+t.Noun, "table", t.name, "error", err)
	}
	return false
}
