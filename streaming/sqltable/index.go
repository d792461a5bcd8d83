package sqltable

import "github.com/dolthub/go-mysql-server/sql"

var _ sql.IndexAlterableTable = (*Table)(nil)

// indexWarning is the code of the warning about indexes, which is that of what tables do not keep.
const indexWarning = 31100

// CreateIndex implements sql.IndexAlterableTable. Scans skip what cannot qualify by the bounds of each segment, so there is nothing that an index would do. It is
// accepted because dumps and tools make some, and said so.
func (t *Table) CreateIndex(ctx *sql.Context, index sql.IndexDef) error {
	ctx.Warn(indexWarning, "index '%s' of table '%s' is not kept: the bounds of stored segments are used instead, and nothing is enforced", index.Name, t.Name())
	return nil
}

// DropIndex implements sql.IndexAlterableTable.
func (t *Table) DropIndex(_ *sql.Context, name string) error { return sql.ErrIndexNotFound.New(name) }

// RenameIndex implements sql.IndexAlterableTable.
func (t *Table) RenameIndex(_ *sql.Context, from, _ string) error {
	return sql.ErrIndexNotFound.New(from)
}

var _ sql.IndexSearchableTable = (*Table)(nil)

// SkipIndexCosting implements sql.IndexSearchableTable: without indexes there is nothing to weigh, and figures of the table to weigh it by cost more than a
// look-up.
func (t *Table) SkipIndexCosting() bool { return true }

// LookupForExpressions implements sql.IndexSearchableTable.
func (t *Table) LookupForExpressions(*sql.Context, ...sql.Expression) (sql.IndexLookup, *sql.FuncDepSet, sql.Expression, bool, error) {
	return sql.IndexLookup{}, nil, nil, false, nil
}

// GetIndexes implements sql.IndexAddressable.
func (t *Table) GetIndexes(*sql.Context) ([]sql.Index, error) { return nil, nil }

// IndexedAccess implements sql.IndexAddressable. There is no index to be asked of.
func (t *Table) IndexedAccess(*sql.Context, sql.IndexLookup) sql.IndexedTable { return nil }

// PreciseMatch implements sql.IndexAddressable.
func (t *Table) PreciseMatch() bool { return false }
