package streaming

import (
	"strings"
	"testing"
	"time"

	"millrace/internal/catalog"
	"millrace/internal/column"
	"millrace/streaming/executor"
	"millrace/streaming/store"
	"millrace/streaming/store/pebblestore"
)

// setClock shows what it was set to.
type setClock struct{ now time.Time }

func (c *setClock) Now() time.Time { return c.now }

func (c *setClock) After(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

// A row stays as long as it is not older than the retention, to the microsecond or, by a DATE, to the day; the clock may jump, and tables that nobody reads are looked after, too.
func TestRowsExpireByTheClock(t *testing.T) {
	s, err := pebblestore.OpenMemory(pebblestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	start := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	clock := &setClock{now: start}
	m := New(Options{Catalog: catalog.OpenMemory(), Store: s, Clock: clock})
	fields := []column.Field{{Name: "n", Type: column.Type{Kind: column.Int64}}, {Name: "ts", Type: column.Type{Kind: column.Timestamp, Scale: 6}, Nullable: true}, {Name: "day", Type: column.Type{Kind: column.Date}, Nullable: true}}
	define := func(name string, properties map[string]string) {
		t.Helper()
		err := m.Catalog.Update(func(st *catalog.State) error {
			if st.Databases["main"].Name == "" {
				st.Databases["main"] = catalog.Database{Name: "main"}
			}
			st.PutTable("main", catalog.Table{Name: name, ID: name, Streaming: &catalog.Streaming{Paused: true, Properties: properties}})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"byts", "byday"} {
		spec := store.TableSpec{ID: store.TableID(name)}
		for _, f := range fields {
			spec.Columns = append(spec.Columns, store.Column{Field: f})
		}
		if err := s.CreateTable(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		var b column.Batch
		b.Reset(fields)
		for i := range 48 { // one an hour, before the start and behind it
			at := start.Add(time.Duration(i-24) * time.Hour)
			b.Cols[0].AppendInt(int64(i))
			b.Cols[1].AppendInt(at.UnixMicro())
			b.Cols[2].AppendInt(at.Unix() / 86400)
			b.N++
		}
		b.Cols[0].AppendInt(99)
		b.Cols[1].AppendNull()
		b.Cols[2].AppendNull()
		b.N++
		if _, err := s.Commit(t.Context(), &store.Commit{Table: spec.ID, Writes: []store.Write{{Table: spec.ID, SchemaVersion: 1, Rows: &b}}}); err != nil {
			t.Fatal(err)
		}
	}
	define("byts", map[string]string{"retention": "10 hours", "retention.column": "ts"})
	define("byday", map[string]string{"retention": "P1D", "retention.column": "DAY"})
	count := func(name string) int64 {
		t.Helper()
		snap, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer snap.Close()
		stats, err := snap.Stats(store.TableID(name))
		if err != nil {
			t.Fatal(err)
		}
		return stats.Rows
	}
	for _, step := range []struct {
		name        string
		after       time.Duration
		byTS, byDay int64
	}{
		{"at the start", 0, 49 - 14, 49},
		{"too soon to look again", time.Second, 49 - 14, 49},
		{"an hour later, and a microsecond", time.Hour + time.Microsecond, 49 - 16, 49},
		{"a clock that went back", -time.Hour, 49 - 16, 49},
		{"when the day is over", 12 * time.Hour, 49 - 26, 49 - 12},
		{"long after, only what has no time", 1000 * time.Hour, 1, 1},
	} {
		clock.now = start.Add(step.after)
		m.retainer.sweep(t.Context())
		if ts, day := count("byts"), count("byday"); ts != step.byTS || day != step.byDay {
			t.Errorf("%s: %d rows by ts, %d by day, want %d and %d", step.name, ts, day, step.byTS, step.byDay)
		}
	}
	if e := m.Expired("byts"); e.Rows != 48 || e.Err != nil || !e.Last.Equal(start.Add(1000*time.Hour)) {
		t.Errorf("what is told: %+v", e)
	}
	events, err := s.Events(t.Context(), "byts", 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, e := range events {
		entry, err := executor.DecodeEvent(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, entry.Kind+" "+entry.Text)
	}
	if got := strings.Join(told, "\n"); len(told) != 4 || !strings.HasPrefix(got, "rows_expired 14 rows were removed: 'retention' is 10h0m0s, and they are older than 2026-03-10 02:00:00.000") {
		t.Errorf("the event log has\n%s", got)
	}
}
