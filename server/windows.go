package server

import (
	"strconv"
	"strings"

	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/option"
)

// A window whose slide is less than its width overlaps with others, so that a row lies in several. expandWindows joins a SELECT that has such windows with the
// numbers from 0 to as many as there are of them at any time, less one, and lets its functions give the window with that number, counted from the last one that
// has begun:
//
//	SELECT window_start(t, '10 minutes', '5 minutes'), count(*) FROM r GROUP BY 1
//	SELECT window_start(t, '10 minutes', '5 minutes', '0 seconds', millrace_windows.n), count(*) FROM r, (SELECT 0 AS n UNION ALL SELECT 1) AS millrace_windows
//	WHERE window_start(t, '10 minutes', '5 minutes', '0 seconds', millrace_windows.n) IS NOT NULL GROUP BY 1
//
// Rows without a time are in no window. Two kinds of overlapping windows in one SELECT, or * beside them, are left as they are, which the functions refuse.
func expandWindows(stmt sqlparser.Statement) {
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) { // the visitor gives no error
		if s, ok := n.(*sqlparser.Select); ok {
			expandWindowsOf(s)
		}
		return true, nil
	}, stmt)
}

// mostOverlapping bounds the windows that a row may lie in.
const mostOverlapping = 1000

func expandWindowsOf(s *sqlparser.Select) {
	nameEnds(s)
	if hasStar(s.SelectExprs) {
		return
	}
	var calls []*sqlparser.FuncExpr
	find := func(n sqlparser.SQLNode) {
		_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
			switch n := n.(type) {
			case *sqlparser.Subquery:
				return false, nil // it has windows of its own
			case *sqlparser.FuncExpr:
				if overlapping(n) > 0 {
					calls = append(calls, n)
				}
			}
			return true, nil
		}, n)
	}
	find(s.SelectExprs)
	if s.Where != nil {
		find(s.Where)
	}
	find(s.GroupBy)
	if s.Having != nil {
		find(s.Having)
	}
	find(s.OrderBy)
	if len(calls) == 0 {
		return
	}
	arguments := sqlparser.String(calls[0].Exprs)
	for _, c := range calls {
		if sqlparser.String(c.Exprs) != arguments {
			return
		}
	}
	numbers, err := numbersTable(overlapping(calls[0]))
	if err != nil {
		return
	}
	number := &sqlparser.AliasedExpr{Expr: &sqlparser.ColName{Name: sqlparser.NewColIdent("n"), Qualifier: sqlparser.TableName{Name: sqlparser.NewTableIdent(windowsTable)}}}
	for _, c := range calls {
		if len(c.Exprs) == 3 {
			c.Exprs = append(c.Exprs, &sqlparser.AliasedExpr{Expr: sqlparser.NewStrVal([]byte("0 seconds"))})
		}
		c.Exprs = append(c.Exprs, number)
	}
	s.From = append(s.From, numbers)
	inWindow := &sqlparser.IsExpr{Operator: sqlparser.IsNotNullStr, Expr: &sqlparser.FuncExpr{Name: sqlparser.NewColIdent("window_start"), Exprs: calls[0].Exprs}}
	if s.Where == nil {
		s.Where = sqlparser.NewWhere(sqlparser.WhereStr, inWindow)
		return
	}
	s.Where.Expr = &sqlparser.AndExpr{Left: inWindow, Right: s.Where.Expr}
}

// overlapping is how many windows of a call a time lies in at most, 0 for what is no call of windows that overlap.
func overlapping(call *sqlparser.FuncExpr) int {
	switch call.Name.Lowered() {
	case "window_start", "window_end", windowFunction:
	default:
		return 0
	}
	if len(call.Exprs) != 3 && len(call.Exprs) != 4 {
		return 0
	}
	width, err := option.ParseDuration(literalText(call.Exprs[1]))
	if err != nil {
		return 0
	}
	slide, err := option.ParseDuration(literalText(call.Exprs[2]))
	if err != nil || slide <= 0 || slide >= width || width/slide >= mostOverlapping {
		return 0
	}
	return int((width + slide - 1) / slide)
}

const windowsTable = "millrace_windows"

// numbersTable is a derived table of the numbers below n.
func numbersTable(n int) (sqlparser.TableExpr, error) {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(" UNION ALL ")
		}
		b.WriteString("SELECT " + strconv.Itoa(i) + " AS n")
	}
	stmt, err := sqlparser.Parse("SELECT 1 FROM (" + b.String() + ") AS " + windowsTable)
	if err != nil {
		return nil, err
	}
	return stmt.(*sqlparser.Select).From[0], nil
}
