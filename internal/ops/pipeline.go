package ops

import (
	"fmt"
	"slices"
	"strings"

	"millrace/internal/column"
)

// Position says which input columns place a record, for the text of errors. The columns are Text, Int32 and Int64.
type Position struct{ Topic, Partition, Offset int }

// Pipeline describes what to do with the rows of a scan: keep those for which every Filter is true, then either compute Project,
// or group by GroupBy and compute Aggregates (one group when GroupBy is empty), then sort by OrderBy, leave out Offset rows and
// hand out at most Limit.
type Pipeline struct {
	// Input are the columns of the batches that the source delivers.
	Input  []column.Field
	Filter []Expr
	// Project are the output columns. None is allowed: the batches then only count rows. It must be empty with aggregates or groups.
	Project []Expr
	// Names are the names of the output columns, GroupBy before Aggregates. Where it is short, columns are named by their text.
	Names      []string
	Aggregates []Aggregate
	GroupBy    []Expr
	// OrderBy sorts the rows of a projection. With a Limit that takes memory for twice as many rows, else for all. It must be empty with aggregates.
	OrderBy []Order
	// Limit is the most rows to hand out, -1 for all. Offset rows are left out before.
	Limit, Offset int64
	// Position is nil when errors cannot name records.
	Position *Position
	// Then, when not nil, takes the result of the aggregates as its input: it filters, computes, sorts and limits groups. Its Input must be the
	// Fields of this, which then has no limit of its own.
	Then *Pipeline
}

// Plan is a Pipeline that was checked. It is immutable and may run any number of times, also at once.
type Plan struct {
	filter     []Expr
	project    []Expr
	aggregates []Aggregate
	groupBy    []Expr
	order      ordering
	fields     []column.Field
	limit      int64 // offset included; -1 for none
	offset     int64
	position   *Position
	uses       map[string]int
	then       *Plan
}

// Results describes the keys and aggregates, in this order, as a pipeline that follows has them for its input.
func (p *Pipeline) Results() []column.Field {
	var list []column.Field
	for _, e := range p.GroupBy {
		list = append(list, column.Field{Name: e.String(), Type: e.Type(), Nullable: e.Nullable()})
	}
	for _, a := range p.Aggregates {
		f, _ := a.Result() // Compile finds what is wrong with it
		list = append(list, f)
	}
	return list
}

// Compile checks p and prepares it to run.
func (p *Pipeline) Compile() (*Plan, error) {
	plan := &Plan{
		project: p.Project, aggregates: p.Aggregates, groupBy: p.GroupBy,
		limit: -1, offset: max(p.Offset, 0), uses: map[string]int{},
	}
	if p.Limit >= 0 {
		if plan.limit = p.Limit + plan.offset; plan.limit < 0 {
			plan.limit = -1 // beyond any number of rows
		}
	}
	if p.Position != nil {
		pos := *p.Position
		plan.position = &pos
	}
	if plan.aggregated() && len(p.Project) > 0 {
		return nil, fmt.Errorf("ops: a pipeline has either a projection or aggregates")
	}
	if err := conditions(p.Filter); err != nil {
		return nil, err
	}
	plan.filter = fuse(p.Filter)
	if plan.order = p.OrderBy; len(p.OrderBy) > 0 {
		if plan.aggregated() {
			return nil, fmt.Errorf("ops: groups are sorted by the pipeline that follows")
		}
		for _, o := range p.OrderBy {
			if !orderable(o.Expr.Type()) {
				return nil, unsupported("sorting by %v is not done on batches", o.Expr.Type())
			}
		}
	}
	all := append(append(append([]Expr(nil), plan.filter...), p.Project...), p.GroupBy...)
	all = append(all, plan.order.exprs()...)
	for _, e := range append(append([]Expr(nil), p.Project...), p.GroupBy...) {
		plan.addField(p.Names, e.String(), e.Type(), e.Nullable())
	}
	for _, e := range p.GroupBy {
		if !groupable(e.Type()) {
			return nil, unsupported("grouping by %v is not done on batches", e.Type())
		}
	}
	for _, a := range p.Aggregates {
		f, err := a.Result()
		if err != nil {
			return nil, err
		}
		plan.addField(p.Names, f.Name, f.Type, f.Nullable)
		all = append(all, a.arguments()...)
	}
	if err := checkColumns(all, p.Input); err != nil {
		return nil, err
	}
	countUses(plan.uses, all)
	if p.Then != nil {
		if !plan.aggregated() || plan.limit >= 0 || plan.offset > 0 {
			return nil, fmt.Errorf("ops: only groups without a limit go on to another pipeline")
		}
		if !slices.Equal(p.Then.Input, plan.fields) {
			return nil, fmt.Errorf("ops: the pipeline that follows expects other columns")
		}
		var err error
		if plan.then, err = p.Then.Compile(); err != nil {
			return nil, err
		}
	}
	return plan, nil
}

func (p *Plan) addField(names []string, name string, t column.Type, nullable bool) {
	if i := len(p.fields); i < len(names) {
		name = names[i]
	}
	p.fields = append(p.fields, column.Field{Name: name, Type: t, Nullable: nullable})
}

// Fields describes the batches that a run hands out.
func (p *Plan) Fields() []column.Field {
	if p.then != nil {
		return p.then.Fields()
	}
	return p.fields
}

// streams reports whether rows are handed on as they come.
func (p *Plan) streams() bool { return !p.aggregated() && len(p.order) == 0 }

func (p *Plan) aggregated() bool { return len(p.aggregates) > 0 || len(p.groupBy) > 0 }

// String is the plan as text, one operator a line, the last one first.
func (p *Plan) String() string {
	var b strings.Builder
	if p.then != nil {
		b.WriteString(p.then.String())
	}
	if p.limit >= 0 || p.offset > 0 {
		b.WriteString("limit")
		if p.limit >= 0 {
			fmt.Fprintf(&b, " %d", p.limit-p.offset)
		}
		if p.offset > 0 {
			fmt.Fprintf(&b, " offset %d", p.offset)
		}
		b.WriteByte('\n')
	}
	if len(p.order) > 0 {
		texts := make([]string, len(p.order))
		for i, o := range p.order {
			texts[i] = o.String()
		}
		fmt.Fprintf(&b, "sort %s\n", strings.Join(texts, ", "))
	}
	list := func(what string, es []Expr) {
		texts := make([]string, len(es))
		for i, e := range es {
			texts[i] = e.String()
		}
		fmt.Fprintf(&b, "%s %s\n", what, strings.Join(texts, ", "))
	}
	if p.aggregated() {
		texts := make([]string, len(p.aggregates))
		for i, a := range p.aggregates {
			texts[i] = a.String()
		}
		fmt.Fprintf(&b, "aggregate %s\n", strings.Join(texts, ", "))
		if len(p.groupBy) > 0 {
			list("  by", p.groupBy)
		}
	} else {
		list("project", p.project)
	}
	if len(p.filter) > 0 {
		list("filter", p.filter)
	}
	return b.String()
}

// fuse flattens conjunctions and joins ranges over one column, so that x >= a AND x < b is one pass.
func fuse(filter []Expr) []Expr {
	var out []Expr
	var add func(e Expr)
	add = func(e Expr) {
		if c, ok := e.(*logic); ok && c.and {
			for _, x := range c.list {
				add(x)
			}
			return
		}
		if r, ok := e.(*inRange); ok && len(out) > 0 {
			// Only neighbours are joined: the order of conjuncts decides which rows later ones see.
			if last, ok := out[len(out)-1].(*inRange); ok && last.x.String() == r.x.String() {
				if both, ok := last.intersect(r); ok {
					out[len(out)-1] = both
					return
				}
			}
		}
		out = append(out, e)
	}
	for _, e := range filter {
		add(e)
	}
	return out
}

// checkColumns finds references that the input does not have.
func checkColumns(list []Expr, input []column.Field) error {
	for _, e := range list {
		if c, ok := e.(*columnRef); ok {
			if c.index < 0 || c.index >= len(input) {
				return fmt.Errorf("ops: '%v' is column %d of an input of %d", c, c.index, len(input))
			}
			if got := input[c.index].Type; got.Kind != c.field.Type.Kind {
				return fmt.Errorf("ops: '%v' is %v, but column %d of the input is %v", c, c.field.Type, c.index, got)
			}
			if input[c.index].Nullable && !c.field.Nullable {
				return fmt.Errorf("ops: '%v' is NOT NULL, but column %d of the input is nullable", c, c.index)
			}
		}
		if err := checkColumns(e.operands(), input); err != nil {
			return err
		}
	}
	return nil
}
