package storetest

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"millrace/internal/column"
	"millrace/streaming/store"
)

func testTables(t *testing.T, b Backend) {
	name := b.Name(t)
	s, err := b.Open(name)
	must(t, err)
	ctx := t.Context()
	columns := []store.Column{col("id", column.Int64)}
	must(t, s.CreateTable(ctx, store.TableSpec{ID: "b", Columns: columns}, store.TableSpec{ID: "b$errors", Owner: "b", Columns: columns, Durability: store.Async}))
	for what, specs := range map[string][]store.TableSpec{
		"an ID that is taken":            {{ID: "a", Columns: columns}, {ID: "b", Columns: columns}},
		"an ID twice":                    {{ID: "a", Columns: columns}, {ID: "a", Columns: columns}},
		"no such owner":                  {{ID: "a", Columns: columns}, {ID: "c", Owner: "x", Columns: columns}},
		"an owner that is owned":         {{ID: "a", Columns: columns}, {ID: "c", Owner: "b$errors", Columns: columns}},
		"no ID":                          {{ID: "a", Columns: columns}, {Columns: columns}},
		"two columns of one name":        {{ID: "a", Columns: columns}, {ID: "c", Columns: append(columns, columns...)}},
		"clustered by what is no column": {{ID: "a", Columns: columns}, {ID: "c", Columns: columns, Cluster: []string{"x"}}},
	} {
		if err := s.CreateTable(ctx, specs...); err == nil {
			t.Errorf("%s: created", what)
		}
	}
	if err := s.CreateTable(ctx, store.TableSpec{ID: "b", Columns: columns}); !errors.Is(err, store.ErrTableExists) {
		t.Errorf("creating a table again: %v", err)
	}
	must(t, s.CreateTable(ctx, store.TableSpec{ID: "a", Columns: columns, Cluster: []string{"id"}}))
	list := func(s store.Store) (ids []store.TableID) {
		tables, err := s.Tables(ctx)
		must(t, err)
		for _, i := range tables {
			ids = append(ids, i.ID)
		}
		return ids
	}
	want := []store.TableID{"a", "b", "b$errors"}
	if got := list(s); !slices.Equal(got, want) {
		t.Errorf("tables are %v, want %v", got, want)
	}
	must(t, s.Close())
	s = reopen(t, b, name)
	if got := list(s); !slices.Equal(got, want) {
		t.Errorf("after reopening, tables are %v, want %v", got, want)
	}
	tables, err := s.Tables(ctx)
	must(t, err)
	if a, e := tables[0], tables[2]; e.Owner != "b" || e.Schema.Durability != store.Async || !slices.Equal(a.Schema.Cluster, []string{"id"}) || a.Schema.Version != 1 {
		t.Errorf("after reopening, tables are %+v", tables)
	}
	must(t, s.DropTable(ctx, "b"))
	if got := list(s); !slices.Equal(got, []store.TableID{"a"}) {
		t.Errorf("dropping a table leaves %v", got)
	}
	_, err = s.Schema(ctx, "b$errors")
	for what, err := range map[string]error{"schema": err, "drop": s.DropTable(ctx, "b"), "truncate": s.TruncateTable(ctx, "b")} {
		if !errors.Is(err, store.ErrNoTable) {
			t.Errorf("%s of a table that was dropped: %v", what, err)
		}
	}
}

// kindColumns are columns of every kind, and rows of values that have been lost before.
func kindColumns() ([]store.Column, []row) {
	decimal := col("decimal", column.Decimal)
	decimal.Type.Precision, decimal.Type.Scale = 65, 30
	stamp := col("timestamp", column.Timestamp)
	stamp.Type.Scale = 6
	columns := []store.Column{
		col("id", column.Int64), col("bool", column.Bool), col("int32", column.Int32), col("int64", column.Int64), col("uint64", column.Uint64),
		col("float64", column.Float64), decimal, col("bytes", column.Bytes), col("text", column.Text), col("json", column.JSON), col("date", column.Date),
		col("time", column.Time), stamp,
	}
	null := store.Value{}
	digits := strings.Repeat("9", 35) + "." + strings.Repeat("7", 30)
	return columns, rowsOf(
		row{store.Int(0), store.Int(1), store.Int(math.MinInt32), store.Int(math.MinInt64), store.Int(-1), store.Float(math.NaN()), store.Text(digits), store.Text("\x00\xff"), store.Text("a\x00b"), store.Text(`{"a":1.0e5}`), store.Int(-719528), store.Int(-3020399000000), store.Int(math.MinInt64 / 2)},
		row{store.Int(1), null, null, null, null, null, null, null, null, null, null, null, null},
		row{store.Int(2), store.Int(0), store.Int(math.MaxInt32), store.Int(math.MaxInt64), store.Int(0), store.Float(math.Inf(-1)), store.Text("-" + digits), store.Text(""), store.Text(""), store.Text("null"), store.Int(2932896), store.Int(3020399999999), store.Int(1)},
		row{store.Int(3), store.Int(1), store.Int(0), store.Int(0), store.Int(math.MinInt64), store.Float(math.Copysign(0, -1)), store.Text("0"), store.Text("x"), store.Text("ÄÖ\U0001F600"), store.Text(`"\u0000"`), store.Int(0), store.Int(0), store.Int(0)},
		row{store.Int(4), null, store.Int(7), store.Int(7), store.Int(7), store.Float(5e-324), store.Text("-0.10"), null, store.Text(strings.Repeat("long", 5000)), store.Text(`[]`), null, store.Int(1), null},
	)
}

func testKinds(t *testing.T, b Backend) {
	name := b.Name(t)
	s, err := b.Open(name)
	must(t, err)
	columns, rows := kindColumns()
	must(t, s.CreateTable(t.Context(), store.TableSpec{ID: "t", Columns: columns}))
	insert(t, s, "t", rows)
	// The same rows once more, as the live ones among others.
	w := write(t, s, "t", append(slices.Clone(rows), rows...))
	w.Rows.Sel = []int32{1, 3, 4, 5, 7}
	_, err = s.Commit(t.Context(), &store.Commit{Table: "t", Writes: []store.Write{w}})
	must(t, err)
	want := append(slices.Clone(rows), rows[1], rows[3], rows[4], rows[0], rows[2])
	sameRows(t, "rows", all(t, s, "t"), want)
	must(t, s.Close())
	sameRows(t, "rows after reopening", all(t, reopen(t, b, name), "t"), want)
}

func testSchema(t *testing.T, b Backend) {
	name := b.Name(t)
	s, err := b.Open(name)
	must(t, err)
	ctx := t.Context()
	must(t, s.CreateTable(ctx, store.TableSpec{ID: "t", Columns: []store.Column{col("id", column.Int32), col("name", column.Text)}}))
	insert(t, s, "t", rowsOf(row{store.Int(1), store.Text("one")}))
	before, err := s.Snapshot(ctx)
	must(t, err)
	stale := write(t, s, "t", rowsOf(row{store.Int(2), store.Text("two")}))

	added := col("c", column.Text)
	added.Default = store.Text("d\x00")
	schema, err := s.AlterTable(ctx, "t", 1, store.AddColumn{Column: added}, store.AddColumn{Column: col("n", column.Float64)},
		store.RenameColumn{From: "name", To: "called"}, store.WidenColumn{Name: "id", Type: column.Type{Kind: column.Int64}, Nullable: true})
	must(t, err)
	if schema.Version != 2 || len(schema.Columns) != 4 {
		t.Fatalf("changed to %+v", schema)
	}
	if _, err := s.AlterTable(ctx, "t", 1, store.DropColumn{Name: "c"}); !errors.Is(err, store.ErrSchemaChanged) {
		t.Errorf("changing an old version: %v", err)
	}
	if _, err := s.Commit(ctx, &store.Commit{Table: "t", Writes: []store.Write{stale}}); !errors.Is(err, store.ErrSchemaChanged) {
		t.Errorf("committing rows of an old version: %v", err)
	}
	insert(t, s, "t", rowsOf(row{store.Int(1 << 40), store.Text("two"), store.Value{}, store.Float(2)}))
	want := rowsOf(row{store.Int(1), store.Text("one"), store.Text("d\x00"), {}}, row{store.Int(1 << 40), store.Text("two"), {}, store.Float(2)})
	sameRows(t, "rows after adding", all(t, s, "t"), want)
	sameRows(t, "rows of a snapshot before", allOf(t, before, "t"), rowsOf(row{store.Int(1), store.Text("one")}))
	before.Close()

	// A column that is dropped and added again has nothing of the former's values.
	schema, err = s.AlterTable(ctx, "t", 2, store.DropColumn{Name: "called"})
	must(t, err)
	_, err = s.AlterTable(ctx, "t", schema.Version, store.AddColumn{Column: col("called", column.Int64)})
	must(t, err)
	want = rowsOf(row{store.Int(1), store.Text("d\x00"), {}, {}}, row{store.Int(1 << 40), {}, store.Float(2), {}})
	sameRows(t, "rows after dropping", all(t, s, "t"), want)
	// Merging with rows of other versions changes nothing.
	for i := range 20 {
		r := row{store.Int(int64(i)), store.Text("x"), {}, store.Int(int64(i))}
		insert(t, s, "t", rowsOf(r))
		want = append(want, r)
	}
	sameRows(t, "rows of all versions", all(t, s, "t"), want)
	must(t, s.Close())
	sameRows(t, "rows after reopening", all(t, reopen(t, b, name), "t"), want)
}

func testTruncate(t *testing.T, b Backend) {
	s := open(t, b)
	ctx := t.Context()
	columns := []store.Column{col("id", column.Int64)}
	must(t, s.CreateTable(ctx, store.TableSpec{ID: "t", Columns: columns}, store.TableSpec{ID: "t$errors", Owner: "t", Columns: columns}))
	lease := acquire(t, s, "t", "me")
	p := store.Partition{Topic: "topic"}
	_, err := s.Commit(ctx, &store.Commit{
		Table: "t", Lease: lease, Writes: []store.Write{write(t, s, "t", ints(0, 10)), write(t, s, "t$errors", ints(0, 1))},
		Moves: []store.Move{{Partition: p, To: &store.Position{Offset: 10}}}, Progress: []byte("p"), Event: []byte("e"),
	})
	must(t, err)
	before, err := s.Snapshot(ctx)
	must(t, err)
	defer before.Close()
	must(t, s.TruncateTable(ctx, "t"))
	if _, err := s.Commit(ctx, &store.Commit{Table: "t", Lease: lease, Writes: []store.Write{write(t, s, "t", ints(10, 1))}}); !errors.Is(err, store.ErrFenced) {
		t.Errorf("committing under a lease from before: %v", err)
	}
	c, err := s.Checkpoint(ctx, "t")
	must(t, err)
	if len(c.Positions) != 0 || c.Progress != nil || c.Number != 0 || c.Epoch != 0 {
		t.Errorf("truncating leaves %+v", c)
	}
	if n := len(all(t, s, "t")) + len(all(t, s, "t$errors")); n != 0 {
		t.Errorf("truncating leaves %d rows", n)
	}
	events, err := s.Events(ctx, "t", 0, 10)
	must(t, err)
	if len(events) != 1 {
		t.Errorf("truncating leaves events %v", events)
	}
	sameRows(t, "rows of a snapshot before", allOf(t, before, "t"), ints(0, 10))
	next := acquire(t, s, "t", "me")
	if next.Epoch <= lease.Epoch {
		t.Errorf("the epoch after truncating is %d, before %d", next.Epoch, lease.Epoch)
	}

	must(t, s.DropTable(ctx, "t"))
	if _, err := s.Commit(ctx, &store.Commit{Table: "t", Lease: next}); !errors.Is(err, store.ErrNoTable) {
		t.Errorf("committing to a table that was dropped: %v", err)
	}
	must(t, s.ReleaseWriter(ctx, next))
	sameRows(t, "rows of a snapshot before", allOf(t, before, "t"), ints(0, 10))
	must(t, s.CreateTable(ctx, store.TableSpec{ID: "t", Columns: columns}))
	if rows := all(t, s, "t"); len(rows) != 0 {
		t.Errorf("a table created again has rows %v", rows)
	}
	// A writer that has not noticed is no writer of the new table, even if that has one of the same name.
	acquire(t, s, "t", "me")
	for _, l := range []store.Lease{lease, next} {
		if _, err := s.Commit(ctx, &store.Commit{Table: "t", Lease: l}); !errors.Is(err, store.ErrFenced) {
			t.Errorf("committing to a table created again under a lease of the former: %v", err)
		}
	}
	if events, err = s.Events(ctx, "t", 0, 10); err != nil || len(events) != 0 {
		t.Errorf("a table created again has events %v, %v", events, err)
	}
}

func testClosed(t *testing.T, b Backend) {
	s, err := b.Open(b.Name(t))
	must(t, err)
	must(t, s.CreateTable(t.Context(), store.TableSpec{ID: "t", Columns: []store.Column{col("id", column.Int64)}}))
	must(t, s.Close())
	must(t, s.Close())
	_, err1 := s.Snapshot(t.Context())
	_, err2 := s.Commit(t.Context(), &store.Commit{Table: "t"})
	_, err3 := s.Checkpoint(t.Context(), "t")
	for _, err := range []error{err1, err2, err3, s.DropTable(t.Context(), "t")} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("a closed store answers %v", err)
		}
	}
}
