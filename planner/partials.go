package planner

import (
	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/streaming/store"
)

// partials is what a store may compute of the groups of p, the pipeline of s over in, and the plan that merges its results; nil when that would not come to the same.
// Keys and arguments must be plain columns, and all that filters s a condition of the store: its source has no columns to filter by.
func (s *Scan) partials(p ops.Pipeline, in *inputs) (*store.Aggregation, *ops.Plan, error) {
	if !s.isStored() || !s.aggregated() || s.unsaid || len(in.stored) == 0 { // without columns the store knows the number of rows
		return nil, nil, nil
	}
	a := new(store.Aggregation)
	merged := p
	merged.Input, merged.Filter, merged.GroupBy, merged.Aggregates = nil, nil, nil, nil
	input := func(f column.Field) ops.Expr {
		merged.Input = append(merged.Input, f)
		return ops.Column(len(merged.Input)-1, f)
	}
	for _, e := range p.GroupBy {
		i, ok := ops.ColumnIndex(e)
		if !ok {
			return nil, nil, nil
		}
		a.Groups = append(a.Groups, in.stored[i])
		merged.GroupBy = append(merged.GroupBy, input(in.storedFields[i]))
	}
	for _, x := range p.Aggregates {
		parts, ok := partsOf(x)
		if !ok {
			return nil, nil, nil
		}
		m := ops.Aggregate{Func: x.Func, Merge: true}
		for i, part := range parts {
			partial, ok := partialOf(part, in)
			if !ok {
				return nil, nil, nil
			}
			f, err := part.Result()
			if err != nil {
				return nil, nil, err
			}
			partial.Type = f.Type
			a.Partials = append(a.Partials, partial)
			if i == 0 {
				m.Arg = input(f)
			} else {
				m.By = input(f)
			}
		}
		f, err := x.Result()
		if err != nil {
			return nil, nil, err
		}
		m.As = f.Type
		merged.Aggregates = append(merged.Aggregates, m)
	}
	if p.Then != nil {
		then := *p.Then
		then.Input, merged.Then = merged.Results(), &then
	}
	plan, err := merged.Compile()
	return a, plan, err
}

// partsOf are the aggregates that x can be merged of. An average is a sum and a count.
func partsOf(x ops.Aggregate) ([]ops.Aggregate, bool) {
	switch x.Func {
	case ops.Count, ops.Sum, ops.Min, ops.Max:
		return []ops.Aggregate{x}, true
	case ops.Avg:
		return []ops.Aggregate{{Func: ops.Sum, Arg: x.Arg}, {Func: ops.Count, Arg: x.Arg}}, true
	default:
		return nil, false
	}
}

// partialOf is x as a store computes it, if that is the same. Sums and extremes of doubles depend on the order of the rows.
func partialOf(x ops.Aggregate, in *inputs) (store.Partial, bool) {
	if x.Arg == nil {
		return store.Partial{Func: store.CountRows}, true
	}
	i, ok := ops.ColumnIndex(x.Arg)
	if !ok || x.Func != ops.Count && x.Arg.Type().Kind == column.Float64 {
		return store.Partial{}, false
	}
	f := map[ops.Func]store.PartialFunc{ops.Count: store.CountValues, ops.Sum: store.SumValues, ops.Min: store.MinValue, ops.Max: store.MaxValue}[x.Func]
	return store.Partial{Func: f, Column: in.stored[i]}, true
}
