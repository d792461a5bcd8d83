package server

import (
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/information_schema"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/planbuilder"

	"millrace/internal/catalog"
	"millrace/planner"
)

// columnsInfo corrects information_schema.columns. The engine takes the columns of a table function for NOT NULL, and so those of views that pass
// them on; and it knows no DEFAULT and no GENERATED of streaming tables. Tools that generate code believe it.
type columnsInfo struct{ catalog *catalog.Catalog }

// table is the engine's table, corrected. It is made for each statement: the engine writes into it.
func (v columnsInfo) table() sql.Table {
	t := information_schema.NewColumnsTable()
	all := t.RowIter
	at := func(column string) int {
		return slices.IndexFunc(t.TableSchema, func(c *sql.Column) bool { return c.Name == column })
	}
	database, table, column, nullable := at("TABLE_SCHEMA"), at("TABLE_NAME"), at("COLUMN_NAME"), at("IS_NULLABLE")
	value, extra, generation := at("COLUMN_DEFAULT"), at("EXTRA"), at("GENERATION_EXPRESSION")
	t.RowIter = func(ctx *sql.Context, c sql.Catalog, defaults sql.Schema) (sql.RowIter, error) {
		rows, err := all(ctx, c, defaults)
		if err != nil {
			return nil, err
		}
		corrected, err := sql.RowIterToRows(ctx, rows)
		if err != nil {
			return nil, err
		}
		known := map[[2]string]map[string]bool{}
		ruled := map[[2]string]map[string]planner.ColumnRule{}
		for _, row := range corrected {
			db, isText := row[database].(string)
			name, isName := row[table].(string)
			col, isColumn := row[column].(string)
			if !isText || !isName || !isColumn {
				continue
			}
			key := [2]string{db, name}
			rules, ok := ruled[key]
			if !ok {
				rules = columnRules(ctx, v.catalog, db, name)
				ruled[key] = rules
			}
			if rule, ok := rules[strings.ToLower(col)]; ok {
				row[value], row[extra], row[generation] = rule.Default, rule.Extra, rule.Generation
			}
			if row[nullable] != "NO" {
				continue
			}
			columns, ok := known[key]
			if !ok {
				columns = v.nullable(ctx, c, db, name)
				known[key] = columns
			}
			if columns[strings.ToLower(col)] {
				row[nullable] = "YES"
			}
		}
		return sql.RowsToRowIter(corrected...), nil
	}
	return t
}

// nullable are the columns of a view that may be NULL, by lower-case name; none for what is no view. A view that cannot be read any more has no
// columns in the engine's table either.
func (v columnsInfo) nullable(ctx *sql.Context, c sql.Catalog, db, name string) map[string]bool {
	view, ok := v.catalog.View(db, name)
	if !ok {
		return nil
	}
	b := planbuilder.New(ctx, c, nil)
	b.DisableAuth() // the engine lists the columns that the user may see
	node, _, _, _, err := b.Parse(definition(view).CreateViewStatement, nil, false)
	if err != nil {
		return nil
	}
	create, ok := node.(*plan.CreateView)
	if !ok {
		return nil
	}
	query, err := planner.CorrectNullability(ctx, create.Child)
	if err != nil {
		return nil
	}
	columns := map[string]bool{}
	for _, col := range query.Schema(ctx) {
		columns[strings.ToLower(col.Name)] = col.Nullable
	}
	return columns
}
