package streaming

import (
	"context"
	"slices"
	"strings"

	"millrace/internal/catalog"
	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// Alteration is what a statement makes of a table's definition.
type Alteration struct {
	// Definition replaces the table's; whether it is paused stays as it is.
	Definition catalog.Streaming
	// Columns are all columns of the table, those that Add has last; Add are new in the store.
	Columns, Add []Column
}

// Alter changes columns and comments of a table. With columns that the definition gives values, the table begins to run anew.
func (m *Manager) Alter(ctx context.Context, n Name, alter func(catalog.Table) (Alteration, error)) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	t, _, err := m.find(n)
	if err != nil {
		return err
	}
	a, err := alter(t)
	if err != nil {
		return err
	}
	a.Definition.Paused = t.Streaming.Paused
	id := store.TableID(t.ID)
	schema, err := m.Store.Schema(ctx, id)
	if err != nil {
		return err
	}
	var changes []store.SchemaChange
	for i, c := range a.Add {
		taken := func(name string) bool { return strings.EqualFold(name, c.Name) }
		if slices.ContainsFunc(schema.Columns, func(x store.Column) bool { return taken(x.Name) }) || slices.ContainsFunc(a.Add[:i], func(x Column) bool { return taken(x.Name) }) {
			return sqlerr.New(sqlerr.OptionInvalid, "table '%s' has a column '%s'", n, c.Name)
		}
		f := c.Field
		f.Nullable = true
		changes = append(changes, store.AddColumn{Column: store.Column{Field: f}})
	}
	if err := m.holds(ctx, id, a.Add); err != nil {
		return err
	}
	rules := slices.ContainsFunc(a.Definition.Columns, func(c catalog.StreamingColumn) bool {
		return (c.Default != "" || c.Generated != "") && slices.ContainsFunc(a.Add, func(x Column) bool { return x.Name == c.Name })
	})
	if rules {
		p, err := m.Planner.Plan(ctx, a.Definition, n.Table)
		if err != nil {
			return err
		}
		defer p.Close()
		if err := typed(a.Columns, p.Added); err != nil {
			return err
		}
	}
	if len(changes) > 0 {
		if _, err := m.Store.AlterTable(ctx, id, schema.Version, changes...); err != nil {
			return err
		}
	}
	t, err = m.redefine(n, func(t *catalog.Table) { t.Streaming, t.Columns = &a.Definition, DDL(a.Columns) })
	if err != nil || !rules {
		return err
	}
	m.halt(n)
	m.launch(n, t)
	return nil
}
