package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/internal/testkit"
	"millrace/streaming/store"
)

// openStore opens a store that the test closes.
func openStore(t testing.TB, name string, o Options) *Store {
	t.Helper()
	s, err := openNamed(name, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var numberColumns = []store.Column{{Field: column.Field{Name: "id", Type: column.Type{Kind: column.Int64}, Nullable: true}}}

// numbered has rows from one on.
func numbered(from, n int) *column.Batch {
	b := &column.Batch{N: n, Cols: []column.Vector{{Type: column.Type{Kind: column.Int64}}}}
	for i := range n {
		b.Cols[0].AppendInt(int64(from + i))
	}
	return b
}

func commitNumbers(s store.Store, l store.Lease, version int64, from, n int) (int64, error) {
	c := &store.Commit{Table: "t", Lease: l, Writes: []store.Write{{Table: "t", SchemaVersion: version, Rows: numbered(from, n)}}}
	if l.Epoch > 0 {
		c.Moves = []store.Move{{Partition: store.Partition{Topic: "topic"}, To: &store.Position{Offset: int64(from + n)}}}
		if from > 0 {
			c.Moves[0].From = &store.Position{Offset: int64(from)}
		}
	}
	return s.Commit(context.Background(), c)
}

// summer is a Sink that counts rows and adds up their first column.
type summer struct {
	mu        sync.Mutex
	rows, sum int64
	pushed    func()
}

func (c *summer) Push(_ context.Context, b *column.Batch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows += int64(b.N)
	for i := range b.N {
		c.sum += b.Cols[0].Int[i]
	}
	if c.pushed != nil {
		c.pushed()
	}
	return nil
}

func (c *summer) Finish(context.Context) error { return nil }

// sum reads the numbers of a snapshot.
func sum(snap store.Snapshot, pushed func()) (rows, total int64, err error) {
	src, err := snap.Scan(context.Background(), store.ScanSpec{Table: "t", Columns: []int{0}, Limit: -1})
	if err != nil {
		return 0, 0, err
	}
	defer src.Close()
	c := &summer{pushed: pushed}
	err = src.Run(context.Background(), func(int) (scan.Sink, error) { return c, nil })
	return c.rows, c.sum, err
}

// expectNumbers expects rows 0 to n-1 in a table, whichever store is asked.
func expectNumbers(t testing.TB, s store.Store, n int64) {
	t.Helper()
	snap, err := s.Snapshot(t.Context())
	must(t, err)
	defer snap.Close()
	rows, total, err := sum(snap, nil)
	must(t, err)
	if rows != n || total != n*(n-1)/2 {
		t.Fatalf("%d rows with the sum %d, want %d with %d", rows, total, n, n*(n-1)/2)
	}
}

func TestTwoServersNeverBothWriteATable(t *testing.T) {
	name := newName(t)
	a, b := openStore(t, name, Options{}), openStore(t, name, Options{})
	must(t, a.CreateTable(t.Context(), store.TableSpec{ID: "t", Columns: numberColumns}))
	first, err := a.AcquireWriter(t.Context(), "t", "a", time.Minute)
	must(t, err)
	var held *store.HeldError
	if _, err := b.AcquireWriter(t.Context(), "t", "b", time.Minute); !errors.As(err, &held) || held.Owner != "a" || time.Until(held.Until) > 2*time.Minute {
		t.Fatalf("acquiring what another server holds: %v", err)
	}
	_, err = commitNumbers(a, first, 1, 0, 10)
	must(t, err)
	must(t, a.RenewWriter(t.Context(), first, 0)) // its time is up, by the database's clock
	second, err := b.AcquireWriter(t.Context(), "t", "b", time.Minute)
	must(t, err)
	if _, err := commitNumbers(a, first, 1, 10, 10); !errors.Is(err, store.ErrFenced) {
		t.Errorf("committing under a lease that another server took over: %v", err)
	}
	if err := a.RenewWriter(t.Context(), first, time.Minute); !errors.Is(err, store.ErrFenced) {
		t.Errorf("renewing it: %v", err)
	}
	_, err = commitNumbers(b, second, 1, 10, 10)
	must(t, err)
	expectNumbers(t, a, 20)

	// What one server knows of a table is not what the other has made of it.
	_, err = a.AlterTable(t.Context(), "t", 1, store.AddColumn{Column: store.Column{Field: column.Field{Name: "x", Type: column.Type{Kind: column.Int64}, Nullable: true}}})
	must(t, err)
	if _, err := commitNumbers(b, second, 1, 20, 10); !errors.Is(err, store.ErrSchemaChanged) {
		t.Errorf("committing rows of a schema that another server has changed: %v", err)
	}
	must(t, a.DropTable(t.Context(), "t"))
	if _, err := b.Commit(t.Context(), &store.Commit{Table: "t", Lease: second}); !errors.Is(err, store.ErrNoTable) {
		t.Errorf("committing to a table that another server has dropped: %v", err)
	}
	must(t, a.CreateTable(t.Context(), store.TableSpec{ID: "t", Columns: numberColumns}))
	if _, err := commitNumbers(b, second, 1, 20, 10); !errors.Is(err, store.ErrFenced) {
		t.Errorf("committing to a table that another server has made anew: %v", err)
	}
	_, err = commitNumbers(b, store.Lease{}, 1, 0, 5)
	must(t, err)
	expectNumbers(t, a, 5)
}

func TestServersThatStartTogetherMakeOneStore(t *testing.T) {
	name := newName(t)
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			s, err := openNamed(name, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.CreateTable(t.Context(), store.TableSpec{ID: store.TableID(fmt.Sprint("t", i)), Columns: numberColumns}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	tables, err := openStore(t, name, Options{}).Tables(t.Context())
	if err != nil || len(tables) != 6 {
		t.Errorf("%d tables, %v", len(tables), err)
	}
}

// count gives the result of a statement that counts.
func count(t testing.TB, s *Store, text string, args ...any) (n int64) {
	t.Helper()
	must(t, s.pool.QueryRow(context.Background(), s.sql(text), args...).Scan(&n))
	return n
}

// eventually waits for a state.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(testkit.Patience)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: never", what)
		}
		must(t, pause(context.Background(), 10*time.Millisecond))
	}
}

func TestWhatNobodySeesIsClearedAway(t *testing.T) {
	s := openStore(t, newName(t), Options{Grace: 400 * time.Millisecond})
	must(t, s.CreateTable(t.Context(), store.TableSpec{ID: "t", Columns: numberColumns}))
	l, err := s.AcquireWriter(t.Context(), "t", "a", time.Minute)
	must(t, err)
	for i := range 150 {
		_, err = commitNumbers(s, l, 1, i, 1)
		must(t, err)
	}
	snap, err := s.Snapshot(t.Context())
	must(t, err)
	removed, err := s.Expire(t.Context(), "t", "id", 50)
	if err != nil || removed != 50 {
		t.Fatalf("%d rows expired, %v", removed, err)
	}
	_, err = s.AlterTable(t.Context(), "t", 1, store.AddColumn{Column: store.Column{Field: column.Field{Name: "x", Type: column.Type{Kind: column.Int64}, Nullable: true}}})
	must(t, err)
	must(t, s.TruncateTable(t.Context(), "t"))
	eventually(t, "a hold", func() bool { return count(t, s, "select count(*) from {holds}") == 1 })
	if n := count(t, s, "select count(*) from {garbage}"); n != 2 {
		t.Errorf("%d parts are garbage, want 2", n)
	}
	rows, total, err := sum(snap, nil)
	if err != nil || rows != 150 || total != 150*149/2 {
		t.Errorf("the snapshot has %d rows with the sum %d, %v", rows, total, err)
	}
	cp, err := snap.Checkpoint("t")
	if err != nil || cp.Positions[store.Partition{Topic: "topic"}].Offset != 150 || cp.Number != 150 {
		t.Errorf("the snapshot has the checkpoint %+v, %v", cp, err)
	}
	snap.Close()
	eventually(t, "no garbage", func() bool { return count(t, s, "select count(*) from {garbage}") == 0 })
	eventually(t, "no hold", func() bool { return count(t, s, "select count(*) from {holds}") == 0 })
	eventually(t, "one revision", func() bool { return count(t, s, "select count(*) from {specs}") == 1 })
	if n := count(t, s, "select count(*) from pg_tables where schemaname = $1 and tablename like 'rows\\_%'", s.options.Schema); n != 1 {
		t.Errorf("%d tables of rows are left", n)
	}
}

// TestPartsAreNotDroppedWhileTheyAreAdopted: a part that has waited for too long was dropped after a table had got it, and every commit to the table failed.
func TestPartsAreNotDroppedWhileTheyAreAdopted(t *testing.T) {
	marked, again := make(chan struct{}), make(chan struct{})
	var first, second sync.Once
	prepared := 0
	name := newName(t)
	must(t, openStore(t, name, Options{}).CreateTable(t.Context(), store.TableSpec{ID: "t", Columns: numberColumns}))
	s := openStore(t, name, Options{Grace: 20 * time.Millisecond, Failpoint: func(point string) {
		switch point {
		case "truncate.prepared":
			if prepared++; prepared == 1 {
				<-marked // it takes so long that the janitor means to drop the part
			} else {
				second.Do(func() { close(again) })
			}
		case "clear.marked":
			first.Do(func() {
				close(marked)
				select { // and has not done so when the part is adopted, which must fail
				case <-again:
				case <-time.After(10 * time.Second):
				}
			})
		}
	}})
	must(t, s.TruncateTable(t.Context(), "t"))
	if prepared < 2 {
		t.Errorf("a part that was to be dropped was adopted")
	}
	eventually(t, "no garbage", func() bool { return count(t, s, "select count(*) from {garbage}") == 0 })
	_, err := commitNumbers(s, store.Lease{}, 1, 0, 10)
	must(t, err)
	expectNumbers(t, s, 10)
}

func TestExpiredRowsAreRemovedInTheEnd(t *testing.T) {
	s := openStore(t, newName(t), Options{Grace: 400 * time.Millisecond})
	must(t, s.CreateTable(t.Context(), store.TableSpec{ID: "t", Columns: numberColumns}))
	for i := range 10 {
		_, err := commitNumbers(s, store.Lease{}, 1, i*100, 100)
		must(t, err)
	}
	expired := int64(0)
	for before := range 8 {
		n, err := s.Expire(t.Context(), "t", "id", int64(before*90))
		must(t, err)
		expired += n
	}
	if expired != 630 {
		t.Errorf("%d rows expired, want 630", expired)
	}
	_, err := commitNumbers(s, store.Lease{}, 1, 0, 5) // what comes later is not concerned
	must(t, err)
	check := func() {
		snap, err := s.Snapshot(t.Context())
		must(t, err)
		defer snap.Close()
		rows, _, err := sum(snap, nil)
		must(t, err)
		stats, err := snap.Stats("t")
		must(t, err)
		if rows != 375 || stats.Rows != 375 || stats.Columns[0].Nulls != 0 {
			t.Errorf("%d rows, and statistics of %+v, want 375", rows, stats)
		}
	}
	check()
	var tab *table
	must(t, s.once(t.Context(), func(ctx context.Context, c *pgx.Conn) (err error) {
		_, tab, err = s.current(ctx, c, "t")
		return err
	}))
	if len(tab.expiries) > mostExpiries {
		t.Errorf("%d expiries wait", len(tab.expiries))
	}
	eventually(t, "rows are gone", func() bool { return count(t, s, "select count(*) from "+s.names.rows(tab.parts[0].Number)) == 375 })
	check()
}

func TestASnapshotThatIsTooOldSaysSo(t *testing.T) {
	s := openStore(t, newName(t), Options{Grace: 400 * time.Millisecond})
	must(t, s.CreateTable(t.Context(), store.TableSpec{ID: "t", Columns: numberColumns}))
	commitAll := func() {
		_, err := commitNumbers(s, store.Lease{}, 1, 0, 1000)
		must(t, err)
	}
	for what, remove := range map[string]func(){
		"truncated": func() {
			must(t, s.TruncateTable(t.Context(), "t"))
			eventually(t, "no garbage", func() bool { return count(t, s, "select count(*) from {garbage}") == 0 })
		},
		"expired": func() {
			_, err := s.Expire(t.Context(), "t", "id", 500)
			must(t, err)
			eventually(t, "collected", func() bool { return count(t, s, "select collected from {tables} where id = 't'") > 0 })
		},
	} {
		commitAll()
		snap, err := s.Snapshot(t.Context())
		must(t, err)
		if _, err := snap.Schema("t"); err != nil {
			t.Fatal(err)
		}
		s.snapshots.remove(snap.(*snapshot)) // as if this process were stopped, and others did not know of it
		remove()
		_, _, err = sum(snap, nil)
		if !sqlerr.HasKind(err, sqlerr.StoreFailed) {
			t.Errorf("%s: reading rows that are gone: %v", what, err)
		}
		snap.Close()
	}
}
