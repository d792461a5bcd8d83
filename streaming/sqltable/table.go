package sqltable

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/column"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/planner"
	"millrace/streaming/store"
)

// Definition is what a table is besides its rows.
type Definition struct {
	Database, Name string
	ID             store.TableID
	Schema         sql.PrimaryKeySchema
	Collation      sql.CollationID
	Comment        string
	// Streaming tables are written by their executor alone.
	Streaming bool
	// InsertBytes bounds what one INSERT may hold, 0 for no bound.
	InsertBytes int
	// Rules are those of its columns at the time of the call, for DESCRIBE; nil for none.
	Rules func(*sql.Context) map[string]planner.ColumnRule
}

// Table is a table of a store. It is immutable: when the columns change there is another one.
type Table struct {
	Definition
	store  store.Store
	fields []column.Field
}

var (
	_ planner.StoredTable   = (*Table)(nil)
	_ planner.RuledTable    = (*Table)(nil)
	_ sql.PrimaryKeyTable   = (*Table)(nil)
	_ sql.StatisticsTable   = (*Table)(nil)
	_ sql.CommentedTable    = (*Table)(nil)
	_ sql.InsertableTable   = (*Table)(nil)
	_ sql.TruncateableTable = (*Table)(nil)
)

// New makes the table of a definition.
func New(s store.Store, d Definition) (*Table, error) {
	fields, err := FieldsOf(d.Schema.Schema)
	if err != nil {
		return nil, err
	}
	schema := make(sql.Schema, len(d.Schema.Schema))
	for i, c := range d.Schema.Schema {
		copied := *c
		copied.Source, copied.DatabaseSource = d.Name, d.Database
		schema[i] = &copied
	}
	d.Schema.Schema = schema
	return &Table{d, s, fields}, nil
}

// Name implements sql.Nameable.
func (t *Table) Name() string { return t.Definition.Name }

func (t *Table) String() string { return t.Definition.Name }

// Schema implements sql.Table.
func (t *Table) Schema(*sql.Context) sql.Schema { return t.Definition.Schema.Schema }

// PrimaryKeySchema implements sql.PrimaryKeyTable.
func (t *Table) PrimaryKeySchema(*sql.Context) sql.PrimaryKeySchema { return t.Definition.Schema }

// Collation implements sql.Table.
func (t *Table) Collation() sql.CollationID { return t.Definition.Collation }

// Comment implements sql.CommentedTable.
func (t *Table) Comment() string { return t.Definition.Comment }

// ColumnRules implements planner.RuledTable.
func (t *Table) ColumnRules(ctx *sql.Context) map[string]planner.ColumnRule {
	if t.Rules == nil {
		return nil
	}
	return t.Rules(ctx)
}

// StoredColumns implements planner.StoredTable.
func (t *Table) StoredColumns() []column.Field { return t.fields }

// OpenStored implements planner.StoredTable.
func (t *Table) OpenStored(ctx *sql.Context, req planner.StoredRequest) (scan.Source, error) {
	snap, err := snapshot(ctx, t.store)
	if err != nil {
		return nil, err
	}
	src, err := t.open(ctx, snap, req)
	if err != nil {
		snap.release()
		return nil, err
	}
	return &source{Source: src, snap: snap}, nil
}

func (t *Table) open(ctx *sql.Context, snap *shared, req planner.StoredRequest) (scan.Source, error) {
	schema, err := snap.Schema(t.ID)
	if errors.Is(err, store.ErrNoTable) {
		return nil, sqlerr.New(sqlerr.NoTable, "table '%s' does not exist", t.Name())
	}
	if err != nil {
		return nil, err
	}
	// The table may have got columns since the statement was planned; those that it knew are where their names are.
	places := make([]int, len(t.fields))
	for i, f := range t.fields {
		places[i] = schema.Index(f.Name)
	}
	spec := store.ScanSpec{Table: t.ID, Limit: req.Limit}
	for _, i := range req.Columns {
		if places[i] < 0 || schema.Columns[places[i]].Type.Kind != t.fields[i].Type.Kind {
			return nil, sqlerr.New(sqlerr.NoColumn, "column '%s' of table '%s' was changed while the statement ran", t.fields[i].Name, t.Name()).WithHint("run the statement again")
		}
		spec.Columns = append(spec.Columns, places[i])
	}
	for _, c := range req.Where {
		if places[c.Column] < 0 {
			req.Aggregation = nil // which wants every condition
			continue
		}
		c.Column = places[c.Column]
		spec.Where = append(spec.Where, c)
	}
	if req.Top != nil {
		top := *req.Top
		top.Column = places[top.Column]
		spec.Top = &top
	}
	if req.Aggregation != nil {
		spec.Aggregation = arrange(req.Aggregation, places)
	}
	return snap.Scan(ctx, spec)
}

// arrange is a with columns where they are now.
func arrange(a *store.Aggregation, places []int) *store.Aggregation {
	moved := store.Aggregation{Partials: slices.Clone(a.Partials)}
	for _, i := range a.Groups {
		moved.Groups = append(moved.Groups, places[i])
	}
	for i := range moved.Partials {
		if p := &moved.Partials[i]; p.Func != store.CountRows {
			p.Column = places[p.Column]
		}
	}
	return &moved
}

// stats gives figures of the table as of the statement.
func (t *Table) stats(ctx *sql.Context) (*store.TableStats, error) {
	snap, err := snapshot(ctx, t.store)
	if err != nil {
		return nil, err
	}
	defer snap.release()
	s, err := snap.Stats(t.ID)
	if errors.Is(err, store.ErrNoTable) {
		return new(store.TableStats), nil
	}
	return s, err
}

// DataLength implements sql.StatisticsTable.
func (t *Table) DataLength(ctx *sql.Context) (uint64, error) {
	s, err := t.stats(ctx)
	if err != nil {
		return 0, err
	}
	return uint64(s.Bytes), nil
}

// RowCount implements sql.StatisticsTable.
func (t *Table) RowCount(ctx *sql.Context) (uint64, bool, error) {
	s, err := t.stats(ctx)
	if err != nil {
		return 0, false, err
	}
	return uint64(s.Rows), true, nil
}

// Partitions implements sql.Table: the engine reads a table as one.
func (t *Table) Partitions(*sql.Context) (sql.PartitionIter, error) { return new(partitions), nil }

// PartitionRows implements sql.Table: the table as it is read when nothing is pushed into it.
func (t *Table) PartitionRows(ctx *sql.Context, _ sql.Partition) (sql.RowIter, error) {
	return planner.FullStoredScan(ctx, t)
}

// Truncate implements sql.TruncateableTable.
func (t *Table) Truncate(ctx *sql.Context) (int, error) {
	if t.Streaming {
		return 0, sqlerr.New(sqlerr.NotSupported, "TRUNCATE of a streaming table is not supported").
			WithHint("REFRESH STREAMING TABLE %s FULL empties it and reads its topics from the start", quoted(t.Name()))
	}
	s, err := t.stats(ctx)
	if err != nil {
		return 0, err
	}
	return int(s.Rows), t.store.TruncateTable(ctx, t.ID)
}

func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// partitions is an iterator of the one partition of a table.
type partitions struct{ done bool }

type partition struct{}

// Key implements sql.Partition.
func (partition) Key() []byte { return []byte("table") }

// Next implements sql.PartitionIter.
func (p *partitions) Next(*sql.Context) (sql.Partition, error) {
	if p.done {
		return nil, io.EOF
	}
	p.done = true
	return partition{}, nil
}

// Close implements sql.PartitionIter.
func (p *partitions) Close(*sql.Context) error { return nil }
