package executor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
	"millrace/streaming/store"
	"millrace/streaming/store/pebblestore"
)

// exactOutput is an exact output that keeps rows and the number that came with them, and fails where it is told to.
type exactOutput struct {
	rows []int64
	last *Delivery
	// before and after fail a delivery before it has happened, and after.
	before, after error
}

func (m *exactOutput) Exact() bool                { return true }
func (m *exactOutput) Place(*column.Batch) string { return "place" }
func (m *exactOutput) Close()                     {}

func (m *exactOutput) Deliver(_ context.Context, rows *column.Batch, d Delivery) error {
	if m.before != nil {
		return m.before
	}
	m.rows = append(m.rows, rows.Cols[0].Int[:rows.N]...)
	m.last = &d
	return m.after
}

func (m *exactOutput) Delivered(context.Context, string) (*Delivery, error) { return m.last, nil }

// flowTable is a table with an output that has begun to work, at offset 0 of a partition.
func flowTable(t *testing.T, s store.Store, out Output) *Table {
	t.Helper()
	x := New(Config{Name: "f", ID: "f", ErrorsID: "f$errors", Store: s, Owner: "test"})
	x.output = out
	if err := x.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.release)
	return x
}

var flowPart = store.Partition{Topic: "t"}

// write commits rows whose records lie below an offset.
func (t *Table) write(ctx context.Context, to int64, rows ...int64) error {
	t.rows.Reset([]column.Field{{Name: "n", Type: column.Type{Kind: column.Int64}}})
	for _, n := range rows {
		t.rows.Cols[0].AppendInt(n)
	}
	t.rows.N = len(rows)
	m := store.Move{Partition: flowPart, To: &store.Position{Offset: to, LeaderEpoch: -1}}
	if had, ok := t.position()[flowPart]; ok {
		m.From = &had
	}
	return t.commit(ctx, step{moves: []store.Move{m}, rows: &t.rows, start: time.Now(), computed: time.Now()})
}

func flowStore(t *testing.T) store.Store {
	t.Helper()
	s, err := pebblestore.OpenMemory(pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	spec := store.TableSpec{ID: "f", Columns: []store.Column{{Field: column.Field{Name: "n", Type: column.Type{Kind: column.Int64}, Nullable: true}}}}
	bad := store.TableSpec{ID: "f$errors", Owner: "f"}
	for _, f := range ErrorColumns() {
		bad.Columns = append(bad.Columns, store.Column{Field: f})
	}
	if err := s.CreateTable(t.Context(), spec, bad); err != nil {
		t.Fatal(err)
	}
	return s
}

// What a delivery that ended with an error has done is known from the number that it left, whoever goes on.
func TestADeliveryOfUnknownOutcomeIsSettledByItsNumber(t *testing.T) {
	lost := errors.New("no answer")
	for name, test := range map[string]struct {
		before, after error
		offset        int64 // where the next owner goes on
		rows          int   // that are there
	}{
		"not delivered":               {before: lost, offset: 10, rows: 2},
		"delivered, and nobody knows": {after: lost, offset: 20, rows: 4},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := flowStore(t), &exactOutput{}
			x := flowTable(t, s, out)
			if err := x.write(t.Context(), 10, 1, 2); err != nil {
				t.Fatal(err)
			}
			out.before, out.after = test.before, test.after
			if err := x.write(t.Context(), 20, 3, 4); !errors.Is(err, lost) {
				t.Fatalf("got %v", err)
			}
			x.release()
			out.before, out.after = nil, nil
			next := flowTable(t, s, out)
			if err := next.settleDelivery(t.Context()); err != nil {
				t.Fatal(err)
			}
			if at := next.position()[flowPart].Offset; at != test.offset || len(out.rows) != test.rows {
				t.Errorf("goes on at %d with %d rows there, want %d and %d", at, len(out.rows), test.offset, test.rows)
			}
			if err := next.write(t.Context(), 30, 5); err != nil {
				t.Fatal(err)
			}
			if err := next.settleDelivery(t.Context()); err != nil || next.position()[flowPart].Offset != 30 {
				t.Errorf("%v, %v", next.position(), err)
			}
		})
	}
}

// Brokers drop a group that nobody uses: whether a delivery has happened is not known then, and the flow must not guess.
func TestADeliveryWhoseNumberIsGoneFailsTheFlow(t *testing.T) {
	s, out := flowStore(t), &exactOutput{}
	x := flowTable(t, s, out)
	if err := x.write(t.Context(), 10, 1); err != nil {
		t.Fatal(err)
	}
	out.after = errors.New("no answer")
	if err := x.write(t.Context(), 20, 2); err == nil {
		t.Fatal("no error")
	}
	x.release()
	out.last = nil
	next := flowTable(t, s, out)
	if err := next.settleDelivery(t.Context()); !sqlerr.HasKind(err, sqlerr.TableState) || mayPass(err) {
		t.Errorf("got %v", err)
	}
}

// A flow that went on from a backup wrote again what had been written since, silently; and two copies of it took each other's batches for their own.
func TestAFlowThatIsBehindWhatWasDeliveredFails(t *testing.T) {
	lost := errors.New("no answer")
	for name, left := range map[string]Delivery{
		"a batch that it does not know of":       {Number: 2, Token: "other"},
		"the batch that it intended, of a copy":  {Number: 2, Token: "other"},
		"a batch after the one that it intended": {Number: 3, Token: "other"},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := flowStore(t), &exactOutput{}
			x := flowTable(t, s, out)
			if err := x.write(t.Context(), 10, 1); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(name, "intended") {
				out.before = lost
				if err := x.write(t.Context(), 20, 2); !errors.Is(err, lost) {
					t.Fatalf("got %v", err)
				}
			}
			x.release()
			out.last = &left
			next := flowTable(t, s, out)
			if err := next.settleDelivery(t.Context()); !sqlerr.HasKind(err, sqlerr.TableState) || mayPass(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A batch that is being delivered when the table is told to stop gets a moment to end.
func TestADeliveryHasGrace(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	late, cancel := graceful(ctx, 20*time.Millisecond)
	defer cancel()
	stop()
	if late.Err() != nil {
		t.Error("it ended at once")
	}
	<-late.Done()
	if !errors.Is(context.Cause(late), context.Canceled) {
		t.Errorf("ended by %v", context.Cause(late))
	}
}
