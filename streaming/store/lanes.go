package store

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"millrace/internal/scan"
)

// Lane is what the source of a store reads with. One goroutine uses it and its Sink at a time.
type Lane interface {
	// Sink is what the lane pushes into.
	Sink() scan.Sink
}

// Lanes are those of a source while it runs.
type Lanes[L Lane] []L

// RunLanes is the Run of a scan.Source: it makes n lanes for the sinks of newSink, has read use them, in as many rounds as it likes, and finishes the sinks.
func RunLanes[L Lane](ctx context.Context, n int, newSink func(lane int) (scan.Sink, error), newLane func(scan.Sink) L, read func(context.Context, Lanes[L]) error) error {
	lanes := make(Lanes[L], n)
	for i := range lanes {
		sink, err := newSink(i)
		if err != nil {
			return err
		}
		lanes[i] = newLane(sink)
	}
	err := read(ctx, lanes)
	if err == nil {
		err = lanes.Each(ctx, func(ctx context.Context, l L) error { return l.Sink().Finish(ctx) })
	}
	if errors.Is(err, scan.Stop) {
		return nil
	}
	return err
}

// Each does something on all lanes at once and waits. The first error ends the others. One lane, as a look-up has, needs no goroutine of its own.
func (lanes Lanes[L]) Each(ctx context.Context, do func(context.Context, L) error) error {
	if len(lanes) == 1 {
		if err := do(ctx, lanes[0]); err != nil {
			return err
		}
		return context.Cause(ctx)
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for _, l := range lanes {
		group.Go(func() {
			if err := do(inner, l); err != nil {
				cancel(err)
			}
		})
	}
	group.Wait()
	return context.Cause(inner)
}

// Keep reports whether all sinks tell what they keep, which is what a Top is of use for.
func (lanes Lanes[L]) Keep() bool {
	return !slices.ContainsFunc(lanes, func(l L) bool {
		_, ok := l.Sink().(scan.Keeper)
		return !ok
	})
}

// Kept gives the values that the sinks keep for t, in ascending order; nil while they are fewer than its rows. Lanes that Keep must not run.
func (lanes Lanes[L]) Kept(t *Top) []int64 {
	var values []int64
	for _, l := range lanes {
		values = l.Sink().(scan.Keeper).Kept(values)
	}
	if int64(len(values)) < t.Rows {
		return nil
	}
	slices.Sort(values)
	return values
}

// Milliseconds gives microseconds of a Timestamp that a sink has told, moved by a millisecond, since sinks have rounded.
func Milliseconds(x, by int64) int64 {
	const most = math.MaxInt64/1000 - 1
	return (min(max(x, -most), most) + by) * 1000
}
