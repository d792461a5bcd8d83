package ops

import (
	"context"
	"errors"
	"slices"
	"testing"

	"millrace/internal/column"
	"millrace/internal/scan"
)

// pushed are the rows that Push hands out, in order where there is one lane.
func pushed(ctx context.Context, src scan.Source, p Pipeline, o RunOptions) (rows []string, err error) {
	plan, err := p.Compile()
	if err != nil {
		return nil, err
	}
	busy := false
	err = Push(ctx, src, plan, o, func(b *column.Batch) error {
		if busy {
			return errors.New("two lanes push at once")
		}
		busy = true
		for i := range b.N {
			rows = append(rows, cell(&b.Cols[0], i))
		}
		busy = false
		return nil
	})
	return rows, err
}

func TestPushGivesTheRowsOfRun(t *testing.T) {
	odd := must(Compare(Gt, number, int64Const(2)))
	for name, p := range map[string]Pipeline{
		"all": {Project: []Expr{number}, Limit: -1}, "some": {Filter: []Expr{odd}, Project: []Expr{number}, Limit: -1}, "none": {Filter: []Expr{must(Compare(Gt, number, int64Const(1<<40)))}, Project: []Expr{number}, Limit: -1},
		"the first": {Filter: []Expr{odd}, Project: []Expr{number}, Limit: 5, Offset: 3}, "no row": {Project: []Expr{number}, Limit: 0},
	} {
		p.Input = []column.Field{int64Field}
		for _, rows := range []int{1, 3, 1024} {
			src := &memorySource{lanes: [][]*column.Batch{{batchOf(numbers(0, 100)), batchOf(numbers(100, 5000))}}}
			o := RunOptions{MaxBatchRows: rows}
			want, err := run(t, src, p, o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := pushed(t.Context(), src, p, o)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, %d at once: %d rows, %v, want %d", name, rows, len(got), err, len(want))
			}
		}
		many := &memorySource{}
		for i := range int64(4) {
			many.lanes = append(many.lanes, []*column.Batch{batchOf(numbers(i*1000, i*1000+1000))})
		}
		want, err := run(t, many, p, RunOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := pushed(t.Context(), many, p, RunOptions{})
		if err != nil || len(got) != len(want) {
			t.Errorf("%s, on lanes: %d rows, %v, want %d", name, len(got), err, len(want))
		}
	}
}

func TestPushEndsWithTheFirstError(t *testing.T) {
	plan := must((&Pipeline{Input: []column.Field{int64Field}, Project: []Expr{number}, Limit: -1}).Compile())
	full := errors.New("the client has gone")
	src := &memorySource{lanes: [][]*column.Batch{{batchOf(numbers(0, 10))}, {batchOf(numbers(0, 10))}}, idle: true}
	if err := Push(t.Context(), src, plan, RunOptions{}, func(*column.Batch) error { return full }); !errors.Is(err, full) {
		t.Errorf("an error of the consumer ends as %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	killed := errors.New("killed")
	if err := Push(ctx, src, plan, RunOptions{}, func(*column.Batch) error { cancel(killed); return nil }); !errors.Is(err, killed) {
		t.Errorf("a statement that is killed ends as %v", err)
	}
	if err := Push(t.Context(), &panicking{}, plan, RunOptions{}, func(*column.Batch) error { return nil }); err == nil {
		t.Error("a panic is no error")
	}
	broken, p := overflow()
	rows, err := pushed(t.Context(), broken, p, RunOptions{})
	want, failed := run(t, broken, p, RunOptions{})
	if !slices.Equal(rows, want) || err == nil || err.Error() != failed.Error() {
		t.Errorf("rows before an error: %v, %v, want %v, %v", rows, err, want, failed)
	}
}
