package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression/function"

	"millrace/internal/column"
	"millrace/internal/ops"
)

// datePart takes a function that gives a part of a time apart.
func datePart(e sql.Expression) (part ops.DatePart, of sql.Expression, ok bool) {
	switch e := e.(type) {
	case *function.Year:
		return ops.Year, e.Child, true
	case *function.Quarter:
		return ops.Quarter, e.Child, true
	case *function.Month:
		return ops.Month, e.Child, true
	case *function.Day:
		return ops.Day, e.Child, true
	case *function.DayOfYear:
		return ops.DayOfYear, e.Child, true
	case *function.Weekday:
		return ops.Weekday, e.Child, true
	case *function.DayOfWeek:
		return ops.DayOfWeek, e.Child, true
	case *function.Hour:
		return ops.Hour, e.Child, true
	case *function.Minute:
		return ops.Minute, e.Child, true
	case *function.Second:
		return ops.Second, e.Child, true
	default:
		return 0, nil, false
	}
}

// part compiles a part of what is a time already; the engine reads times from text and numbers, with warnings.
func (c compiler) part(typ sql.Type, part ops.DatePart, of sql.Expression) (kernel, bool) {
	x, ok := c.compile(of)
	if !ok || x.kind.Kind != column.Timestamp && x.kind.Kind != column.Date {
		return kernel{}, false
	}
	return unary(typ, x, func(x ops.Expr) (ops.Expr, error) { return ops.PartOf(part, x) })
}
