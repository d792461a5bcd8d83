package server

import (
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/catalog"
)

// database is a database whose name and views live in the catalog. Tables lie in memory until the store of issue 6 takes them.
type database struct {
	*memory.Database
	catalog *catalog.Catalog
}

var (
	_ sql.ViewDatabase        = database{}
	_ sql.TableCreator        = database{}
	_ sql.IndexedTableCreator = database{}
	_ sql.CollatedDatabase    = database{}
)

// notPersisted is the warning code of tables that do not survive a restart.
const notPersisted = 31100

func (d database) warn(ctx *sql.Context, table string) {
	ctx.Warn(notPersisted, "table '%s' is kept in memory: it is gone when the server stops", table)
}

// CreateTable implements sql.TableCreator.
func (d database) CreateTable(ctx *sql.Context, name string, schema sql.PrimaryKeySchema, collation sql.CollationID, comment string) error {
	if err := d.Database.CreateTable(ctx, name, schema, collation, comment); err != nil {
		return err
	}
	d.warn(ctx, name)
	return nil
}

// CreateIndexedTable implements sql.IndexedTableCreator.
func (d database) CreateIndexedTable(ctx *sql.Context, name string, schema sql.PrimaryKeySchema, index sql.IndexDef, collation sql.CollationID, comment string) error {
	if err := d.Database.CreateIndexedTable(ctx, name, schema, index, collation, comment); err != nil {
		return err
	}
	d.warn(ctx, name)
	return nil
}

// SetCollation implements sql.CollatedDatabase.
func (d database) SetCollation(ctx *sql.Context, collation sql.CollationID) error {
	err := d.edit(func(db *catalog.Database) error {
		db.Collation = collation.Name()
		return nil
	})
	if err != nil {
		return err
	}
	return d.Database.SetCollation(ctx, collation)
}

func (d database) edit(change func(*catalog.Database) error) error {
	return d.catalog.Update(func(s *catalog.State) error {
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
	mode := sql.LoadSqlMode(ctx).String()
	if text, old, marked := unmarkView(createStatement); marked > 0 {
		createStatement, mode = text, old // renaming gives back what it was given
	}
	return d.edit(func(db *catalog.Database) error {
		key := strings.ToLower(name)
		if _, exists := db.Views[key]; exists {
			return sql.ErrExistingView.New(d.Name(), name)
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
	v, ok := d.catalog.View(d.Name(), name)
	return definition(v), ok, nil
}

// AllViews implements sql.ViewDatabase.
func (d database) AllViews(*sql.Context) ([]sql.ViewDefinition, error) {
	var all []sql.ViewDefinition
	for _, v := range d.catalog.State().Databases[strings.ToLower(d.Name())].Views {
		all = append(all, definition(v))
	}
	slices.SortFunc(all, func(a, b sql.ViewDefinition) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
