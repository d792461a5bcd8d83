package server

import (
	"strings"

	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// windowFunction is what window(…) is for the engine, in which WINDOW begins a clause.
const windowFunction = "millrace_window"

// nameEnds gives window.start and window.end a meaning in a SELECT that groups by window(…): they are window_start(…) and window_end(…) of it, which the rows are
// then grouped by as well. They say nothing that the window does not, so the groups are the same.
func nameEnds(s *sqlparser.Select) {
	var window *sqlparser.FuncExpr
	for _, e := range s.GroupBy {
		if call, ok := e.(*sqlparser.FuncExpr); ok && call.Name.EqualString(windowFunction) {
			if window != nil {
				return // which of them is meant?
			}
			window = call
		}
	}
	if window == nil {
		return
	}
	used, named := false, map[string]*sqlparser.ColName{}
	replace := func(root sqlparser.Expr) sqlparser.Expr {
		for _, c := range endsIn(root) {
			root, used = sqlparser.ReplaceExpr(root, c, endOf(c, window)), true
		}
		return root
	}
	// HAVING sees the columns of the result, and no others.
	result := func(root sqlparser.Expr) sqlparser.Expr {
		for _, c := range endsIn(root) {
			if column, ok := named[c.Name.Lowered()]; ok {
				root = sqlparser.ReplaceExpr(root, c, column)
			}
		}
		return replace(root)
	}
	for _, e := range s.SelectExprs {
		if a, ok := e.(*sqlparser.AliasedExpr); ok {
			if c, ok := a.Expr.(*sqlparser.ColName); ok && isEnd(c) {
				if a.As.IsEmpty() {
					a.As = c.Name
				}
				named[c.Name.Lowered()] = &sqlparser.ColName{Name: a.As}
			}
			a.Expr = replace(a.Expr)
		}
	}
	if s.Having != nil {
		s.Having.Expr = result(s.Having.Expr)
	}
	for _, o := range s.OrderBy {
		o.Expr = replace(o.Expr)
	}
	if used {
		for _, name := range []string{"start", "end"} {
			s.GroupBy = append(s.GroupBy, endOf(&sqlparser.ColName{Name: sqlparser.NewColIdent(name)}, window))
		}
	}
}

func isEnd(c *sqlparser.ColName) bool {
	return c.Qualifier.DbQualifier.IsEmpty() && strings.EqualFold(c.Qualifier.Name.String(), "window") && (c.Name.EqualString("start") || c.Name.EqualString("end"))
}

// endsIn are the names window.start and window.end of an expression.
func endsIn(root sqlparser.Expr) []*sqlparser.ColName {
	var ends []*sqlparser.ColName
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) { // the visitor gives no error
		switch n := n.(type) {
		case *sqlparser.Subquery:
			return false, nil // it has windows of its own
		case *sqlparser.ColName:
			if isEnd(n) {
				ends = append(ends, n)
			}
		}
		return true, nil
	}, root)
	return ends
}

// endOf is the function that gives the end of window that c names. The arguments are a list of its own: what makes windows overlap adds to those of each call.
func endOf(c *sqlparser.ColName, window *sqlparser.FuncExpr) *sqlparser.FuncExpr {
	return &sqlparser.FuncExpr{Name: sqlparser.NewColIdent("window_" + c.Name.Lowered()), Exprs: append(sqlparser.SelectExprs(nil), window.Exprs...)}
}
