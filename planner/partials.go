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
		part, ok := partialOf(x, in)
		if !ok {
			return nil, nil, nil
		}
		f, err := x.Result()
		if err != nil {
			return nil, nil, err
		}
		part.Type = f.Type
		a.Partials = append(a.Partials, part)
		merged.Aggregates = append(merged.Aggregates, ops.Aggregate{Func: x.Func, Arg: input(f), Merge: true})
	}
	if p.Then != nil {
		then := *p.Then
		then.Input, merged.Then = merged.Results(), &then
	}
	plan, err := merged.Compile()
	return a, plan, err
}

// partialOf is x as a store computes it. Sums and extremes of doubles depend on the order of the rows.
func partialOf(x ops.Aggregate, in *inputs) (store.Partial, bool) {
	if x.Arg == nil {
		return store.Partial{Func: store.CountRows}, x.Func == ops.Count
	}
	i, ok := ops.ColumnIndex(x.Arg)
	if !ok {
		return store.Partial{}, false
	}
	part := store.Partial{Column: in.stored[i]}
	double := x.Arg.Type().Kind == column.Float64
	switch x.Func {
	case ops.Count:
		part.Func = store.CountValues
	case ops.Sum:
		part.Func, ok = store.SumValues, !double
	case ops.Min:
		part.Func, ok = store.MinValue, !double
	case ops.Max:
		part.Func, ok = store.MaxValue, !double
	default:
		ok = false
	}
	return part, ok
}
