package streaming

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"millrace/internal/catalog"
	"millrace/internal/sqlerr"
	"millrace/streaming/executor"
	"millrace/streaming/store"
)

// evolve plans the query of a table with the newest versions of the subjects that its columns come from, and gives the table the columns that are new. What a newer version
// does not have any more stays, as NULL in new rows. It is called by the table's executor, which a statement under way may be about to stop.
func (m *Manager) evolve(ctx context.Context, n Name) error {
	for !m.changing.TryLock() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	defer m.changing.Unlock()
	t, ok := m.Catalog.Table(n.Database, n.Table)
	if !ok || t.Streaming == nil {
		return sqlerr.New(sqlerr.NoTable, "table '%s' does not exist", n)
	}
	newest := *t.Streaming
	newest.Schemas = nil
	p, err := m.Planner.Plan(ctx, newest, n.Table)
	if err != nil {
		return err
	}
	defer p.Close()
	if maps.Equal(p.Schemas, t.Streaming.Schemas) {
		return nil
	}
	id := store.TableID(t.ID)
	schema, err := m.Store.Schema(ctx, id)
	if err != nil {
		return err
	}
	add, err := newColumns(schema, p.Columns)
	if err != nil {
		return sqlerr.New(sqlerr.NeedsFull, "%s '%s' cannot take over %s: %v", fullNoun(t.Streaming.Sink), n, versions(p.Schemas), err).
			WithHint("%s with a query that casts the column, or gives it another name, reads on", remake(t.Streaming.Sink))
	}
	if len(add) > 0 {
		var changes []store.SchemaChange
		for _, c := range add {
			f := c.Field
			f.Nullable = true
			changes = append(changes, store.AddColumn{Column: store.Column{Field: f}})
		}
		if _, err := m.Store.AlterTable(ctx, id, schema.Version, changes...); err != nil {
			return err
		}
	}
	_, err = m.redefine(n, func(t *catalog.Table) {
		t.Streaming.Schemas = p.Schemas
		for _, c := range p.Columns {
			if lists(t.Columns, c.Name) {
				continue // the store may have it from an attempt that ended before this
			}
			t.Columns += ", " + DDL([]Column{c})
			if t.Streaming.Columns != nil { // a list that the statement gave
				t.Streaming.Columns = append(slices.Clip(t.Streaming.Columns), catalog.StreamingColumn{Name: c.Name})
			}
		}
	})
	if err != nil {
		return err
	}
	text := versions(p.Schemas) + " taken over"
	for i, c := range add {
		text += []string{", new columns: ", ", "}[min(i, 1)] + c.Name
	}
	m.Log.Info(fullNoun(t.Streaming.Sink)+" takes a newer schema", "table", n.String(), "schemas", versions(p.Schemas), "columns", len(add))
	event, err := executor.EncodeEvent(executor.Event{Kind: "schema_evolved", Text: text})
	if err != nil {
		return err
	}
	return m.Store.AppendEvent(ctx, id, event)
}

// remake is how something gets another query and goes on where it was.
func remake(sink string) string {
	if sink != "" {
		return "DROP FLOW, and CREATE FLOW with startingOffsets behind what it has read,"
	}
	return "CREATE OR REFRESH STREAMING TABLE"
}

// versions names versions of subjects.
func versions(of map[string]int) string {
	var list []string
	for _, subject := range slices.Sorted(maps.Keys(of)) {
		list = append(list, "version "+strconv.Itoa(of[subject])+" of subject '"+subject+"'")
	}
	return strings.Join(list, " and ")
}

// lists reports whether columns as DDL gives them have one of this name.
func lists(ddl, name string) bool {
	quoted := "`" + strings.ReplaceAll(name, "`", "``") + "` "
	return strings.Contains(", "+strings.ToLower(ddl), ", "+strings.ToLower(quoted))
}

// newColumns are those of a query that a table lacks. Those that it has must have its types.
func newColumns(s *store.Schema, columns []Column) ([]Column, error) {
	var add []Column
	for _, c := range columns {
		i := slices.IndexFunc(s.Columns, func(x store.Column) bool { return strings.EqualFold(x.Name, c.Name) })
		switch {
		case i < 0:
			add = append(add, c)
		case s.Columns[i].Name != c.Name:
			return nil, sqlerr.New(sqlerr.NeedsFull, "column '%s' would be named '%s'", s.Columns[i].Name, c.Name)
		case s.Columns[i].Type != c.Type:
			return nil, sqlerr.New(sqlerr.NeedsFull, "column '%s' is %s and would become %s", c.Name, s.Columns[i].Type.SQL(), c.Type.SQL())
		}
	}
	return add, nil
}
