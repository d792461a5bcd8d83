package server

import (
	"strconv"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/catalog"
	"millrace/planner"
)

// columnRules are the DEFAULTs and GENERATED columns of a streaming table as MySQL would show them, by lower-case name; none of another table.
func columnRules(ctx *sql.Context, c *catalog.Catalog, db, name string) map[string]planner.ColumnRule {
	t, ok := c.Table(db, name)
	if !ok || t.Streaming == nil {
		return nil
	}
	mode := sql.NewSqlModeFromString(t.Streaming.SQLMode)
	rules := map[string]planner.ColumnRule{}
	for _, col := range t.Streaming.Columns {
		var rule planner.ColumnRule
		switch {
		case col.Generated != "":
			rule = planner.ColumnRule{Extra: planner.StoredGenerated, Generation: strings.TrimSpace(col.Generated)}
		case col.Default != "":
			rule = shownDefault(ctx, strings.TrimSpace(col.Default), mode)
		default:
			continue
		}
		rules[strings.ToLower(col.Name)] = rule
	}
	return rules
}

// shownDefault is a DEFAULT as MySQL shows it: a literal by its value, the time by its name in the standard, all else by its text.
func shownDefault(ctx *sql.Context, text string, mode *sql.SqlMode) planner.ColumnRule {
	expression := planner.ColumnRule{Default: text, Extra: planner.DefaultGenerated}
	st, err := parseIn("SELECT ("+text+"\n)", dialectMode(mode), mode.ParserOptions(), ctx)
	if err != nil {
		return expression
	}
	list, ok := st.ast.(*sqlparser.Select)
	if !ok || len(list.SelectExprs) != 1 {
		return expression
	}
	aliased, ok := list.SelectExprs[0].(*sqlparser.AliasedExpr)
	if !ok {
		return expression
	}
	e := aliased.Expr
	for {
		inner, ok := e.(*sqlparser.ParenExpr)
		if !ok {
			break
		}
		e = inner.Expr
	}
	switch e := e.(type) {
	case *sqlparser.SQLVal:
		return planner.ColumnRule{Default: string(e.Val)}
	case *sqlparser.NullVal:
		return planner.ColumnRule{}
	case sqlparser.BoolVal:
		return planner.ColumnRule{Default: strconv.Itoa(map[bool]int{true: 1}[bool(e)])}
	case *sqlparser.UnaryExpr:
		if v, ok := e.Expr.(*sqlparser.SQLVal); ok && e.Operator == sqlparser.UMinusStr {
			return planner.ColumnRule{Default: "-" + string(v.Val)}
		}
	case *sqlparser.FuncExpr:
		if name := e.Name.Lowered(); name == "now" || name == "current_timestamp" {
			expression.Default = "CURRENT_TIMESTAMP"
			if digits := sqlparser.String(e.Exprs); digits != "" && digits != "0" {
				expression.Default = "CURRENT_TIMESTAMP(" + digits + ")"
			}
		}
	}
	return expression
}
