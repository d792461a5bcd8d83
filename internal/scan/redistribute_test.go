package scan_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"millrace/internal/column"
	"millrace/internal/memory"
	"millrace/internal/scan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errLane = errors.New("a lane failed")

// numbers is a source of lanes × batches × 10 numbers, from 0 on. Its lanes use one batch again and again, as readers do.
type numbers struct {
	scan.Source
	lanes, batches int
	fail           error // after the first batch of a lane
	finished       atomic.Int64
}

func (s *numbers) Run(ctx context.Context, newSink func(int) (scan.Sink, error)) error {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for lane := range s.lanes {
		sink, err := newSink(lane)
		if err != nil {
			return err
		}
		wg.Go(func() {
			if err := s.lane(run, lane, sink); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(run); !errors.Is(err, scan.Stop) {
		return err
	}
	return nil
}

func (s *numbers) lane(ctx context.Context, lane int, sink scan.Sink) error {
	var b column.Batch
	for i := range s.batches {
		b.Reset([]column.Field{{Type: column.Type{Kind: column.Int64}}, {Type: column.Type{Kind: column.Text}}})
		for k := range 10 {
			b.Cols[0].AppendInt(int64((lane*s.batches+i)*10 + k))
			b.Cols[1].AppendBytes([]byte("text"))
		}
		b.N, b.Sel = 10, nil
		if err := sink.Push(ctx, &b); err != nil {
			return err
		}
		for k := range b.Cols[1].Data {
			b.Cols[1].Data[k] = '!' // whoever keeps a view sees this
		}
		clear(b.Cols[0].Int)
		if s.fail != nil {
			return s.fail
		}
	}
	s.finished.Add(1)
	return sink.Finish(ctx)
}

// collector is a sink that adds numbers up.
type collector struct {
	sum, rows int64
	finished  bool
	push      func(rows int64) error
}

func (c *collector) Push(_ context.Context, b *column.Batch) error {
	for i := range b.N {
		if string(b.Cols[1].View(i)) != "text" {
			return errors.New("a copy points into what was copied")
		}
		c.sum += b.Cols[0].Int[i]
		c.rows++
	}
	if c.push != nil {
		return c.push(c.rows)
	}
	return nil
}

func (c *collector) Finish(context.Context) error { c.finished = true; return nil }

// redistribute runs src on lanes sinks.
func redistribute(ctx context.Context, src scan.Source, lanes int, held *memory.Budget, push func(int64) error) ([]*collector, error) {
	var sinks []*collector
	err := scan.Redistribute(src, lanes, held).Run(ctx, func(int) (scan.Sink, error) {
		sinks = append(sinks, &collector{push: push})
		return sinks[len(sinks)-1], nil
	})
	return sinks, err
}

func TestRedistributedRowsAllComeOnce(t *testing.T) {
	for _, lanes := range []int{1, 4} {
		held := memory.New(0)
		src := &numbers{lanes: 2, batches: 500}
		sinks, err := redistribute(t.Context(), src, lanes, held, nil)
		if err != nil || len(sinks) != lanes {
			t.Fatalf("%d lanes: %d sinks, %v", lanes, len(sinks), err)
		}
		var sum, rows int64
		for _, s := range sinks {
			if !s.finished {
				t.Error("a sink was not finished")
			}
			sum, rows = sum+s.sum, rows+s.rows
		}
		if rows != 10_000 || sum != 10_000*9_999/2 {
			t.Errorf("%d lanes: %d rows, sum %d", lanes, rows, sum)
		}
		if held.Used() != 0 || held.Peak() == 0 {
			t.Errorf("%d bytes are still held, at most it were %d", held.Used(), held.Peak())
		}
	}
}

func TestRedistributedScansEnd(t *testing.T) {
	cancelled, cancel := context.WithCancelCause(t.Context())
	for _, c := range []struct {
		name string
		ctx  context.Context
		src  *numbers
		push func(rows int64) error
		want error
	}{
		{"when a sink wants no more", t.Context(), &numbers{lanes: 2, batches: 1 << 30}, func(rows int64) error {
			if rows > 100 {
				return scan.Stop
			}
			return nil
		}, nil},
		{"when a sink fails", t.Context(), &numbers{lanes: 2, batches: 1 << 30}, func(rows int64) error {
			if rows > 100 {
				return errLane
			}
			return nil
		}, errLane},
		{"when a reader fails", t.Context(), &numbers{lanes: 2, batches: 1 << 30, fail: errLane}, nil, errLane},
		{"when it is cancelled", cancelled, &numbers{lanes: 2, batches: 1 << 30}, func(rows int64) error {
			if rows > 100 {
				cancel(errLane)
			}
			return nil
		}, errLane},
	} {
		held := memory.New(0)
		sinks, err := redistribute(c.ctx, c.src, 3, held, c.push)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, s := range sinks {
			if s.finished {
				t.Errorf("%s: a sink was finished", c.name)
			}
		}
		if held.Used() != 0 {
			t.Errorf("%s: %d bytes are still held", c.name, held.Used())
		}
	}
	_, err := redistribute(t.Context(), &numbers{lanes: 1, batches: 1}, 2, nil, nil)
	if err != nil {
		t.Errorf("without a budget: %v", err)
	}
	err = scan.Redistribute(&numbers{lanes: 1, batches: 1}, 2, nil).Run(t.Context(), func(int) (scan.Sink, error) { return nil, errLane })
	if !errors.Is(err, errLane) {
		t.Errorf("a sink that cannot be made: %v", err)
	}
}
