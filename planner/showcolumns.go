package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/information_schema"
	"github.com/dolthub/go-mysql-server/sql/plan"
)

// RuledTable is a table some of whose columns have values by rules that the engine does not know, such as the GENERATED columns of a streaming table.
type RuledTable interface {
	sql.Table
	// ColumnRules are the rules of columns by lower-case name.
	ColumnRules(*sql.Context) map[string]ColumnRule
}

// ColumnRule is what MySQL shows of a column that has a rule.
type ColumnRule struct {
	// Default is the value of a DEFAULT, or its expression, as text; nil when there is none or it is NULL.
	Default any
	// Extra is that of SHOW COLUMNS: empty, DefaultGenerated or StoredGenerated.
	Extra string
	// Generation is the expression of a GENERATED column.
	Generation string
}

// What SHOW COLUMNS calls a DEFAULT that is an expression, and a column that is computed when a row is written.
const (
	DefaultGenerated = "DEFAULT_GENERATED"
	StoredGenerated  = "STORED GENERATED"
)

// showColumns answers SHOW COLUMNS and DESCRIBE. The engine knows no rules of ours, and shows its own defaults as it would write them, quotes and parentheses
// included, where MySQL shows the value.
func (x explainer) showColumns(ctx *sql.Context, n *plan.ShowColumns, row sql.Row) (sql.RowIter, error) {
	alone := *x.engine
	alone.PriorityBuilder = nil // which is x
	iter, err := alone.Build(ctx, n, row)
	if err != nil {
		return nil, err
	}
	rows, err := sql.RowIterToRows(ctx, iter)
	if err != nil {
		return nil, err
	}
	var rules map[string]ColumnRule
	if t, ok := n.Child.(*plan.ResolvedTable); ok {
		if t, ok := t.UnderlyingTable().(RuledTable); ok {
			rules = t.ColumnRules(ctx)
		}
	}
	at := func(column string) int {
		return slices.IndexFunc(n.Schema(ctx), func(c *sql.Column) bool { return c.Name == column })
	}
	name, value, extra := at("Field"), at("Default"), at("Extra")
	defaults := map[string]*sql.ColumnDefaultValue{}
	for _, c := range n.TargetSchema() {
		defaults[c.Name] = c.Default
	}
	for _, row := range rows {
		column := row[name].(string)
		if rule, ok := rules[strings.ToLower(column)]; ok {
			row[value], row[extra] = rule.Default, rule.Extra
		} else if d := information_schema.GetColumnDefault(ctx, defaults[column]); d != nil {
			row[value] = fmt.Sprint(d)
		}
	}
	return sql.RowsToRowIter(rows...), nil
}
