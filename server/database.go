package server

import (
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/catalog"
	"millrace/planner"
)

// database is a database whose name, views and definitions of tables live in the catalog; rows are in the store. Triggers, procedures and events,
// which the engine has in memory, are refused before it sees them.
type database struct {
	*memory.Database
	p *provider
}

var (
	_ sql.ViewDatabase        = database{}
	_ sql.TableCreator        = database{}
	_ sql.IndexedTableCreator = database{}
	_ sql.TableDropper        = database{}
	_ sql.TableRenamer        = database{}
	_ sql.CollatedDatabase    = database{}
	_ planner.ViewReplacer    = database{}
)

// SetCollation implements sql.CollatedDatabase.
func (d database) SetCollation(ctx *sql.Context, collation sql.CollationID) error {
	err := d.edit(func(db *catalog.Database) error {
		db.Collation = collation.Name()
		return nil
	})
	if err != nil {
		return err
	}
	return d.setCollation(ctx, collation)
}

// setCollation tells the engine of a collation. The engine's own databases have no lock, and follow tells them of what other servers have changed.
func (d database) setCollation(ctx *sql.Context, collation sql.CollationID) error {
	d.p.collations.Lock()
	defer d.p.collations.Unlock()
	return d.Database.SetCollation(ctx, collation)
}

// GetCollation implements sql.CollatedDatabase.
func (d database) GetCollation(ctx *sql.Context) sql.CollationID {
	d.p.collations.RLock()
	defer d.p.collations.RUnlock()
	return d.Database.GetCollation(ctx)
}

func (d database) edit(change func(*catalog.Database) error) error {
	return d.p.catalog.Update(func(s *catalog.State) error {
		key := strings.ToLower(d.Name())
		db, ok := s.Databases[key]
		if !ok {
			return sql.ErrDatabaseNotFound.New(d.Name())
		}
		if err := change(&db); err != nil {
			return err
		}
		s.Databases[key] = db
		return nil
	})
}

// CreateView implements sql.ViewDatabase. The texts are those of the dialect: the parser rewrites them whenever the view is used, so that
// SHOW CREATE VIEW shows what the user wrote and a later version may rewrite differently.
func (d database) CreateView(ctx *sql.Context, name, selectStatement, createStatement string) error {
	return d.putView(ctx, name, selectStatement, createStatement, false)
}

// ReplacingViews implements planner.ViewReplacer.
func (d database) ReplacingViews() sql.Database { return replacingViews{d} }

// replacingViews is a database whose views take the place of those of the same name.
type replacingViews struct{ database }

// CreateView implements sql.ViewDatabase.
func (d replacingViews) CreateView(ctx *sql.Context, name, selectStatement, createStatement string) error {
	return d.putView(ctx, name, selectStatement, createStatement, true)
}

func (d database) putView(ctx *sql.Context, name, selectStatement, createStatement string, replace bool) error {
	mode := sql.LoadSqlMode(ctx).String()
	if text, old, marked := unmarkView(createStatement); marked > 0 {
		createStatement, mode = text, old // renaming gives back what it was given
	} else if holdsSecret(selectStatement) {
		ctx.Warn(planner.WarningCode, "view '%s' holds a secret, which is kept in clear with its definition: name it, by secret('scope', 'key') or by connection => 'name' of a CREATE CONNECTION", name)
	}
	return d.edit(func(db *catalog.Database) error {
		key := strings.ToLower(name)
		if _, exists := db.Views[key]; exists && !replace {
			return sql.ErrExistingView.New(d.Name(), name)
		}
		if _, exists := db.Tables[key]; exists { // also a flow, which the engine does not see
			return sql.ErrTableAlreadyExists.New(name)
		}
		if db.Views == nil {
			db.Views = map[string]catalog.View{}
		}
		db.Views[key] = catalog.View{Name: name, Select: selectStatement, Create: createStatement, SQLMode: mode}
		return nil
	})
}

// DropView implements sql.ViewDatabase.
func (d database) DropView(_ *sql.Context, name string) error {
	return d.edit(func(db *catalog.Database) error {
		key := strings.ToLower(name)
		if _, exists := db.Views[key]; !exists {
			if t, ok := db.Tables[key]; ok {
				return notAView(d.Name(), t)
			}
			return sql.ErrViewDoesNotExist.New(d.Name(), name)
		}
		delete(db.Views, key)
		return nil
	})
}

func definition(v catalog.View) sql.ViewDefinition {
	return sql.ViewDefinition{Name: v.Name, TextDefinition: v.Select, CreateViewStatement: markView(v), SqlMode: v.SQLMode}
}

// The engine parses a view in the sql_mode that the view was made in, but knows nothing of NO_BACKSLASH_ESCAPES, and its parser is not told whether it
// reads a view. A mark before the text tells ours: read with the mode of the session that uses the view, a literal could end elsewhere than its
// author meant.
const viewMark = "/*millrace view in mode "

func markView(v catalog.View) string { return viewMark + v.SQLMode + "*/ " + v.Create }

// unmarkView takes the mark off a text; mode is that of the mark and marked its length, 0 without one.
func unmarkView(text string) (rest, mode string, marked int) {
	inner, ok := strings.CutPrefix(text, viewMark)
	if !ok {
		return text, "", 0
	}
	mode, rest, ok = strings.Cut(inner, "*/ ")
	if !ok {
		return text, "", 0
	}
	return rest, mode, len(text) - len(rest)
}

// GetViewDefinition implements sql.ViewDatabase.
func (d database) GetViewDefinition(_ *sql.Context, name string) (sql.ViewDefinition, bool, error) {
	v, ok := d.p.catalog.View(d.Name(), name)
	return definition(v), ok, nil
}

// AllViews implements sql.ViewDatabase. A user sees the views that they have a privilege on, as it is with tables.
func (d database) AllViews(ctx *sql.Context) ([]sql.ViewDefinition, error) {
	var all []sql.ViewDefinition
	for _, v := range d.p.catalog.State().Databases[strings.ToLower(d.Name())].Views {
		if d.p.engine.sees(ctx, d.Name(), v.Name) {
			all = append(all, definition(v))
		}
	}
	slices.SortFunc(all, func(a, b sql.ViewDefinition) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
