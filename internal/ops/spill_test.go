package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"testing"

	"millrace/internal/column"
	"millrace/internal/memory"
	"millrace/internal/spill"
	"millrace/internal/sqlerr"

	"pgregory.net/rapid"
)

// tight are options with no memory beyond least bytes a lane, and a folder for files.
type tight struct {
	RunOptions
	dir string
}

func newTight(t testing.TB, least int) tight {
	dir := t.TempDir()
	return tight{RunOptions{Memory: memory.New(1), Temp: must(spill.Open(spill.Options{Dir: dir})), SpillBytes: least}, dir}
}

// nothingLeft fails when a run has left a file or holds memory.
func (o tight) nothingLeft(t rapid.TB) {
	t.Helper()
	left, err := os.ReadDir(o.dir)
	if err != nil || len(left) > 0 || o.Temp != nil && o.Temp.Used() != 0 {
		t.Fatalf("files are left: %v, %v", left, err)
	}
	if n := o.Memory.Used(); n != 0 {
		t.Fatalf("%d bytes are still taken", n)
	}
}

// drawTight gives plenty of memory or little.
func drawTight(t *rapid.T, least ...tight) *tight {
	i := rapid.IntRange(-1, len(least)-1).Draw(t, "tight")
	if i < 0 {
		return &tight{}
	}
	return &least[i]
}

// many is a source of lanes × batches × rows numbers, each different.
func many(lanes, batches, rows int64) *memorySource {
	src := &memorySource{}
	for lane := range lanes {
		var list []*column.Batch
		for i := range batches {
			v, s := ints(), texts()
			for k := range rows {
				x := (lane*batches+i)*rows + k
				v.AppendInt(x * 7919 % 1_000_003)
				s.AppendBytes(fmt.Appendf(nil, "row %d", x*x%1009))
			}
			list = append(list, batchOf(v, s))
		}
		src.lanes = append(src.lanes, list)
	}
	return src
}

var manyFields = []column.Field{int64Field, textField}

func TestGroupsThatDoNotFitAreWrittenOut(t *testing.T) {
	src := many(3, 20, 1000)
	text := Column(1, textField)
	p := Pipeline{
		Input: manyFields, GroupBy: []Expr{number, text}, Limit: -1,
		Aggregates: []Aggregate{{Func: Count}, {Func: Sum, Arg: number}, {Func: Max, Arg: text}, {Func: Any, Arg: text}},
	}
	want, err := run(t, src, p, RunOptions{})
	if err != nil || len(want) != 60_000 {
		t.Fatalf("in memory: %d rows, %v", len(want), err)
	}
	slices.Sort(want)
	// With 32 KiB a part of 1/16 of 60,000 groups is too large as well, and is parted again.
	for _, least := range []int{32 << 10, 1 << 20} {
		o := newTight(t, least)
		r := Run(t.Context(), src, must(p.Compile()), o.RunOptions)
		got, err := drain(t, r)
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%d bytes: %d rows, %v", least, len(got), err)
		}
		if r.SpilledBytes() == 0 || r.MemoryBytes() < int64(least) {
			t.Errorf("%d bytes: %d were written, at most %d held", least, r.SpilledBytes(), r.MemoryBytes())
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		o.nothingLeft(t)
	}
}

// TestDistinctValuesThatDoNotFitAreCountedOnDisk: of one group, of few and of many.
func TestDistinctValuesThatDoNotFitAreCountedOnDisk(t *testing.T) {
	src := many(3, 20, 1000)
	src.lanes[0], src.lanes[1] = append(src.lanes[0], src.lanes[2]...), append(src.lanes[1], src.lanes[0][:10]...) // what other lanes have too
	text := Column(1, textField)
	for name, by := range map[string][]Expr{"no groups": nil, "few groups": {must(Length(text))}, "many groups": {text, must(Mod(number, 10))}} {
		p := Pipeline{
			Input: manyFields, GroupBy: by, Limit: -1,
			Aggregates: []Aggregate{{Func: CountDistinct, Arg: number}, {Func: Count}, {Func: CountDistinct, Arg: text}, {Func: Max, Arg: text}},
		}
		want, err := run(t, src, p, RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		for _, least := range []int{30 << 10, 200 << 10} {
			o := newTight(t, least)
			r := Run(t.Context(), src, must(p.Compile()), o.RunOptions)
			got, err := drain(t, r)
			slices.Sort(got)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, %d bytes: %d rows of %d, %v", name, least, len(got), len(want), err)
			}
			if r.SpilledBytes() == 0 {
				t.Errorf("%s, %d bytes: nothing was written", name, least)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			o.nothingLeft(t)
		}
	}
}

func TestRowsThatDoNotFitAreSortedOnDisk(t *testing.T) {
	src := many(3, 20, 1000)
	text := Column(1, textField)
	for _, limit := range []int64{-1, 1, 7000, 30_000} {
		p := Pipeline{Input: manyFields, Project: []Expr{text, number}, OrderBy: []Order{{text, true}, {number, false}}, Limit: limit, Offset: 3}
		want, err := run(t, src, p, RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// With 1 byte each batch is a run: more than are merged at once.
		for _, least := range []int{1, 100 << 10} {
			o := newTight(t, least)
			r := Run(t.Context(), src, must(p.Compile()), o.RunOptions)
			got, err := drain(t, r)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("limit %d, %d bytes: %d rows of %d, %v", limit, least, len(got), len(want), err)
			}
			if limit != 1 && r.SpilledBytes() == 0 {
				t.Errorf("limit %d, %d bytes: nothing was written", limit, least)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			o.nothingLeft(t)
		}
	}
}

// TestGroupsOnDiskAreSortedOnDisk: HAVING, ORDER BY and LIMIT over groups that do not fit.
func TestGroupsOnDiskAreSortedOnDisk(t *testing.T) {
	src := many(2, 20, 1000)
	p := Pipeline{Input: manyFields, GroupBy: []Expr{number}, Aggregates: []Aggregate{{Func: Max, Arg: Column(1, textField)}}, Limit: -1}
	groups := p.Results()
	p.Then = &Pipeline{
		Input: groups, Filter: []Expr{must(Compare(Ge, Column(1, groups[1]), Const(textField.Type, "row 2")))}, Project: []Expr{Column(0, groups[0]), Column(1, groups[1])},
		OrderBy: []Order{{Column(1, groups[1]), false}, {Column(0, groups[0]), true}}, Limit: 20_000, Offset: 5,
	}
	want, err := run(t, src, p, RunOptions{})
	if err != nil || len(want) < 1000 {
		t.Fatalf("in memory: %d rows, %v", len(want), err)
	}
	o := newTight(t, 50<<10)
	got, err := run(t, src, p, o.RunOptions)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("%d rows of %d, %v", len(got), len(want), err)
	}
	o.nothingLeft(t)
}

func TestWithoutAFolderTooMuchIsAnError(t *testing.T) {
	src := many(1, 5, 1000)
	o := newTight(t, 1000)
	o.Temp = nil
	for name, p := range map[string]Pipeline{
		"groups": {Input: manyFields, GroupBy: []Expr{number}, Aggregates: []Aggregate{{Func: Count}}, Limit: -1},
		"sort":   {Input: manyFields, Project: []Expr{number}, OrderBy: []Order{{number, false}}, Limit: -1},
	} {
		if _, err := run(t, src, p, o.RunOptions); !sqlerr.HasKind(err, sqlerr.ScanMemory) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o.nothingLeft(t)
}

// brokenFile fails in its own way once it holds so many bytes.
type brokenFile struct {
	*os.File
	good  int
	wrote *int
	how   func(b []byte) (int, error)
}

func (f brokenFile) WriteAt(b []byte, at int64) (int, error) {
	if *f.wrote += len(b); *f.wrote > f.good {
		return f.how(b)
	}
	return f.File.WriteAt(b, at)
}

// TestDisksThatFailLeaveNothing: the statement fails with what the disk said, its file goes, nobody waits.
func TestDisksThatFailLeaveNothing(t *testing.T) {
	src := many(1, 20, 1000)
	pipelines := map[string]Pipeline{
		"groups": {Input: manyFields, GroupBy: []Expr{number}, Aggregates: []Aggregate{{Func: Count}}, Limit: -1},
		"sort":   {Input: manyFields, Project: []Expr{number}, OrderBy: []Order{{number, false}}, Limit: -1},
	}
	faults := map[string]func(path string) (spill.Backing, error){
		"no file":    func(string) (spill.Backing, error) { return nil, syscall.EROFS },
		"full disk":  broken(30_000, func([]byte) (int, error) { return 0, syscall.ENOSPC }),
		"short":      broken(20_000, func(b []byte) (int, error) { return len(b) - 1, nil }),
		"full first": broken(0, func([]byte) (int, error) { return 0, syscall.ENOSPC }),
	}
	for fault, create := range faults {
		for name, p := range pipelines {
			o := newTight(t, 20_000)
			o.Temp = must(spill.Open(spill.Options{Dir: o.dir, Create: create}))
			if _, err := run(t, src, p, o.RunOptions); !sqlerr.HasKind(err, sqlerr.TempSpace) {
				t.Errorf("%s, %s: %v", fault, name, err)
			}
			o.nothingLeft(t)
		}
	}
	o := newTight(t, 20_000)
	o.Temp = must(spill.Open(spill.Options{Dir: o.dir, Limit: 30_000}))
	for name, p := range pipelines {
		if _, err := run(t, src, p, o.RunOptions); !sqlerr.HasKind(err, sqlerr.TempSpace) {
			t.Errorf("the limit, %s: %v", name, err)
		}
		o.nothingLeft(t)
	}
}

func broken(good int, how func([]byte) (int, error)) func(path string) (spill.Backing, error) {
	return func(path string) (spill.Backing, error) {
		f, err := os.Create(path)
		return brokenFile{f, good, new(int), how}, err
	}
}

// TestARunThatIsCancelledAmidstItsFilesLeavesNothing: while lanes write, while parts are read, and while rows are taken.
func TestARunThatIsCancelledAmidstItsFilesLeavesNothing(t *testing.T) {
	for name, p := range map[string]Pipeline{
		"groups": {Input: manyFields, GroupBy: []Expr{number}, Aggregates: []Aggregate{{Func: Count}}, Limit: -1},
		"sort":   {Input: manyFields, Project: []Expr{number, Column(1, textField)}, OrderBy: []Order{{number, false}}, Limit: -1},
	} {
		for _, stop := range []struct {
			name  string
			idle  bool // the lanes wait for the end
			taken int  // batches that are taken first
		}{{"lanes", true, 0}, {"reading", false, 1}, {"later", false, 20}} {
			src := many(2, 20, 1000)
			src.idle = stop.idle
			o := newTight(t, 10_000)
			o.QueueBytes, o.MaxBatchRows = 1, 10
			ctx, cancel := context.WithCancel(t.Context())
			r := Run(ctx, src, must(p.Compile()), o.RunOptions)
			for range stop.taken {
				if _, err := r.Next(ctx); err != nil {
					t.Fatalf("%s, %s: %v", name, stop.name, err)
				}
			}
			for stop.idle && r.SpilledBytes() == 0 {
				if err := ctx.Err(); err != nil {
					t.Fatal(err)
				}
			}
			cancel()
			if _, err := r.Next(t.Context()); !errors.Is(err, context.Canceled) && !errors.Is(err, io.EOF) {
				t.Errorf("%s, %s: %v", name, stop.name, err)
			}
			if err := r.Close(); err != nil {
				t.Errorf("%s, %s: %v", name, stop.name, err)
			}
			o.nothingLeft(t)
		}
	}
}

// TestRowsSurviveTheirBlocks: what is written and read is the same, of every kind.
func TestRowsSurviveTheirBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var again column.Batch
		for range 3 {
			in, _ := batchOfRows(t, rapid.SampledFrom(batchSizes).Draw(t, "rows"))
			if in.Sel = nil; in.N == 0 {
				continue
			}
			if err := readRows(&again, appendRows(nil, in)); err != nil {
				t.Fatal(err)
			}
			if again.N != in.N || len(again.Cols) != len(in.Cols) {
				t.Fatalf("%d rows of %d columns", again.N, len(again.Cols))
			}
			for c := range in.Cols {
				for i := range in.N {
					if got, want := cell(&again.Cols[c], i), cell(&in.Cols[c], i); got != want || again.Cols[c].Type != in.Cols[c].Type {
						t.Fatalf("row %d of %v is %s, want %s", i, in.Cols[c].Type, got, want)
					}
				}
			}
		}
	})
}

// FuzzRowBlocks: bytes that are no block are an error, and cost no more memory than they are long.
func FuzzRowBlocks(f *testing.F) {
	v, s := ints(1, -5, 1<<40), texts("a", "", "longer")
	v.AppendNull()
	s.AppendNull()
	d := column.Vector{Type: column.Type{Kind: column.Float64}, Float: []float64{0, 1, 2, 3}}
	f.Add(appendRows(nil, batchOf(v, s, d)))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1, byte(column.Text), 0, 0, 0})
	f.Add([]byte{3, 0})
	f.Fuzz(func(t *testing.T, block []byte) {
		var b column.Batch
		if readRows(&b, block) != nil {
			return
		}
		for c := range b.Cols {
			for i := range b.N {
				_ = cell(&b.Cols[c], i)
			}
		}
		var again column.Batch
		if err := readRows(&again, appendRows(nil, &b)); err != nil || again.N != b.N {
			t.Fatalf("written again: %d rows of %d, %v", again.N, b.N, err)
		}
	})
}
