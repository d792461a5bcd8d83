package planner

import (
	"fmt"
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// Scan is the node that replaces the subtree above a Table: what package ops computes while the records are read. Its rows have the
// layout of the subtree's; columns that nobody above needs are nil.
//
// While a plan is rewritten a Scan grows by copies: every rule that absorbs a node returns a new one. finish then fixes the fields to
// read and compiles the pipeline; only a finished Scan can run, and it is immutable.
//
// The engine recognises the leaves that it must prefix with the outer row of a correlated scope by their interface; sql.Projector and
// sql.TableFunction are such, and Scan is both.
type Scan struct {
	table  Table
	schema sql.Schema
	// exprs are the columns as expressions with ids, for rules of the engine that look for ids.
	exprs   []sql.Expression
	outputs []output

	domain     domain
	predicates []predicate
	filters    []kernel
	// keys group and aggregates are computed; then the outputs are results of them.
	keys     []kernel
	keyTexts []string
	// keyExprs are the keys as what is above the groups may repeat them, nil where columns have other names. keysBelow says that a projection is in between.
	keyExprs   []sql.Expression
	keysBelow  bool
	aggregates []aggregate
	// having are conditions on results, computed in the scan too.
	having      []kernel
	havingTexts []string
	// order sorts the rows, or the groups, before limit and offset, which then say how many are kept.
	order []sortKey
	// limit is the number of rows after the first offset ones, -1 for all.
	limit, offset int64
	// options bound what the scan may use.
	options Options
	// kept is not nil for a scan that a statement may run more than once.
	kept *kept

	// What follows is fixed by finish. about is what EXPLAIN says of the table's arguments.
	about   []string
	request scan.Request
	// stored is the request of a stored table; its conditions grow with the scan.
	stored StoredRequest
	// unsaid is set when its conditions do not say all that the filters do.
	unsaid bool
	// trusted is set when the user has asserted how far records are out of the order of their timestamps. live is set when the read follows the
	// topics: then it has no end to begin at.
	trusted, live bool
	plan          *ops.Plan
	// merging is the plan for a store that computes partial results, nil when it is not asked to.
	merging *ops.Plan
	// from says which column of the plan's batches each output is, -1 for one that is unneeded.
	from []int
}

// output is a column of a Scan.
type output struct {
	kernel
	id sql.ColumnId
	// result, in a scan that is aggregated, is the position among the keys and, after them, the aggregates of which the column is the result; -1 for a
	// column that is computed of results. The kernel is then one over results.
	result int
	// unneeded columns are nil in every row.
	unneeded bool
}

// predicate is a conjunct of a filter and what became of it, for EXPLAIN.
type predicate struct {
	text   fmt.Stringer
	pushed pushed
}

// words are a text that is not made of an expression.
type words string

func (w words) String() string { return string(w) }

// pushed is how a predicate was pushed.
type pushed uint8

const (
	// notPushed predicates stay in the engine.
	notPushed pushed = iota
	// exact predicates are the source's bounds.
	exact
	// inexact predicates bound the source and are checked again, in the scan or, when residual, in the engine.
	inexact
	inexactResidual
	// compiled predicates are checked in the scan.
	compiled
	// lent predicates stay where they are, above a join or a union, and are checked in the scan too, or only bound it.
	lent
	lentBounds
)

func (p pushed) String() string {
	return [...]string{"not pushed", "exact", "inexact, checked in the scan", "inexact, checked by the engine", "checked in the scan",
		"lent: checked in the scan too", "lent: bounds the scan too"}[p]
}

var (
	_ sql.TableFunction = (*Scan)(nil)
	_ sql.Projector     = (*Scan)(nil)
	_ sql.ExecSourceRel = (*Scan)(nil)
	_ sql.Describable   = (*Scan)(nil)
	_ sql.DebugStringer = (*Scan)(nil)
)

// newScan is the scan of everything that t offers, under the alias that the engine has put above it.
func newScan(ctx *sql.Context, t Table, alias *plan.TableAlias) (*Scan, bool) {
	layout := t.Layout()
	schema := t.Schema(ctx)
	s := &Scan{table: t, schema: schema, domain: everything(), limit: -1}
	for i := range layout.Columns {
		s.outputs = append(s.outputs, output{kernel: layout.kernel(i, schema[i].Type)})
	}
	conditions, texts := layout.conditions()
	s.filters = conditions
	for _, text := range texts {
		s.predicates = append(s.predicates, predicate{words(text), compiled})
	}
	if alias == nil {
		return s, true
	}
	return s.named(ctx, alias)
}

// named is s with the schema and ids of n, which renames the columns of s and nothing else.
func (s *Scan) named(ctx *sql.Context, n plan.TableIdNode) (*Scan, bool) {
	schema := n.Schema(ctx)
	var ids []sql.ColumnId
	n.Columns().ForEach(func(id sql.ColumnId) { ids = append(ids, id) })
	if len(schema) != len(s.outputs) || len(ids) != len(schema) {
		return nil, false
	}
	c := s.copy()
	c.keyExprs = nil
	c.schema = schema
	c.exprs = make([]sql.Expression, len(schema))
	for i, col := range schema {
		c.outputs[i].id = ids[i]
		c.exprs[i] = expression.NewGetFieldWithTable(int(ids[i]), int(n.Id()), col.Type, col.DatabaseSource, col.Source, col.Name, col.Nullable).WithIndex(i)
	}
	return c, true
}

// copy is a Scan that can be changed without changing s.
func (s *Scan) copy() *Scan {
	c := *s
	c.outputs = slices.Clone(s.outputs)
	c.predicates = slices.Clone(s.predicates)
	c.filters = slices.Clone(s.filters)
	c.having, c.havingTexts = slices.Clone(s.having), slices.Clone(s.havingTexts)
	c.order = slices.Clone(s.order)
	c.stored.Where = slices.Clone(s.stored.Where)
	return &c
}

// bounded reports whether rows are dropped by number, after which no filter may be added.
func (s *Scan) bounded() bool { return s.limit >= 0 || s.offset > 0 }

// finish fixes what is read and compiles the pipeline.
func (s *Scan) finish(ctx *sql.Context) (*Scan, error) {
	c := s.copy()
	c.about = c.table.Describe(ctx)
	c.live = live(ctx, c.table)
	if t, ok := c.table.(TimeOrdered); ok {
		c.trusted = t.TimeOrdered(ctx) && !c.live
	}
	in := new(inputs)
	p := ops.Pipeline{Limit: c.limit, Offset: c.offset}
	for _, k := range c.filters {
		e, err := k.build(in)
		if err != nil {
			return nil, err
		}
		p.Filter = append(p.Filter, e)
	}
	c.from = make([]int, len(c.outputs))
	if c.aggregated() {
		if err := c.buildAggregates(&p, in); err != nil {
			return nil, err
		}
	} else if err := c.buildRows(&p, in); err != nil {
		return nil, err
	}
	if c.mayFail() && !c.isStored() {
		p.Position = in.position()
	}
	p.Input = in.columns()
	if p.Then != nil {
		p.Then.Input = p.Results()
	}
	compiled, err := p.Compile()
	if err != nil {
		return nil, fmt.Errorf("compile the scan: %w", err)
	}
	c.plan = compiled
	if c.stored.Aggregation, c.merging, err = c.partials(p, in); err != nil {
		return nil, fmt.Errorf("compile the scan of partial results: %w", err)
	}
	c.request = scan.Request{Fields: in.fields, Bounds: c.domain.bounds(), Limit: -1}
	if c.limit >= 0 && len(c.order) == 0 && !c.aggregated() {
		c.request.Limit = c.limit + c.offset
	}
	c.stored.Columns, c.stored.Limit, c.stored.Top = in.stored, c.request.Limit, c.topOf()
	if n, ok := c.newest(); ok {
		c.request.Newest = &n
	}
	c.request.Extremes = c.extremesOnly()
	return c, nil
}

// buildRows adds the columns that are needed to p, and their order.
func (s *Scan) buildRows(p *ops.Pipeline, in *inputs) error {
	for i, o := range s.outputs {
		s.from[i] = -1
		if o.unneeded {
			continue
		}
		e, err := o.build(in)
		if err != nil {
			return err
		}
		s.from[i] = len(p.Project)
		p.Project = append(p.Project, e)
		p.Names = append(p.Names, s.schema[i].Name)
	}
	return s.buildOrder(p, in)
}

// buildAggregates adds keys and aggregates to p, and what is computed of them as the pipeline that follows.
func (s *Scan) buildAggregates(p *ops.Pipeline, in *inputs) error {
	place, err := s.dropUnused()
	if err != nil {
		return err
	}
	for _, k := range s.keys {
		e, err := k.build(in)
		if err != nil {
			return err
		}
		p.GroupBy = append(p.GroupBy, e)
	}
	for _, a := range s.aggregates {
		agg, err := a.build(in)
		if err != nil {
			return err
		}
		p.Aggregates = append(p.Aggregates, agg)
	}
	results := &inputs{place: place}
	computed := len(s.having) > 0 || len(s.order) > 0
	for i, o := range s.outputs {
		s.from[i] = o.result
		if o.unneeded {
			s.from[i] = -1
		}
		computed = computed || o.result < 0 && !o.unneeded
	}
	if !computed {
		return nil
	}
	then := &ops.Pipeline{Limit: p.Limit, Offset: p.Offset}
	p.Limit, p.Offset, p.Then = -1, 0, then
	for _, k := range s.having {
		e, err := k.build(results)
		if err != nil {
			return err
		}
		then.Filter = append(then.Filter, e)
	}
	return s.buildRows(then, results)
}

// aggregated reports whether the outputs are made of the results of aggregates and their keys.
func (s *Scan) aggregated() bool { return s.keys != nil || s.aggregates != nil }

// mayFail reports whether a value may be an error, which then should name its record.
func (s *Scan) mayFail() bool {
	fails := func(k kernel) bool { return k.fails }
	if s.aggregated() { // an error of a group has no record
		return slices.ContainsFunc(s.filters, fails) || slices.ContainsFunc(s.keys, fails) || slices.ContainsFunc(s.aggregates, func(a aggregate) bool { return a.fails })
	}
	return slices.ContainsFunc(s.filters, fails) || slices.ContainsFunc(s.order, func(k sortKey) bool { return k.fails }) ||
		slices.ContainsFunc(s.outputs, func(o output) bool { return o.fails && !o.unneeded })
}

// RowIter implements sql.ExecSourceRel. The outer row of a correlated scope, if any, is prefixed by the engine.
func (s *Scan) RowIter(ctx *sql.Context, _ sql.Row) (sql.RowIter, error) {
	if s.plan == nil {
		return nil, fmt.Errorf("planner: a scan that was not finished cannot run")
	}
	if s.kept == nil {
		return s.read(ctx)
	}
	rows, ok, collect := s.kept.get(ctx)
	if ok {
		if f := readingFigures(ctx); f != nil {
			f.reused.Add(1)
		}
		return &keptIter{rows: rows}, nil
	}
	iter, err := s.read(ctx)
	if err != nil || !collect {
		return iter, err
	}
	return &keepingIter{RowIter: iter, into: s.kept, held: s.options.scanBudget(ctx).Account()}, nil
}

// read starts the scan.
func (s *Scan) read(ctx *sql.Context) (sql.RowIter, error) {
	budget := s.options.scanBudget(ctx)
	faults := new(scan.Faults)
	src, err := s.open(ctx, budget, faults)
	if err != nil {
		return nil, err
	}
	plan := s.plan
	if store.Aggregated(src) {
		plan = s.merging
	}
	if readingFigures(ctx) != nil {
		src = &watchedSource{Source: src}
	}
	o := ops.RunOptions{Memory: budget, Temp: s.options.Temp, SpillBytes: s.options.SpillBytes, Faults: faults}
	if live(ctx, s.table) {
		// There may be many of them, and a client that does not read must not cost much: the source reads again what it has to.
		o.MaxBatchBytes, o.QueueBytes = liveBatchBytes, liveQueueBytes
	}
	return newRowIter(ctx, s, src, ops.Run(ctx, src, plan, o), budget), nil
}

// What a read that follows topics may hold.
const (
	liveBatchBytes = 64 << 10
	liveQueueBytes = 256 << 10
)

// batchFields describes the batches of the scan as the engine's schema has them, and whether they can be sent as they are: every column is
// needed and none has values to convert.
func (s *Scan) batchFields() ([]column.Field, bool) {
	fields := make([]column.Field, len(s.outputs))
	for i, o := range s.outputs {
		if s.from[i] < 0 {
			return nil, false
		}
		f := s.plan.Fields()[s.from[i]]
		kind, ok := direct(o.typ, f.Type)
		if !ok {
			return nil, false
		}
		fields[i] = column.Field{Name: s.schema[i].Name, Type: kind, Nullable: f.Nullable}
	}
	return fields, true
}

// Schema implements sql.Node.
func (s *Scan) Schema(*sql.Context) sql.Schema { return s.schema }

// ProjectedExprs implements sql.Projector.
func (s *Scan) ProjectedExprs() []sql.Expression { return s.exprs }

// Resolved implements sql.Node.
func (s *Scan) Resolved() bool { return s.table.Resolved() }

// IsReadOnly implements sql.Node.
func (s *Scan) IsReadOnly() bool { return true }

// Children implements sql.Node: a Scan is a leaf.
func (s *Scan) Children() []sql.Node { return nil }

// WithChildren implements sql.Node.
func (s *Scan) WithChildren(_ *sql.Context, children ...sql.Node) (sql.Node, error) {
	if len(children) != 0 {
		return nil, sql.ErrInvalidChildrenNumber.New(s, len(children), 0)
	}
	return s, nil
}

// Expressions implements sql.Expressioner. The arguments are the table's own affair.
func (s *Scan) Expressions() []sql.Expression { return nil }

// WithExpressions implements sql.Expressioner.
func (s *Scan) WithExpressions(_ *sql.Context, exprs ...sql.Expression) (sql.Node, error) {
	if len(exprs) != 0 {
		return nil, sql.ErrInvalidChildrenNumber.New(s, len(exprs), 0)
	}
	return s, nil
}

// Name implements sql.Nameable.
func (s *Scan) Name() string { return s.table.Name() }

// Database implements sql.Databaser.
func (s *Scan) Database() sql.Database { return s.table.Database() }

// WithDatabase implements sql.Databaser. A finished plan has its database.
func (s *Scan) WithDatabase(sql.Database) (sql.Node, error) { return s, nil }

// NewInstance implements sql.TableFunction. Only a registered function is instantiated.
func (s *Scan) NewInstance(*sql.Context, sql.Database, []sql.Expression) (sql.Node, error) {
	return s, nil
}

// FullScan gives all records of t with all columns: how a Table runs when nothing is pushed into it.
func FullScan(ctx *sql.Context, t Table) (sql.RowIter, error) {
	s, _ := newScan(ctx, t, nil)
	s, err := s.finish(ctx)
	if err != nil {
		return nil, err
	}
	return s.RowIter(ctx, nil)
}
