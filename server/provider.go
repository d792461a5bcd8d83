package server

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/catalog"
	"millrace/streaming/store"
)

// provider gives the engine the databases of the catalog, and our functions.
type provider struct {
	// collations is locked while a database is asked for its collation, or told of another.
	collations sync.RWMutex
	catalog    *catalog.Catalog
	rows       store.Store
	// engine is set before the provider is used.
	engine *engine
	// known are the tables of the catalog as the engine sees them, by what defines them; the values are *sqltable.Table.
	known sync.Map
	// insertBytes bounds the rows of one INSERT.
	insertBytes int

	mu        sync.RWMutex
	databases map[string]database // by lower-case name
	tables    map[string]sql.TableFunction
	functions map[string]sql.Function
}

var (
	_ sql.MutableDatabaseProvider = (*provider)(nil)
	_ sql.TableFunctionProvider   = (*provider)(nil)
	_ sql.FunctionProvider        = (*provider)(nil)
)

// newProvider opens the databases of the catalog.
func newProvider(c *catalog.Catalog, rows store.Store) (*provider, error) {
	p := &provider{catalog: c, rows: rows, databases: map[string]database{}, tables: map[string]sql.TableFunction{}, functions: map[string]sql.Function{}}
	return p, p.follow()
}

// follow makes the databases be those of the catalog. What they hold is looked up there whenever it is used.
func (p *provider) follow() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := p.catalog.State()
	for key, d := range state.Databases {
		collation := sql.Collation_Default
		if d.Collation != "" {
			var err error
			if collation, err = sql.ParseCollation("", d.Collation, false); err != nil {
				return err
			}
		}
		db, ok := p.databases[key]
		if !ok || db.Name() != d.Name {
			db = database{memory.NewDatabase(d.Name), p}
		}
		if db.GetCollation(nil) != collation {
			if err := db.setCollation(nil, collation); err != nil {
				return err
			}
		}
		p.databases[key] = db
	}
	maps.DeleteFunc(p.databases, func(key string, _ database) bool {
		_, ok := state.Databases[key]
		return !ok
	})
	return nil
}

// register adds functions; a later one replaces an earlier or a built-in one of the same name. It must be done before the engine is used.
func (p *provider) register(tables []sql.TableFunction, functions []sql.Function) {
	for _, f := range tables {
		p.tables[strings.ToLower(f.Name())] = f
	}
	for _, f := range functions {
		p.functions[strings.ToLower(f.FunctionName())] = f
	}
}

// Database implements sql.DatabaseProvider.
func (p *provider) Database(_ *sql.Context, name string) (sql.Database, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if d, ok := p.databases[strings.ToLower(name)]; ok {
		return d, nil
	}
	return nil, sql.ErrDatabaseNotFound.New(name)
}

// HasDatabase implements sql.DatabaseProvider.
func (p *provider) HasDatabase(_ *sql.Context, name string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	_, ok := p.databases[strings.ToLower(name)]
	return ok
}

// AllDatabases implements sql.DatabaseProvider.
func (p *provider) AllDatabases(*sql.Context) []sql.Database {
	p.mu.RLock()
	defer p.mu.RUnlock()
	all := make([]sql.Database, 0, len(p.databases))
	for _, key := range slices.Sorted(maps.Keys(p.databases)) {
		all = append(all, p.databases[key])
	}
	return all
}

// CreateDatabase implements sql.MutableDatabaseProvider.
func (p *provider) CreateDatabase(_ *sql.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := strings.ToLower(name)
	err := p.catalog.Update(func(s *catalog.State) error {
		if _, exists := s.Databases[key]; exists {
			return sql.ErrDatabaseExists.New(name)
		}
		s.Databases[key] = catalog.Database{Name: name}
		return nil
	})
	if err == nil {
		p.databases[key] = database{memory.NewDatabase(name), p}
	}
	return err
}

// DropDatabase implements sql.MutableDatabaseProvider. It takes the database out of the catalog; the session stops and drops its tables by dropTables, once
// the engine has let go of the locks that it holds here: the queries of streaming tables need them before they can end.
func (p *provider) DropDatabase(ctx *sql.Context, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := strings.ToLower(name)
	var dropped catalog.Database
	err := p.catalog.Update(func(s *catalog.State) error {
		dropped = s.Databases[key]
		delete(s.Databases, key)
		return nil
	})
	if err != nil {
		return err
	}
	delete(p.databases, key)
	if x, ok := p.engine.sessions.Load(ctx.ID()); ok {
		x := x.(*session)
		x.dropped = append(x.dropped, dropped)
	}
	return nil
}

// dropTables stops and drops the tables of the databases that the statement has dropped.
func (x *session) dropTables(c *sql.Context) error {
	var errs []error
	for _, db := range x.dropped {
		errs = append(errs, x.engine.streaming.DropAll(c, db))
	}
	x.dropped = nil
	return errors.Join(errs...)
}

// TableFunction implements sql.TableFunctionProvider.
func (p *provider) TableFunction(_ *sql.Context, name string) (sql.TableFunction, bool) {
	f, ok := p.tables[strings.ToLower(name)]
	return f, ok
}

// WithTableFunctions implements sql.TableFunctionProvider.
func (p *provider) WithTableFunctions(functions ...sql.TableFunction) (sql.TableFunctionProvider, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	c := &provider{catalog: p.catalog, databases: maps.Clone(p.databases), tables: map[string]sql.TableFunction{}, functions: p.functions}
	c.register(functions, nil)
	return c, nil
}

// Function implements sql.FunctionProvider.
func (p *provider) Function(_ *sql.Context, _, name string) (sql.Function, bool) {
	f, ok := p.functions[strings.ToLower(name)]
	return f, ok
}

// stored is the provider as the engine's sessions want it: they write committed tables back into the databases and know only the
// engine's own type.
type stored struct{ *provider }

// Database implements sql.DatabaseProvider.
func (p stored) Database(ctx *sql.Context, name string) (sql.Database, error) {
	d, err := p.provider.Database(ctx, name)
	if err != nil {
		return nil, err
	}
	return d.(database).Database, nil
}
