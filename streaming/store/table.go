package store

import (
	"fmt"
	"slices"

	"millrace/internal/column"
)

// TableID identifies a table for as long as it lives: 1 to 512 bytes of the caller's choice, such as shop.orders. The store gives it no meaning. After
// DropTable it may be used again.
type TableID string

// TableSpec describes a table to create.
type TableSpec struct {
	ID TableID
	// Owner, when not empty, is the table whose writer writes this one too: rows of both can be in one Commit, and this one is truncated
	// and dropped with its owner. It exists already or is created in the same call, and has no owner itself.
	Owner TableID
	// Columns in order; their IDs are given out by the store.
	Columns []Column
	// Cluster names the columns that compaction sorts by, ascending with NULLs first; none keeps the order of commits.
	Cluster []string
	// Durability of the table's commits.
	Durability Durability
}

// Durability says what is promised when Commit returns.
type Durability uint8

const (
	// Sync: the commit survives a power cut.
	Sync Durability = iota
	// Async: a crash may undo the last second of commits, each as a whole and in reverse order, so rows and positions still agree: legal as long as what was
	// read can be read again.
	Async
)

func (d Durability) String() string {
	if d == Async {
		return "async"
	}
	return "sync"
}

// Column is a column of a table.
type Column struct {
	column.Field
	// ID is the column's for ever: it stays through changes of name and type, and is not used again. The store gives it out.
	ID uint32
	// Default is the value of rows that were written before the column was added. The zero Value is NULL.
	Default Value
}

// Schema is an immutable version of a table's columns.
type Schema struct {
	// Version counts from 1; AlterTable adds 1.
	Version    int64
	Columns    []Column
	Cluster    []string
	Durability Durability
}

// Fields are the columns as a batch has them.
func (s *Schema) Fields() []column.Field {
	fields := make([]column.Field, len(s.Columns))
	for i := range s.Columns {
		fields[i] = s.Columns[i].Field
	}
	return fields
}

// Index gives the position of a column by its name, -1 when there is none.
func (s *Schema) Index(name string) int {
	return slices.IndexFunc(s.Columns, func(c Column) bool { return c.Name == name })
}

// TableInfo is an entry in the list of tables.
type TableInfo struct {
	ID, Owner TableID
	Schema    *Schema
}

// SchemaChange is one of AddColumn, DropColumn, RenameColumn, WidenColumn, SetCluster and SetDurability.
type SchemaChange interface{ change(*Schema) error }

// AddColumn adds a column behind the others; rows that are there have its Default.
type AddColumn struct{ Column Column }

// DropColumn drops a column. Adding one of the same name later does not bring values back.
type DropColumn struct{ Name string }

// RenameColumn changes a name.
type RenameColumn struct{ From, To string }

// WidenColumn changes a type to one that holds every value of the former as it is stored, and may make the column nullable: int32 to int64, a decimal to more
// digits before the point, a time or timestamp to more fractional digits, text to bytes; Width to a larger one or none. Anything else needs new rows.
type WidenColumn struct {
	Name     string
	Type     column.Type
	Width    uint32
	Nullable bool
}

// SetCluster changes what compaction sorts by from now on.
type SetCluster struct{ Columns []string }

// SetDurability changes what commits promise from now on.
type SetDurability struct{ Durability Durability }

// Apply gives the schema that changes make of s, which stays as it is. IDs of added columns are those in the changes. Stores use it; an error
// is a mistake of the caller.
func (s *Schema) Apply(changes ...SchemaChange) (*Schema, error) {
	n := *s
	n.Columns, n.Cluster = slices.Clone(s.Columns), slices.Clone(s.Cluster)
	n.Version++
	for _, c := range changes {
		if err := c.change(&n); err != nil {
			return nil, err
		}
	}
	return &n, n.Check()
}

// Check finds what no table can have.
func (s *Schema) Check() error {
	seen := map[string]bool{}
	for _, c := range s.Columns {
		switch {
		case c.Name == "":
			return fmt.Errorf("store: a column has no name")
		case seen[c.Name]:
			return fmt.Errorf("store: two columns are named '%s'", c.Name)
		case c.Type.Kind == column.Invalid || c.Type.Kind > column.Timestamp:
			return fmt.Errorf("store: column '%s' is of no kind", c.Name)
		case !c.Default.IsNull() && !c.Default.Fits(c.Type.Kind):
			return fmt.Errorf("store: the default of column '%s' is no %v", c.Name, c.Type)
		}
		seen[c.Name] = true
	}
	for i, name := range s.Cluster {
		switch {
		case !seen[name]:
			return fmt.Errorf("store: there is no column '%s' to cluster by", name)
		case slices.Contains(s.Cluster[:i], name):
			return fmt.Errorf("store: column '%s' is twice among those to cluster by", name)
		}
	}
	return nil
}
