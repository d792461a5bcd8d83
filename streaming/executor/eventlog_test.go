package executor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"millrace/streaming/store"
)

// eventStore is a store of which only the log of a table is there.
type eventStore struct {
	store.Store
	err    error
	events []Event
}

// AppendEvent implements store.Store.
func (s *eventStore) AppendEvent(_ context.Context, _ store.TableID, data []byte) error {
	if s.err != nil {
		return s.err
	}
	e, err := DecodeEvent(data)
	s.events = append(s.events, e)
	return err
}

func (s *eventStore) texts() (list []string) {
	for _, e := range s.events {
		list = append(list, e.Text)
	}
	return list
}

func TestEventsThatTheStoreDidNotTakeAreWrittenLater(t *testing.T) {
	s := &eventStore{}
	table := &Table{log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	table.Store = s
	table.event("running", "a")
	s.err = errors.New("no room")
	before := time.Now()
	table.event("stalled", "b")
	table.event("stalled", "c")
	after := time.Now()
	s.err = nil
	table.event("running", "d")
	if got := s.texts(); !slices.Equal(got, []string{"a", "b", "c", "d"}) {
		t.Fatalf("%q", got)
	}
	stored := time.Now().Add(time.Hour)
	for i, e := range s.events {
		late := i == 1 || i == 2
		if at := e.When(stored); late != at.Before(stored) || late && (at.Before(before.Truncate(time.Microsecond)) || at.After(after)) {
			t.Errorf("%q was at %v", e.Text, at)
		}
	}

	s.events, s.err = nil, errors.New("no room")
	var want []string
	for i := range 2 * maxUnwritten {
		table.event("stalled", fmt.Sprint(i))
		if i < maxUnwritten-1 {
			want = append(want, fmt.Sprint(i))
		}
	}
	s.err = nil
	table.event("running", "on")
	if got := s.texts(); !slices.Equal(got, append(want, fmt.Sprint(2*maxUnwritten-1), "on")) {
		t.Errorf("%q", got)
	}

	s.events, s.err = nil, errors.New("no room")
	table.event("stalled", "of a server that has lost the table")
	table.unwritten.forget()
	s.err = store.ErrNoTable
	table.event("stalled", "of a table that was dropped")
	s.err = nil
	table.event("running", "on")
	if got := s.texts(); !slices.Equal(got, []string{"on"}) {
		t.Errorf("%q", got)
	}
}
