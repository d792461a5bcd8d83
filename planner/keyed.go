package planner

import (
	"context"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// Lookup is the plan of a look-up by keys, which runs again with other keys: see docs/adr/0016-kept-plans.md. It is immutable, and may run any number of times, also
// at once. How long it holds is for the caller to say: until the table, or a setting of the session that planned it, is another.
type Lookup struct {
	// scan is finished; the filter of its plan has a Key for each of keys, and its conditions on the stored rows are in the same order.
	scan *Scan
	// texts says for each key whether its value is a text, and not an integer.
	texts []bool
	// fields are those of whole batches, nil when rows cannot be sent as they are.
	fields []column.Field
}

// Key is a condition of a look-up: the column that must have the value, an int64 or a string.
type Key struct {
	Column string
	Value  any
}

// PlanOf is the plan that a statement has run by, for a context under that of WithStatement; nil before the statement runs.
func PlanOf(ctx context.Context) sql.Node {
	s := statementMemoryOf(ctx)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plan
}

// KeepLookup makes a Lookup of the plan of SELECT columns FROM table WHERE column = value AND …, whose conditions are keys. It refuses what is not obviously that: the
// plan must be one scan of that table, and not of one below a view, with one condition for each key, on a column of its own, that says nothing but column = value. Then
// the values have had no part in how the plan was made, but for being there.
func KeepLookup(ctx *sql.Context, n sql.Node, table sql.Table, keys []Key) (*Lookup, bool) {
	s, ok := n.(*Scan)
	if !ok || s.plan == nil || !s.isStored() || s.kept != nil || s.aggregated() || len(s.having) > 0 || len(s.order) > 0 || s.stored.Top != nil || s.stored.Aggregation != nil {
		return nil, false
	}
	if len(keys) == 0 || len(s.filters) != len(keys) || len(s.predicates) != len(keys) || len(s.stored.Where) != len(keys) {
		return nil, false
	}
	if slices.ContainsFunc(s.predicates, func(p predicate) bool { return p.pushed != compiled }) || slices.ContainsFunc(s.outputs, func(o output) bool { return !o.stored || o.unneeded }) {
		return nil, false
	}
	leaf := s.table.(storedLeaf)
	if sql.Table(leaf.table) != table {
		return nil, false
	}
	c := s.copy()
	l := &Lookup{scan: c, texts: make([]bool, len(keys))}
	fields, schema := leaf.table.StoredColumns(), leaf.table.Schema(ctx)
	taken := map[int]bool{}
	for i, key := range keys {
		at := slices.IndexFunc(fields, func(f column.Field) bool { return strings.EqualFold(f.Name, key.Column) })
		if at < 0 || taken[at] {
			return nil, false
		}
		taken[at] = true
		x := storedKernel(at, fields[at], schema[at].Type)
		if l.texts[i], ok = keyClass(x); !ok || !l.takes(i, key.Value) {
			return nil, false
		}
		// What the planner has made of the value must be what Rows will make of others.
		want := store.Condition{Column: at, Ranges: []store.Range{store.Point(storedKey(key.Value))}}
		if !slices.ContainsFunc(s.stored.Where, func(have store.Condition) bool { return sameCondition(have, want) }) {
			return nil, false
		}
		c.stored.Where[i] = store.Condition{Column: at}
		if c.filters[i], ok = unary(types.Boolean, x, func(x ops.Expr) (ops.Expr, error) { return ops.Key(x, i) }); !ok {
			return nil, false
		}
	}
	finished, err := c.finish(ctx)
	if err != nil {
		return nil, false // the plan at hand can do without
	}
	l.scan = finished
	if fields, ok := finished.batchFields(); ok {
		l.fields = fields
	}
	return l, true
}

// keyClass says whether a column is compared with keys as integers or as texts; ok is false where it depends on the value what the comparison is.
func keyClass(k kernel) (text, ok bool) {
	if k.integral() {
		return false, true
	}
	return true, k.kind.Kind == column.Text && types.IsTextOnly(k.typ) && bytewise(k.typ)
}

// sameCondition reports whether a, of one range, is b.
func sameCondition(a, b store.Condition) bool {
	return a.Column == b.Column && !a.Null && len(a.Ranges) == 1 && a.Ranges[0] == b.Ranges[0]
}

func storedKey(v any) store.Value {
	if n, ok := v.(int64); ok {
		return store.Int(n)
	}
	return store.Text(v.(string))
}

// takes reports whether v is of the class of key i.
func (l *Lookup) takes(i int, v any) bool {
	var ok bool
	if l.texts[i] {
		_, ok = v.(string)
	} else {
		_, ok = v.(int64)
	}
	return ok
}

// Takes reports whether the look-up may run with these values, in the order of its keys. Others, such as a text for a number, are compared by other rules.
func (l *Lookup) Takes(values []any) bool {
	if len(values) != len(l.texts) {
		return false
	}
	for i, v := range values {
		if !l.takes(i, v) {
			return false
		}
	}
	return true
}

// Rows runs the look-up with values that it takes.
func (l *Lookup) Rows(ctx *sql.Context, values []any) (sql.RowIter, error) {
	return l.with(values).read(ctx)
}

// Whole reports whether the rows can be had as batches, by Push.
func (l *Lookup) Whole() bool { return l.fields != nil }

// Push runs the look-up with values that it takes, on the goroutine of the caller. begin is called when it is known what will be read, then take with each batch, which it must not
// keep.
func (l *Lookup) Push(ctx *sql.Context, values []any, begin func() error, take func(*column.Batch) error) error {
	s := l.with(values)
	budget, faults := s.options.scanBudget(ctx), new(scan.Faults)
	src, err := s.open(ctx, budget, faults)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := begin(); err != nil {
		return err
	}
	var batch column.Batch
	return ops.Push(ctx, src, s.plan, ops.RunOptions{Memory: budget, Faults: faults}, func(b *column.Batch) error {
		arrange(&batch, b, s.from, l.fields)
		return take(&batch)
	})
}

// with is the scan of some values.
func (l *Lookup) with(values []any) *Scan {
	keys := make([]ops.KeyValue, len(values))
	where := make([]store.Condition, len(values))
	ranges := make([]store.Range, len(values))
	for i, v := range values {
		if l.texts[i] {
			keys[i].Text = v.(string)
		} else {
			keys[i].Int = v.(int64)
		}
		ranges[i] = store.Point(storedKey(v))
		where[i] = store.Condition{Column: l.scan.stored.Where[i].Column, Ranges: ranges[i : i+1 : i+1]}
	}
	s := *l.scan
	s.stored.Where = where
	s.plan = s.plan.WithKeys(keys)
	return &s
}
