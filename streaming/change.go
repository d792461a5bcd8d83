package streaming

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"millrace/internal/catalog"
	"millrace/internal/sqlerr"
	"millrace/streaming/executor"
	"millrace/streaming/store"
)

// change gives a table that exists another definition. Rows stay as they are; the new query is for new records.
func (m *Manager) change(ctx context.Context, c Create, old catalog.Table, columns []Column, durability store.Durability, read executor.Read, v *validated) (awaited, error) {
	id := store.TableID(old.ID)
	schema, err := m.Store.Schema(ctx, id)
	if err != nil {
		return awaited{}, err
	}
	changes, err := schemaChanges(schema, columns, spelled(c.Cluster, columns), durability)
	if err != nil {
		return awaited{}, needsFull(c.Name, err)
	}
	m.warnOfStart(ctx, c, old, read)
	m.halt(c.Name)
	t := old
	c.Definition.Paused = old.Streaming.Paused
	c.Definition.Refreshed, c.Definition.Resumed = old.Streaming.Refreshed+1, old.Streaming.Resumed
	t.Streaming = &c.Definition
	t.Columns, t.Comment = DDL(inOrder(schema, columns)), c.Comment
	if len(changes) > 0 {
		if _, err := m.Store.AlterTable(ctx, id, schema.Version, changes...); err != nil {
			m.launch(c.Name, old)
			return awaited{}, err
		}
	}
	if err := m.Catalog.Update(func(s *catalog.State) error { s.PutTable(c.Name.Database, t); return nil }); err != nil {
		m.launch(c.Name, old) // columns that were added are NULL until somebody names them
		return awaited{}, err
	}
	bad := m.bad(ctx, id)
	x := m.launch(c.Name, t)
	if m.isPaused(t) {
		return awaited{}, nil
	}
	x.Refresh(t.Streaming.Refreshed)
	if v == nil {
		return awaited{table: x}, nil
	}
	return awaited{x, t.Streaming.Refreshed, v.ends, bad}, nil
}

// needsFull is the error for a change that the rows that are there do not survive.
func needsFull(n Name, reason error) error {
	return sqlerr.New(sqlerr.NeedsFull, "the change of streaming table '%s' needs its rows to be made anew: %v", n, reason).
		WithHint("DROP TABLE and CREATE STREAMING TABLE read the topics again; records that Kafka has dropped meanwhile are lost")
}

// schemaChanges are what makes a stored schema hold the columns.
func schemaChanges(s *store.Schema, columns []Column, cluster []string, durability store.Durability) ([]store.SchemaChange, error) {
	var changes []store.SchemaChange
	has := map[string]bool{}
	for _, c := range columns {
		has[c.Name] = true
		i := s.Index(c.Name)
		switch {
		case i < 0 && slices.ContainsFunc(s.Columns, func(x store.Column) bool { return strings.EqualFold(x.Name, c.Name) }):
			return nil, sqlerr.New(sqlerr.NeedsFull, "column '%s' would be renamed", c.Name)
		case i < 0:
			f := c.Field
			f.Nullable = true
			changes = append(changes, store.AddColumn{Column: store.Column{Field: f}})
		case s.Columns[i].Type == c.Type:
		case store.Widens(s.Columns[i].Type, c.Type):
			changes = append(changes, store.WidenColumn{Name: c.Name, Type: c.Type, Nullable: true})
		default:
			return nil, sqlerr.New(sqlerr.NeedsFull, "column '%s' is %s and would become %s", c.Name, s.Columns[i].Type.SQL(), c.Type.SQL())
		}
	}
	for _, x := range s.Columns {
		if !has[x.Name] {
			return nil, sqlerr.New(sqlerr.NeedsFull, "column '%s' would be dropped", x.Name)
		}
	}
	if !slices.Equal(s.Cluster, cluster) {
		changes = append(changes, store.SetCluster{Columns: cluster})
	}
	if s.Durability != durability {
		changes = append(changes, store.SetDurability{Durability: durability})
	}
	return changes, nil
}

// inOrder gives columns in the order that the stored ones have; new ones follow.
func inOrder(s *store.Schema, columns []Column) []Column {
	var out []Column
	for _, x := range s.Columns {
		for _, c := range columns {
			if c.Name == x.Name {
				out = append(out, c)
			}
		}
	}
	for _, c := range columns {
		if s.Index(c.Name) < 0 {
			out = append(out, c)
		}
	}
	return out
}

// warnOfStart says that another start has no effect. (Another cluster is found by its id when the table reads on.)
func (m *Manager) warnOfStart(ctx context.Context, c Create, old catalog.Table, read executor.Read) {
	before, err := m.Planner.Plan(ctx, *old.Streaming, c.Name.Table)
	if err != nil {
		return // the old definition does not run any more, which is why it is being replaced
	}
	defer before.Close()
	if !reflect.DeepEqual(before.Read().Spec.Start, read.Spec.Start) {
		c.Warn("another start has no effect on a table that has positions; REFRESH STREAMING TABLE … FULL begins anew at it")
	}
}
