package planner

import (
	"fmt"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"

	"millrace/internal/column"
	"millrace/internal/memory"
	"millrace/internal/ops"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// StoredTable is a table whose rows lie in a store as column batches. The rule finds it below the engine's node for tables.
type StoredTable interface {
	sql.Table

	// StoredColumns describes the columns of the schema, in its order, as a scan delivers them.
	StoredColumns() []column.Field

	// OpenStored fixes what a request reads. It is called once for each execution; the caller closes the source.
	OpenStored(ctx *sql.Context, req StoredRequest) (scan.Source, error)
}

// StoredRequest is what a query wants of a stored table.
type StoredRequest struct {
	// Columns are positions in the schema, in the order of the batch's columns. None is allowed: the batches then only count rows.
	Columns []int
	// Where is a conjunction that every wanted row meets; its columns are positions in the schema. Rows that do not may still be delivered.
	Where []store.Condition
	// Limit is the number of rows after which the scan will stop, -1 for none.
	Limit int64
	// Top, when not nil, says that only the first rows of an order are wanted; its Column is a position in the schema, and among Columns.
	Top *store.Top
	// Aggregation, when not nil, says that partial results will do in place of rows; its columns are positions in the schema, and among Columns. The source then
	// says what it delivers, see store.Aggregated.
	Aggregation *store.Aggregation
}

// addConditions adds what a filter says of stored columns; exact is false when it says more.
func (s *Scan) addConditions(list []store.Condition, exact bool) {
	s.stored.Where, s.unsaid = append(s.stored.Where, list...), s.unsaid || !exact
}

// topOf says which rows of a stored table an order with a limit keeps.
func (s *Scan) topOf() *store.Top {
	if !s.isStored() || s.aggregated() || s.limit < 0 || len(s.order) == 0 || !s.order[0].stored {
		return nil
	}
	return &store.Top{Column: s.order[0].column, Ascending: !s.order[0].desc, Rows: s.limit + s.offset, Ties: len(s.order) == 1}
}

// storedLeaf is a StoredTable as a leaf of a Scan.
type storedLeaf struct {
	*plan.ResolvedTable
	table StoredTable
}

var _ Table = storedLeaf{}

// storedTable gives the StoredTable that a node of the engine reads, if it does.
func storedTable(n *plan.ResolvedTable) (storedLeaf, bool) {
	t, ok := n.UnderlyingTable().(StoredTable)
	return storedLeaf{n, t}, ok
}

// newStoredScan is the scan of a whole stored table.
func newStoredScan(ctx *sql.Context, n *plan.ResolvedTable) (*Scan, bool) {
	leaf, ok := storedTable(n)
	if !ok {
		return nil, false
	}
	return newLeafScan(ctx, leaf).named(ctx, n)
}

func newLeafScan(ctx *sql.Context, leaf storedLeaf) *Scan {
	s := &Scan{table: leaf, schema: leaf.table.Schema(ctx), domain: everything(), limit: -1}
	for i, f := range leaf.table.StoredColumns() {
		s.outputs = append(s.outputs, output{kernel: storedKernel(i, f, s.schema[i].Type)})
	}
	return s
}

// FullStoredScan gives all rows of t with all columns: how a StoredTable runs when nothing is pushed into it.
func FullStoredScan(ctx *sql.Context, t StoredTable) (sql.RowIter, error) {
	s, err := newLeafScan(ctx, storedLeaf{nil, t}).finish(ctx)
	if err != nil {
		return nil, err
	}
	return s.RowIter(ctx, nil)
}

// storedKernel passes column i of a stored table on.
func storedKernel(i int, f column.Field, typ sql.Type) kernel {
	return kernel{
		typ: typ, kind: f.Type, nullable: f.Nullable, stored: true, column: i,
		build: func(in *inputs) (ops.Expr, error) { return in.storedColumn(i, f), nil },
	}
}

// storedColumn makes sure that column i of a stored table is read.
func (in *inputs) storedColumn(i int, f column.Field) ops.Expr {
	for at, have := range in.stored {
		if have == i {
			return ops.Column(at, f)
		}
	}
	in.stored, in.storedFields = append(in.stored, i), append(in.storedFields, f)
	return ops.Column(len(in.stored)-1, f)
}

// open fixes what s reads, what it takes memory from, and where bad data is counted.
func (s *Scan) open(ctx *sql.Context, budget *memory.Budget, faults *scan.Faults) (scan.Source, error) {
	if leaf, ok := s.table.(storedLeaf); ok {
		return leaf.table.OpenStored(ctx, s.stored)
	}
	req := s.request
	req.Memory, req.Faults = budget, faults
	return s.table.Open(ctx, req)
}

// inputNames are the fields of records, or the columns of a stored table, that the source fills.
func (s *Scan) inputNames() []string {
	names := []string{}
	for _, f := range s.request.Fields {
		names = append(names, f.String())
	}
	if leaf, ok := s.table.(storedLeaf); ok {
		fields := leaf.table.StoredColumns()
		for _, i := range s.stored.Columns {
			names = append(names, fields[i].Name)
		}
	}
	return names
}

// isStored reports whether s reads a stored table.
func (s *Scan) isStored() bool {
	_, ok := s.table.(storedLeaf)
	return ok
}

// Layout implements Table. It is never asked, as Open is not: the scan of a stored table knows its columns by number.
func (l storedLeaf) Layout() Layout { return Layout{} }

// Open implements Table.
func (l storedLeaf) Open(*sql.Context, scan.Request) (scan.Source, error) {
	return nil, fmt.Errorf("planner: table %s has no records", l.Name())
}

// Describe implements Table.
func (l storedLeaf) Describe(*sql.Context) []string { return nil }

// Name implements sql.Nameable.
func (l storedLeaf) Name() string { return l.table.Name() }

// Resolved implements sql.Node: a leaf that runs by itself has no node of the engine.
func (l storedLeaf) Resolved() bool { return true }

// Expressions implements sql.Expressioner.
func (l storedLeaf) Expressions() []sql.Expression { return nil }

// WithExpressions implements sql.Expressioner.
func (l storedLeaf) WithExpressions(_ *sql.Context, exprs ...sql.Expression) (sql.Node, error) {
	if len(exprs) != 0 {
		return nil, sql.ErrInvalidChildrenNumber.New(l, len(exprs), 0)
	}
	return l, nil
}

// NewInstance implements sql.TableFunction. Only a registered function is instantiated.
func (l storedLeaf) NewInstance(*sql.Context, sql.Database, []sql.Expression) (sql.Node, error) {
	return l, nil
}
