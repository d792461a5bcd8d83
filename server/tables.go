package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/planbuilder"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/catalog"
	"millrace/internal/sqlerr"
	"millrace/planner"
	"millrace/streaming"
	"millrace/streaming/executor"
	"millrace/streaming/sqltable"
	"millrace/streaming/store"
)

// tableWarning is the code of warnings about what a table does not keep.
const tableWarning = 31100

// GetTableInsensitive implements sql.Database.
func (d database) GetTableInsensitive(ctx *sql.Context, name string) (sql.Table, bool, error) {
	if t, ok := d.p.catalog.Table(d.Name(), name); ok && !isFlow(t) {
		table, err := d.p.table(ctx, d.Name(), t)
		return table, err == nil, err
	}
	if owner, ok := strings.CutSuffix(strings.ToLower(name), executor.ErrorsSuffix); ok {
		if t, ok := d.p.catalog.Table(d.Name(), owner); ok && t.Streaming != nil {
			table, err := d.p.errorsTable(d.Name(), t)
			return table, err == nil, err
		}
	}
	return d.Database.GetTableInsensitive(ctx, name)
}

// GetTableNames implements sql.Database.
func (d database) GetTableNames(ctx *sql.Context) ([]string, error) {
	names, err := d.Database.GetTableNames(ctx)
	stored := slices.DeleteFunc(d.p.catalog.TableNames(d.Name()), func(name string) bool {
		t, ok := d.p.catalog.Table(d.Name(), name)
		return ok && isFlow(t)
	})
	return append(stored, names...), err
}

// storedTable gives a table by its name, and not a view; ok is false when there is none that can be read.
func (p *provider) storedTable(ctx *sql.Context, db, name string) (_ *sqltable.Table, ok bool) {
	d, err := p.Database(ctx, db)
	if err != nil {
		return nil, false
	}
	t, ok := p.catalog.Table(d.Name(), name)
	if !ok || isFlow(t) {
		return nil, false
	}
	table, err := p.table(ctx, d.Name(), t)
	return table, err == nil
}

// table gives a table of the catalog as the engine sees it.
func (p *provider) table(ctx *sql.Context, db string, t catalog.Table) (*sqltable.Table, error) {
	key := t.ID + "\x00" + db + "\x00" + t.Name + "\x00" + t.Comment + "\x00" + t.Columns
	if known, ok := p.known.Load(key); ok {
		return known.(*sqltable.Table), nil
	}
	schema, collation, err := p.engine.columnsOf(ctx, db, t)
	if err != nil {
		return nil, err
	}
	definition := sqltable.Definition{
		Database: db, Name: t.Name, ID: store.TableID(t.ID), Schema: schema, Collation: collation, Comment: t.Comment, Streaming: t.Streaming != nil, InsertBytes: p.insertBytes,
	}
	if t.Streaming != nil {
		// Asked when they are shown: CREATE OR REFRESH may change a rule and leave the columns as they are.
		definition.Rules = func(ctx *sql.Context) map[string]planner.ColumnRule { return columnRules(ctx, p.catalog, db, t.Name) }
	}
	table, err := sqltable.New(p.rows, definition)
	if err != nil {
		return nil, err
	}
	p.known.Store(key, table)
	return table, nil
}

// columnsOf reads the columns that the catalog keeps as text.
func (e *engine) columnsOf(ctx *sql.Context, db string, t catalog.Table) (sql.PrimaryKeySchema, sql.CollationID, error) {
	damaged := func(err error) (sql.PrimaryKeySchema, sql.CollationID, error) {
		return sql.PrimaryKeySchema{}, 0, sqlerr.New(sqlerr.Unexpected, "the definition of table '%s' in the catalog cannot be read: %w", t.Name, err)
	}
	collation := sql.Collation_Default
	if t.Collation != "" {
		var err error
		if collation, err = sql.ParseCollation("", t.Collation, false); err != nil {
			return damaged(err)
		}
	}
	text := fmt.Sprintf("CREATE TABLE %s.%s (%s)", backquoted(db), backquoted(t.Name), t.Columns)
	ast, err := sqlparser.ParseWithOptions(ctx, text, sqlparser.ParserOptions{})
	if err != nil {
		return damaged(err)
	}
	b := planbuilder.New(ctx, e.Analyzer.Catalog, nil)
	b.DisableAuth() // who reads a table need not be allowed to create it
	node, _, err := b.BindOnly(ast, text, nil)
	if err != nil {
		return damaged(err)
	}
	create, ok := node.(*plan.CreateTable)
	if !ok {
		return damaged(fmt.Errorf("it makes a %T", node))
	}
	schema := create.PkSchema()
	for _, c := range schema.Schema {
		if text, ok := c.Type.(sql.TypeWithCollation); ok && text.Collation() == sql.Collation_Unspecified {
			if c.Type, err = text.WithNewCollation(collation); err != nil {
				return damaged(err)
			}
		}
	}
	return schema, collation, nil
}

func backquoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// errorsTable gives the table of the bad records of a streaming table.
func (p *provider) errorsTable(db string, t catalog.Table) (*sqltable.Table, error) {
	var schema sql.Schema
	for _, f := range executor.ErrorColumns() {
		schema = append(schema, &sql.Column{Name: f.Name, Type: errorTypes[f.Type.Kind], Nullable: f.Nullable})
	}
	return sqltable.New(p.rows, sqltable.Definition{
		Database: db, Name: t.Name + executor.ErrorsSuffix, ID: store.TableID(t.ID + executor.ErrorsSuffix), Schema: sql.PrimaryKeySchema{Schema: schema}, Collation: sql.Collation_Default, Streaming: true,
	})
}

// CreateTable implements sql.TableCreator.
func (d database) CreateTable(ctx *sql.Context, name string, schema sql.PrimaryKeySchema, collation sql.CollationID, comment string) error {
	if _, ok := d.p.catalog.Table(d.Name(), name); ok {
		return sql.ErrTableAlreadyExists.New(name)
	}
	columns, err := definitionOf(ctx, schema.Schema, collation)
	if err != nil {
		return err
	}
	fields, err := sqltable.FieldsOf(schema.Schema)
	if err != nil {
		return err
	}
	t := catalog.Table{Name: name, ID: strings.ToLower(d.Name()+"."+name) + "#" + rand.Text(), Columns: columns, Collation: collation.Name(), Comment: comment}
	for _, i := range schema.PkOrdinals {
		t.PrimaryKey = append(t.PrimaryKey, schema.Schema[i].Name)
	}
	spec := store.TableSpec{ID: store.TableID(t.ID)}
	for _, f := range fields {
		spec.Columns = append(spec.Columns, store.Column{Field: f})
	}
	if err := d.p.rows.CreateTable(ctx, spec); err != nil {
		return fmt.Errorf("create table %s: %w", name, err)
	}
	err = d.p.catalog.Update(func(s *catalog.State) error {
		db, ok := s.Databases[strings.ToLower(d.Name())]
		if !ok {
			return sql.ErrDatabaseNotFound.New(d.Name())
		}
		if _, taken := db.Tables[strings.ToLower(name)]; taken {
			return sql.ErrTableAlreadyExists.New(name)
		}
		s.PutTable(d.Name(), t)
		return nil
	})
	if err != nil {
		if dropped := d.p.rows.DropTable(context.WithoutCancel(ctx), spec.ID); dropped != nil {
			return errors.Join(err, dropped)
		}
		return err // as it is: the engine asks whether it says that the table exists, for IF NOT EXISTS
	}
	if len(schema.PkOrdinals) > 0 {
		ctx.Warn(tableWarning, "the PRIMARY KEY of table '%s' is informational: rows with the same key are kept", name)
	}
	return nil
}

// definitionOf is the columns of a table as text that columnsOf reads back.
func definitionOf(ctx *sql.Context, schema sql.Schema, collation sql.CollationID) (string, error) {
	var parts []string
	for _, c := range schema {
		switch {
		case c.AutoIncrement:
			return "", sqlerr.New(sqlerr.NotSupported, "column '%s': AUTO_INCREMENT is not supported", c.Name)
		case c.Generated != nil:
			return "", sqlerr.New(sqlerr.NotSupported, "column '%s': generated columns are not supported", c.Name)
		case c.OnUpdate != nil:
			return "", sqlerr.New(sqlerr.NotSupported, "column '%s': ON UPDATE is not supported", c.Name)
		}
		part := backquoted(c.Name) + " " + typeText(c.Type)
		if !c.Nullable {
			part += " NOT NULL"
		}
		if c.Default != nil {
			part += " DEFAULT " + c.Default.String()
		}
		if c.Comment != "" {
			part += " COMMENT " + sqlparser.String(sqlparser.NewStrVal([]byte(c.Comment)))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", "), nil
}

// typeText is a type as CREATE TABLE has it, with its collation where it has one.
func typeText(t sql.Type) string {
	text := t.String()
	if c, ok := t.(sql.TypeWithCollation); ok && c.Collation() != sql.Collation_binary && c.Collation() != sql.Collation_Unspecified && !strings.Contains(strings.ToUpper(text), " COLLATE ") {
		text += " COLLATE " + c.Collation().Name()
	}
	return text
}

// CreateIndexedTable implements sql.IndexedTableCreator. The key is not kept: nothing would enforce it, and a plan that believed in it could be wrong.
func (d database) CreateIndexedTable(ctx *sql.Context, name string, schema sql.PrimaryKeySchema, _ sql.IndexDef, collation sql.CollationID, comment string) error {
	return d.CreateTable(ctx, name, schema, collation, comment)
}

// DropTable implements sql.TableDropper.
func (d database) DropTable(ctx *sql.Context, name string) error {
	if _, ok := d.p.catalog.Table(d.Name(), name); !ok {
		if strings.HasSuffix(strings.ToLower(name), executor.ErrorsSuffix) {
			return sqlerr.New(sqlerr.NotSupported, "'%s' is dropped with its streaming table", name)
		}
		return d.Database.DropTable(ctx, name)
	}
	if t, _ := d.p.catalog.Table(d.Name(), name); t.Streaming != nil {
		if err := d.p.engine.administerStreaming(ctx, "drop a streaming table"); err != nil {
			return err
		}
	}
	return d.p.engine.streaming.Drop(ctx, streaming.Name{Database: d.Name(), Table: name})
}

// RenameTable implements sql.TableRenamer.
func (d database) RenameTable(ctx *sql.Context, from, to string) error {
	t, ok := d.p.catalog.Table(d.Name(), from)
	switch {
	case !ok:
		return d.Database.RenameTable(ctx, from, to)
	case t.Streaming != nil:
		return sqlerr.New(sqlerr.NotSupported, "a streaming table cannot be renamed").WithHint("a view gives it another name")
	}
	return d.p.catalog.Update(func(s *catalog.State) error {
		if _, taken := s.Databases[strings.ToLower(d.Name())].Tables[strings.ToLower(to)]; taken {
			return sql.ErrTableAlreadyExists.New(to)
		}
		s.DropTable(d.Name(), from)
		t.Name = to
		s.PutTable(d.Name(), t)
		return nil
	})
}
