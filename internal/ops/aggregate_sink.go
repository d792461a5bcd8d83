package ops

import (
	"context"
	"time"

	"millrace/internal/column"
	"millrace/internal/memory"
)

// aggregateSink filters and keeps the partial aggregates of a lane.
type aggregateSink struct {
	stage  *stage
	lane   *lane
	filter filterEval
	by     []evaluator
	args   [][2]evaluator // Arg and By of each aggregate, nil where it has none
	cols   []*column.Vector
	groups []int32

	table *groupTable
	held  memory.Account
	// spilled are the groups that were written out, nil for none.
	spilled *parts
}

func (st *stage) newAggregateSink() *aggregateSink {
	p := st.plan
	s := &aggregateSink{stage: st, lane: st.newLane(), table: p.newGroupTable(), held: st.rows.state.Account()}
	s.filter = p.bindFilter(s.lane)
	for _, e := range p.groupBy {
		s.by = append(s.by, s.lane.bindKey(e))
	}
	s.cols = make([]*column.Vector, len(s.by))
	for _, a := range p.aggregates {
		var args [2]evaluator
		for i, e := range [2]Expr{a.Arg, a.By} {
			if e != nil {
				args[i] = s.lane.bind(e)
			}
		}
		s.args = append(s.args, args)
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
	if failed == nil {
		err = s.account()
	}
	s.stage.finished.count(passed, 0, start)
	if failed != nil {
		return s.stage.plan.place(b, failed)
	}
	return err
}

func (s *aggregateSink) add(b *column.Batch, sel []int32) *rowError {
	var groups []int32
	if s.table.keys != nil {
		for i, e := range s.by {
			v, err := e.eval(b, sel)
			if err != nil {
				return asRowError(err)
			}
			s.cols[i] = v
		}
		s.groups = s.table.keys.assign(s.cols, b.N, sel, s.groups)
		groups = s.groups
		s.table.grow()
	}
	for i, acc := range s.table.accs {
		var in [2]*column.Vector
		for j, arg := range s.args[i] {
			if arg != nil {
				var err error
				if in[j], err = arg.eval(b, sel); err != nil {
					return asRowError(err)
				}
			}
		}
		acc.add(in[0], in[1], b.N, sel, groups)
	}
	return nil
}

// account tells the budget what the table holds. When that is too much the groups are written out, and the lane starts over.
func (s *aggregateSink) account() error {
	n := s.table.bytes()
	if s.held.Set(n) {
		return nil
	}
	s.held.Force(n) // it is there
	switch r := s.stage.rows; {
	case n < int64(r.options.SpillBytes):
		return nil
	case !s.table.canSpill() || r.temp.space == nil:
		return r.outOfMemory("the groups")
	default:
		return s.spill()
	}
}

// spill writes all groups out.
func (s *aggregateSink) spill() error {
	if s.spilled == nil {
		s.spilled = new(parts)
	}
	if err := s.spilled.write(&s.stage.rows.temp, s.table); err != nil {
		return err
	}
	s.table = s.stage.plan.newGroupTable()
	s.held.Close()
	return nil
}

// Finish implements scan.Sink. The run combines the lanes when all have ended.
func (s *aggregateSink) Finish(context.Context) error { return nil }

// emit implements partial. As long as all groups fit, they are merged into the table of the first lane; else each part of them is merged by itself.
func (s *aggregateSink) emit(others []partial, out output) error {
	start := time.Now()
	for _, p := range others {
		if err := context.Cause(s.stage.rows.ctx); err != nil {
			return err
		}
		o := p.(*aggregateSink)
		switch {
		case s.spilled == nil && o.spilled == nil:
			s.table.merge(o.table)
			o.table = nil
			o.held.Close()
			if err := s.account(); err != nil {
				return err
			}
			continue
		case o.spilled == nil:
			o.spilled = new(parts)
		case s.spilled == nil:
			s.spilled = new(parts)
		}
		if err := o.spill(); err != nil {
			return err
		}
		s.spilled.add(o.spilled)
	}
	if s.spilled == nil {
		s.stage.took(start)
		return s.stage.emitGroups(s.table, out)
	}
	if err := s.spill(); err != nil {
		return err
	}
	s.stage.took(start)
	return s.stage.emitParts(s.spilled, out)
}
