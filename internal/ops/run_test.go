package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"millrace/internal/column"
	"millrace/internal/memory"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
)

var (
	int64Field = column.Field{Name: "n", Type: column.Type{Kind: column.Int64}, Nullable: true}
	textField  = column.Field{Name: "s", Type: column.Type{Kind: column.Text}, Nullable: true}
	number     = Column(0, int64Field)
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func int64Const(v int64) Expr { return Const(column.Type{Kind: column.Int64}, v) }

// cell is the value of a row as text.
func cell(v *column.Vector, i int) string {
	switch {
	case v.IsNull(i):
		return "NULL"
	case v.Type.Kind.IsView():
		return string(v.View(i))
	case v.Type.Kind == column.Float64:
		return fmt.Sprint(v.Float[i])
	case v.Type.Kind == column.Uint64:
		return fmt.Sprint(uint64(v.Int[i]))
	default:
		return fmt.Sprint(v.Int[i])
	}
}

// drain reads all rows as text, one string a row.
func drain(t *testing.T, r *Rows) (rows []string, err error) {
	t.Helper()
	for {
		b, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		if b.Live() == 0 {
			t.Fatal("a batch without rows was handed out")
		}
		for i := range b.N {
			var cells []string
			for c := range b.Cols {
				cells = append(cells, cell(&b.Cols[c], i))
			}
			rows = append(rows, strings.Join(cells, "|"))
		}
	}
}

func run(t *testing.T, src *memorySource, p Pipeline, o RunOptions) ([]string, error) {
	t.Helper()
	r := Run(t.Context(), src, must(p.Compile()), o)
	defer r.Close()
	return drain(t, r)
}

func numbers(from, to int64) column.Vector {
	v := ints()
	for i := from; i < to; i++ {
		v.AppendInt(i)
	}
	return v
}

func TestRunFiltersAndProjects(t *testing.T) {
	src := &memorySource{lanes: [][]*column.Batch{{batchOf(numbers(0, 10)), batchOf(numbers(10, 20))}}}
	rows, err := run(t, src, Pipeline{
		Input: []column.Field{int64Field}, Limit: -1,
		Filter:  []Expr{must(Compare(Ge, number, int64Const(8))), must(Compare(Lt, number, int64Const(12)))},
		Project: []Expr{number, must(Arith(Mul, number, int64Const(2)))},
	}, RunOptions{})
	if want := []string{"8|16", "9|18", "10|20", "11|22"}; err != nil || !slices.Equal(rows, want) {
		t.Fatalf("got %v, %v, want %v", rows, err, want)
	}
}

func TestRunAggregatesOverLanes(t *testing.T) {
	src := &memorySource{}
	for lane := range int64(3) {
		src.lanes = append(src.lanes, []*column.Batch{batchOf(numbers(lane*100, lane*100+50)), batchOf(numbers(lane*100+50, lane*100+100))})
	}
	p := Pipeline{Input: []column.Field{int64Field}, Limit: -1, Aggregates: []Aggregate{
		{Func: Count}, {Func: Sum, Arg: number}, {Func: Min, Arg: number}, {Func: Max, Arg: number}, {Func: Avg, Arg: number},
		{Func: CountDistinct, Arg: number},
	}}
	rows, err := run(t, src, p, RunOptions{})
	if want := []string{"300|44850|0|299|149.5000|300"}; err != nil || !slices.Equal(rows, want) {
		t.Fatalf("got %v, %v, want %v", rows, err, want)
	}
}

func TestRunAggregatesOfNothing(t *testing.T) {
	p := Pipeline{Input: []column.Field{int64Field}, Limit: -1, Aggregates: []Aggregate{
		{Func: Count}, {Func: Count, Arg: number}, {Func: Sum, Arg: number}, {Func: Min, Arg: number}, {Func: Avg, Arg: number},
	}}
	for _, src := range []*memorySource{{}, {lanes: [][]*column.Batch{{}, {}}}} {
		if rows, err := run(t, src, p, RunOptions{}); err != nil || !slices.Equal(rows, []string{"0|0|NULL|NULL|NULL"}) {
			t.Fatalf("got %v, %v", rows, err)
		}
	}
	p.GroupBy = []Expr{number}
	if rows, err := run(t, &memorySource{}, p, RunOptions{}); err != nil || len(rows) != 0 {
		t.Fatalf("groups of nothing: got %v, %v", rows, err)
	}
}

func TestRunCountsBatchesWithoutColumns(t *testing.T) {
	src := &memorySource{lanes: [][]*column.Batch{{{N: 7}, {N: 5, Sel: []int32{1, 3}}}}}
	rows, err := run(t, src, Pipeline{Limit: -1, Aggregates: []Aggregate{{Func: Count}}}, RunOptions{})
	if err != nil || !slices.Equal(rows, []string{"9"}) {
		t.Fatalf("got %v, %v", rows, err)
	}
	rows, err = run(t, src, Pipeline{Limit: -1}, RunOptions{MaxBatchRows: 4})
	if err != nil || len(rows) != 9 {
		t.Fatalf("without a projection: got %d rows, %v", len(rows), err)
	}
}

func TestLimitStopsAnIdleScan(t *testing.T) {
	for _, lanes := range []int{1, 4} {
		src := &memorySource{idle: true}
		for range lanes {
			src.lanes = append(src.lanes, []*column.Batch{batchOf(numbers(0, 100)), batchOf(numbers(100, 200))})
		}
		p := Pipeline{Input: []column.Field{int64Field}, Project: []Expr{number}, Limit: 120, Offset: 30}
		rows, err := run(t, src, p, RunOptions{MaxBatchRows: 7})
		if err != nil || len(rows) != 120 {
			t.Fatalf("%d lanes: got %d rows, %v", lanes, len(rows), err)
		}
		if lanes == 1 && (rows[0] != "30" || rows[119] != "149") {
			t.Fatalf("one lane out of order: %v", rows)
		}
	}
}

// A lane that met the limit ended the scan while others waited for space with rows that counted against it: those rows were lost.
func TestRowsThatCountAgainstTheLimitArrive(t *testing.T) {
	for range 20 {
		src := &memorySource{}
		for range 6 {
			var lane []*column.Batch
			for range 10 {
				lane = append(lane, batchOf(numbers(0, 100)))
			}
			src.lanes = append(src.lanes, lane)
		}
		p := Pipeline{Input: []column.Field{int64Field}, Project: []Expr{number}, Limit: 1500}
		if rows, err := run(t, src, p, RunOptions{MaxBatchRows: 10, QueueBytes: 1}); err != nil || len(rows) != 1500 {
			t.Fatalf("got %d rows, %v", len(rows), err)
		}
	}
}

func TestColumnsOfOneNameAreNotShared(t *testing.T) {
	src := &memorySource{lanes: [][]*column.Batch{{batchOf(ints(1), ints(2))}}}
	var sums []Expr
	for i := range 2 {
		sums = append(sums, must(Arith(Add, Column(i, int64Field), int64Const(10))))
	}
	rows, err := run(t, src, Pipeline{Input: []column.Field{int64Field, int64Field}, Project: sums, Limit: -1}, RunOptions{})
	if err != nil || !slices.Equal(rows, []string{"11|12"}) {
		t.Fatalf("got %v, %v", rows, err)
	}
}

type panicking struct{ memorySource }

func (panicking) Run(context.Context, func(int) (scan.Sink, error)) error { panic("broken") }

func TestAPanicEndsTheRunOnly(t *testing.T) {
	r := Run(t.Context(), &panicking{}, must((&Pipeline{Limit: -1}).Compile()), RunOptions{})
	defer r.Close()
	if _, err := r.Next(t.Context()); !sqlerr.HasKind(err, sqlerr.Unexpected) {
		t.Fatalf("got %v", err)
	}
	// A batch without the column that the plan reads.
	src := &memorySource{lanes: [][]*column.Batch{{{N: 3}}}}
	p := Pipeline{Input: []column.Field{int64Field}, Project: []Expr{number}, Limit: -1}
	if _, err := run(t, src, p, RunOptions{}); !sqlerr.HasKind(err, sqlerr.Unexpected) {
		t.Fatalf("got %v", err)
	}
}

func TestLimitZeroReadsNothing(t *testing.T) {
	src := &memorySource{idle: true, lanes: [][]*column.Batch{{}}}
	rows, err := run(t, src, Pipeline{Input: []column.Field{int64Field}, Project: []Expr{number}, Limit: 0, Offset: 5}, RunOptions{})
	if err != nil || len(rows) != 0 {
		t.Fatalf("got %v, %v", rows, err)
	}
}

func TestFirstRowsDoNotWaitForAFullBatch(t *testing.T) {
	src := &memorySource{idle: true, lanes: [][]*column.Batch{{batchOf(ints(1, 2, 3))}}}
	p := must((&Pipeline{Input: []column.Field{int64Field}, Project: []Expr{number}, Limit: -1}).Compile())
	r := Run(t.Context(), src, p, RunOptions{})
	defer r.Close()
	if b, err := r.Next(t.Context()); err != nil || b.N != 3 {
		t.Fatalf("got %v, %v", b, err)
	}
}

func TestRowsOfALaneStayInOrderUnderBackPressure(t *testing.T) {
	src := &memorySource{lanes: [][]*column.Batch{{}}}
	for i := range int64(200) {
		src.lanes[0] = append(src.lanes[0], batchOf(numbers(i*13, i*13+13)))
	}
	p := Pipeline{Input: []column.Field{int64Field}, Project: []Expr{number}, Limit: -1}
	rows, err := run(t, src, p, RunOptions{MaxBatchRows: 10, QueueBytes: 1})
	if err != nil || len(rows) != 2600 {
		t.Fatalf("got %d rows, %v", len(rows), err)
	}
	for i, row := range rows {
		if row != fmt.Sprint(i) {
			t.Fatalf("row %d is %s", i, row)
		}
	}
}

// overflow fails at row 5 of a batch of numbers from the largest but five.
func overflow() (*memorySource, Pipeline) {
	const top = 1<<63 - 1
	b := batchOf(ints(top-5, top-4, top-3, top-2, top-1, top, top), texts("t", "t", "t", "t", "t", "t", "t"),
		column.Vector{Type: column.Type{Kind: column.Int32}, Int: []int64{3, 3, 3, 3, 3, 3, 3}}, numbers(40, 47))
	next := must(Arith(Add, number, int64Const(1)))
	return &memorySource{lanes: [][]*column.Batch{{b}}}, Pipeline{
		Input: []column.Field{int64Field, textField, {Name: "p", Type: column.Type{Kind: column.Int32}}, {Name: "o", Type: column.Type{Kind: column.Int64}}},
		Limit: -1, Project: []Expr{next}, Position: &Position{1, 2, 3},
	}
}

func TestRowsBeforeAnErrorAreDelivered(t *testing.T) {
	src, p := overflow()
	rows, err := run(t, src, p, RunOptions{MaxBatchRows: 2})
	if len(rows) != 5 || !sqlerr.HasKind(err, sqlerr.OutOfRange) {
		t.Fatalf("got %v, %v", rows, err)
	}
	want := "BIGINT value is out of range in '(`n` + 1)'\ndetail: the operands are 9223372036854775807 and 1; topic 't', partition 3, offset 45"
	if err.Error() != want {
		t.Fatalf("got  %s\nwant %s", err, want)
	}
}

func TestALimitMetBeforeAnErrorWins(t *testing.T) {
	for _, limit := range []int64{1, 5} {
		src, p := overflow()
		p.Limit = limit
		if rows, err := run(t, src, p, RunOptions{}); err != nil || len(rows) != int(limit) {
			t.Fatalf("projection: got %v, %v", rows, err)
		}
		// The same error in the filter, behind a conjunct that is evaluated for all rows first.
		p.Filter = []Expr{must(Compare(Gt, p.Project[0], int64Const(0)))}
		p.Project = []Expr{number}
		if rows, err := run(t, src, p, RunOptions{}); err != nil || len(rows) != int(limit) {
			t.Fatalf("filter: got %v, %v", rows, err)
		}
	}
	src, p := overflow()
	p.Limit = 6
	if rows, err := run(t, src, p, RunOptions{}); err == nil || len(rows) != 5 {
		t.Fatalf("a limit behind the error: got %v, %v", rows, err)
	}
}

func TestNextReturnsTheEndForEver(t *testing.T) {
	src := &memorySource{}
	r := Run(t.Context(), src, must((&Pipeline{Limit: -1}).Compile()), RunOptions{})
	for range 3 {
		if _, err := r.Next(t.Context()); !errors.Is(err, io.EOF) {
			t.Fatalf("got %v", err)
		}
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Fatalf("after Close: got %v", err)
	}
}

func TestCloseEndsAWaitingNext(t *testing.T) {
	src := &memorySource{idle: true, lanes: [][]*column.Batch{{}, {}}}
	r := Run(t.Context(), src, must((&Pipeline{Limit: -1}).Compile()), RunOptions{})
	ended := make(chan error)
	go func() {
		_, err := r.Next(context.Background())
		ended <- err
	}()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || errors.Is(err, io.EOF) {
		t.Fatalf("got %v", err)
	}
}

func TestCancelReachesLanesThatWaitForSpace(t *testing.T) {
	src := &memorySource{}
	for range 4 {
		var lane []*column.Batch
		for range 50 {
			lane = append(lane, batchOf(numbers(0, 100)))
		}
		src.lanes = append(src.lanes, lane)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	p := must((&Pipeline{Input: []column.Field{int64Field}, Project: []Expr{number}, Limit: -1}).Compile())
	r := Run(ctx, src, p, RunOptions{MaxBatchRows: 10, QueueBytes: 1})
	if _, err := r.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	killed := sqlerr.New(sqlerr.Interrupted, "killed")
	cancel(killed)
	for {
		if _, err := r.Next(t.Context()); err != nil {
			if !errors.Is(err, killed) {
				t.Fatalf("got %v", err)
			}
			break
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestBatchesAreBoundedInBytes(t *testing.T) {
	var v column.Vector
	v.Type.Kind = column.Text
	for range 20 {
		v.AppendBytes(make([]byte, 1000))
	}
	src := &memorySource{lanes: [][]*column.Batch{{batchOf(v)}}}
	p := must((&Pipeline{Input: []column.Field{textField}, Project: []Expr{Column(0, textField)}, Limit: -1}).Compile())
	r := Run(t.Context(), src, p, RunOptions{MaxBatchBytes: 2500})
	defer r.Close()
	total := 0
	for {
		b, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if b.N > 3 {
			t.Fatalf("a batch has %d rows of 1,000 bytes", b.N)
		}
		total += b.N
	}
	if total != 20 {
		t.Fatalf("got %d rows", total)
	}
}

func TestGroupsBeyondTheMemoryAreRefused(t *testing.T) {
	src := &memorySource{lanes: [][]*column.Batch{{batchOf(numbers(0, 10000))}}}
	p := Pipeline{Input: []column.Field{int64Field}, GroupBy: []Expr{number}, Aggregates: []Aggregate{{Func: Count}}, Limit: -1}
	if _, err := run(t, src, p, RunOptions{Memory: memory.New(10000), SpillBytes: 1}); !sqlerr.HasKind(err, sqlerr.ScanMemory) {
		t.Fatalf("got %v", err)
	}
	if rows, err := run(t, src, p, RunOptions{Memory: memory.New(10 << 20)}); err != nil || len(rows) != 10000 {
		t.Fatalf("got %d rows, %v", len(rows), err)
	}
}
