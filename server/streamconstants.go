package server

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
	"millrace/planner"
)

// checkConstants refuses a query of a streaming table or flow with a part that reads nothing of the record and fails, such as 'x'::int: it would fail for each record, and
// the query is to blame, not the records. As in an INSERT, what a constant is warned of is an error in a strict sql_mode. A query that cannot be parsed or planned is left
// to who plans it.
func (x *session) checkConstants(c *sql.Context, query string) error {
	st, err := parse(c, query)
	if err != nil {
		return nil
	}
	list, ok := st.ast.(*sqlparser.Select)
	if !ok {
		return nil
	}
	for i, e := range list.SelectExprs {
		aliased, ok := e.(*sqlparser.AliasedExpr)
		if !ok {
			continue
		}
		name := aliased.As.String()
		if name == "" {
			name = aliased.InputExpression
		}
		for _, part := range constantParts(aliased.Expr) {
			if err := x.tryPart(c, part); err != nil {
				if name == "" {
					name = fmt.Sprint(i + 1)
				}
				e, ok := sqlerr.As(fault(c, err))
				if !ok {
					return err
				}
				failed := sqlerr.New(e.Kind, "column '%s' fails for every record: %s", name, e.Msg)
				if e.Hint == "" {
					return failed
				}
				return failed.WithHint("%s", e.Hint)
			}
		}
	}
	return nil
}

// constantParts are the largest parts of an expression that read no column and that are computed whatever the record is.
func constantParts(e sqlparser.Expr) []sqlparser.Expr {
	if isLiteral(e) {
		return nil
	}
	if isConstant(e) {
		return []sqlparser.Expr{e}
	}
	var parts []sqlparser.Expr
	switch e := e.(type) {
	case *sqlparser.ParenExpr:
		return constantParts(e.Expr)
	case *sqlparser.BinaryExpr:
		parts = append(constantParts(e.Left), constantParts(e.Right)...)
	case *sqlparser.ComparisonExpr:
		parts = append(constantParts(e.Left), constantParts(e.Right)...)
	case *sqlparser.UnaryExpr:
		return constantParts(e.Expr)
	case *sqlparser.ConvertExpr:
		return constantParts(e.Expr)
	case *sqlparser.FuncExpr:
		if !planner.IsOperator(e.Name.Lowered()) {
			break
		}
		for _, a := range e.Exprs {
			if a, ok := a.(*sqlparser.AliasedExpr); ok {
				parts = append(parts, constantParts(a.Expr)...)
			}
		}
	}
	return parts // of other functions nobody knows here which of their arguments they compute
}

// isConstant reports whether an expression has one value, which does not depend on anything outside.
func isConstant(e sqlparser.Expr) bool {
	constant := true
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) { // the visitor gives no error
		switch n := n.(type) {
		case *sqlparser.ColName, *sqlparser.Subquery, *sqlparser.Default, *sqlparser.ValuesFuncExpr:
			constant = false
		case *sqlparser.FuncExpr:
			name := n.Name.Lowered()
			constant = constant && !n.IsAggregate() && n.Over == nil && !slices.Contains(chance, name) && !slices.Contains(ofSession, name) && !slices.Contains(clocks, name)
		}
		return constant, nil
	}, e)
	return constant
}

// tryPart computes an expression without columns.
func (x *session) tryPart(c *sql.Context, e sqlparser.Expr) (err error) {
	ast := &sqlparser.Select{SelectExprs: sqlparser.SelectExprs{&sqlparser.AliasedExpr{Expr: e}}}
	text := sqlparser.String(ast)
	if _, err := x.bind(c, &statement{text: text, ast: ast}); err != nil {
		return nil // as a function that does not exist
	}
	before := len(c.Session.Warnings())
	if err := x.compute(c, text, ast); err != nil {
		return err
	}
	warnings := c.Session.Warnings()
	if len(warnings) <= before || !sql.LoadSqlMode(c).Strict() {
		return nil
	}
	w := warnings[0] // the latest comes first
	kind, ok := byNumber[w.Code]
	if !ok {
		kind = sqlerr.BadValue
	}
	return sqlerr.New(kind, "%s", w.Message)
}

// compute runs a SELECT of one row.
func (x *session) compute(c *sql.Context, text string, ast *sqlparser.Select) (err error) {
	node, err := x.engine.BoundQueryPlan(c, text, ast, nil)
	if err != nil {
		return err
	}
	rows, err := x.engine.Analyzer.ExecBuilder.Build(c, node, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close(c)) }()
	if _, err := rows.Next(c); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
