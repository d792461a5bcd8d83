package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"

	"millrace/internal/column"
	"millrace/internal/ops"
	"millrace/internal/scan"
)

// sortKey is a key of an ORDER BY that the scan computes.
type sortKey struct {
	kernel
	desc bool
	text string
}

func (k sortKey) String() string {
	if k.desc {
		return k.text + " DESC"
	}
	return k.text
}

// absorbTopN keeps the first rows of an order in the scan. Whatever rows the engine would choose among those that tie for the last place, ours may
// choose others.
func absorbTopN(n *plan.TopN, with compiler) (*Scan, bool) {
	limit, ok := rowCount(with.ctx, n.Limit)
	if !ok || limit == 0 || n.CalcFoundRows {
		return nil, false
	}
	c, ok := absorbSort(n.SortConditions, with)
	if !ok {
		return nil, false
	}
	c.limit = limit
	return c, true
}

// absorbSort sorts the rows in the scan. An order that it had before was that of rows that tie now, which need none.
func absorbSort(conditions sql.SortConditions, with compiler) (*Scan, bool) {
	s := with.scan
	if s.bounded() {
		return nil, false
	}
	c := s.copy()
	c.order = nil
	for _, cond := range conditions {
		k, ok := with.compile(cond.Expr)
		if !ok || !sortable(k) || cond.NullOrdering != sql.NullsFirst {
			return nil, false
		}
		c.order = append(c.order, sortKey{k, cond.Order == sql.Descending, cond.Expr.String()})
	}
	return c, len(c.order) > 0
}

// sortable reports whether the engine orders values of k as ops does.
func sortable(k kernel) bool {
	switch k.kind.Kind {
	case column.Int32, column.Int64:
		return k.integral()
	case column.Bool:
		return true
	case column.Text:
		return bytewise(k.typ)
	case column.Bytes, column.Timestamp, column.Date, column.Float64, column.Decimal:
		return true
	default:
		return false
	}
}

// newest says what a reader that begins at the end must find: the first rows of an order by offset or timestamp, or the row that holds the MAX of one
// of them. By timestamp it takes the user's word on their order.
func (s *Scan) newest() (scan.Newest, bool) {
	n := scan.Newest{Rows: s.limit + s.offset}
	switch {
	case s.limit >= 0 && len(s.order) > 0 && s.order[0].desc && s.order[0].plain:
		n.By = s.order[0].field
	case len(s.keys) == 0 && len(s.order) == 0 && len(s.aggregates) == 1 && s.aggregates[0].isMax:
		n = scan.Newest{By: s.aggregates[0].greatest, Rows: 1}
	default:
		return n, false
	}
	return n, !s.live && (n.By == scan.Offset || n.By == scan.Timestamp && s.trusted)
}

// buildOrder adds the order to p.
func (s *Scan) buildOrder(p *ops.Pipeline, in *inputs) error {
	for _, k := range s.order {
		e, err := k.build(in)
		if err != nil {
			return err
		}
		p.OrderBy = append(p.OrderBy, ops.Order{Expr: e, Desc: k.desc})
	}
	return nil
}
