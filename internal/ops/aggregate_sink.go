package ops

import (
	"context"
	"time"

	"millrace/internal/column"
)

// aggregateSink filters and keeps the partial aggregates of a lane.
type aggregateSink struct {
	stage  *stage
	lane   *lane
	filter filterEval
	by     []evaluator
	args   [][2]evaluator // Arg and By of each aggregate, nil where it has none
	keys   *keys          // nil without GROUP BY
	accs   []accumulator
	cols   []*column.Vector
	groups []int32
	held   int // bytes accounted
}

func (st *stage) newAggregateSink() *aggregateSink {
	p := st.plan
	s := &aggregateSink{stage: st, lane: st.newLane()}
	s.filter = p.bindFilter(s.lane)
	var types []column.Type
	for _, e := range p.groupBy {
		s.by = append(s.by, s.lane.bind(e))
		types = append(types, e.Type())
	}
	s.cols = make([]*column.Vector, len(s.by))
	if len(s.by) > 0 {
		s.keys = newKeys(types)
	}
	for _, a := range p.aggregates {
		var args [2]evaluator
		for i, e := range [2]Expr{a.Arg, a.By} {
			if e != nil {
				args[i] = s.lane.bind(e)
			}
		}
		s.args = append(s.args, args)
		acc := a.accumulator()
		if s.keys == nil {
			acc.grow(1)
		}
		s.accs = append(s.accs, acc)
	}
	return s
}

// Push implements scan.Sink.
func (s *aggregateSink) Push(_ context.Context, b *column.Batch) (err error) {
	defer recovered(&err)
	start := time.Now()
	s.lane.batch++
	sel, failed := s.filter.pass(b)
	passed := live(b.N, sel)
	start = s.stage.filtered.count(b.Live(), passed, start)
	if failed == nil && passed > 0 {
		failed = s.add(b, sel)
	}
	s.stage.finished.count(passed, 0, start)
	if failed != nil {
		return s.stage.plan.place(b, failed)
	}
	return s.account()
}

func (s *aggregateSink) add(b *column.Batch, sel []int32) *rowError {
	var groups []int32
	if s.keys != nil {
		for i, e := range s.by {
			v, err := e.eval(b, sel)
			if err != nil {
				return asRowError(err)
			}
			s.cols[i] = v
		}
		s.groups = s.keys.assign(s.cols, b.N, sel, s.groups)
		groups = s.groups
	}
	for i, acc := range s.accs {
		var in [2]*column.Vector
		for j, arg := range s.args[i] {
			if arg != nil {
				var err error
				if in[j], err = arg.eval(b, sel); err != nil {
					return asRowError(err)
				}
			}
		}
		if s.keys != nil {
			acc.grow(s.keys.len())
		}
		acc.add(in[0], in[1], b.N, sel, groups)
	}
	return nil
}

// account reports the growth of the state to the budget of the run.
func (s *aggregateSink) account() error {
	n := 0
	if s.keys != nil {
		n = s.keys.bytes()
	}
	for _, a := range s.accs {
		n += a.bytes()
	}
	total := s.stage.rows.memory.Add(int64(n - s.held))
	s.held = n
	return s.stage.rows.checkMemory(total, "the groups")
}

// Finish implements scan.Sink. The run merges the lanes when all have ended.
func (s *aggregateSink) Finish(context.Context) error { return nil }

// merge takes the groups of another lane, which is then of no more use.
func (s *aggregateSink) merge(from *aggregateSink) {
	to := []int32{0}
	if s.keys != nil {
		to = s.keys.merge(from.keys)
	}
	for i, acc := range s.accs {
		if s.keys != nil {
			acc.grow(s.keys.len())
		}
		acc.merge(from.accs[i], to)
	}
}

// emit implements partial.
func (s *aggregateSink) emit(others []partial, out output) error {
	start := time.Now()
	for _, o := range others {
		if err := context.Cause(s.stage.rows.ctx); err != nil {
			return err
		}
		s.merge(o.(*aggregateSink))
	}
	s.stage.took(start)
	return s.emitGroups(out)
}

// emitGroups hands out the results of all groups.
func (s *aggregateSink) emitGroups(to output) error {
	groups := 1
	if s.keys != nil {
		groups = s.keys.len()
	}
	options := &s.stage.rows.options
	first, last, _ := s.stage.claim(groups)
	for g := first; g < last; {
		out := to.take()
		for ; g < last && out.N < options.MaxBatchRows && viewBytes(out) < options.MaxBatchBytes; g++ {
			if s.keys != nil {
				s.keys.emit(int32(g), out.Cols)
			}
			for i, acc := range s.accs {
				acc.emit(g, &out.Cols[len(s.by)+i])
			}
			out.N++
		}
		if err := to.give(out, g < last); err != nil {
			return err
		}
	}
	s.stage.finished.out.Add(int64(last - first))
	return nil
}
