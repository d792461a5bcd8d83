package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"

	"millrace/internal/sqlerr"
)

// Streaming is a Table that may read records as they come.
type Streaming interface {
	// Streaming says whether the read follows the topics, and whether it has no end of its own: neither a time nor a number of records after
	// which it stops.
	Streaming(ctx *sql.Context) (live, endless bool)
}

// Streaming implements Streaming: the engine plans the source of an INSERT before the whole.
func (s *Scan) Streaming(ctx *sql.Context) (live, endless bool) {
	t, ok := s.table.(Streaming)
	if !ok {
		return false, false
	}
	live, endless = t.Streaming(ctx)
	return live, endless && s.limit < 0
}

// live reports whether t follows its topics.
func live(ctx *sql.Context, t Table) bool {
	s, ok := t.(Streaming)
	if !ok {
		return false
	}
	live, _ := s.Streaming(ctx)
	return live
}

// refuseEndless finds reads without an end below what would wait for their end for ever, and says what to do instead. It looks at the plan of the
// engine, before anything is pushed, and whether or not anything will be.
func refuseEndless(ctx *sql.Context, n sql.Node) error {
	switch n := n.(type) {
	case *plan.CreateTable:
		return takesAll(ctx, n.Select())
	case *plan.TableCopier:
		return takesAll(ctx, n.Source)
	}
	if plan.IsDDLNode(n) {
		return nil // a view is only defined
	}
	_, err := endless(ctx, n, false)
	return err
}

// takesAll is for the query whose rows a new table gets, nil for none.
func takesAll(ctx *sql.Context, source sql.Node) error {
	if source == nil {
		return nil
	}
	end, err := endless(ctx, source, false)
	if end && err == nil {
		err = needsEnd("CREATE TABLE takes the rows")
	}
	return err
}

// endless reports whether n gives rows for ever. limited says that a LIMIT above ends it.
func endless(ctx *sql.Context, n sql.Node, limited bool) (bool, error) {
	if describes(n) {
		return false, nil
	}
	if err := endlessSubqueries(ctx, n); err != nil {
		return false, err
	}
	if t, ok := n.(Streaming); ok {
		_, end := t.Streaming(ctx)
		return end, nil
	}
	children := n.Children()
	if insert, ok := n.(*plan.InsertInto); ok {
		children = append(children, insert.Source) // which the engine does not count among them
	}
	last := -1 // the last child without an end, and how many there are
	count := 0
	for i, child := range children {
		end, err := endless(ctx, child, limits(n) || limited && passesRows(n))
		if err != nil {
			return false, err
		}
		if end {
			last, count = i, count+1
		}
	}
	if count == 0 {
		return false, nil
	}
	switch n := n.(type) {
	case *plan.TableAlias, *plan.SubqueryAlias, *plan.Filter, *plan.Having, *plan.Project, *plan.Offset, *plan.HashLookup, *plan.CachedResults:
		return true, nil
	case *plan.DescribeQuery:
		return false, nil
	case *plan.Limit:
		if n.CalcFoundRows {
			return false, needsEnd("SQL_CALC_FOUND_ROWS counts rows")
		}
		return false, nil
	case *plan.Distinct, *plan.OrderedDistinct:
		if limited {
			return true, nil // it gives each row when it first comes
		}
		return false, needsEnd("DISTINCT remembers rows")
	case *plan.JoinNode:
		if count == 1 && last == 0 && streams(n.Op) {
			return true, nil // the other side is read for each row, or once
		}
		return false, needsEnd("a join reads the rows of one of its sides first, here those")
	case *plan.SetOp:
		if n.SetOpType == plan.UnionType && !n.Distinct && len(n.SortConditions) == 0 {
			if n.Limit != nil {
				return false, nil
			}
			if count == 1 && last == len(children)-1 {
				return true, nil // the other side comes first
			}
		}
		return false, needsEnd("a set operation goes through the rows")
	case *plan.GroupBy:
		return false, needsEnd("GROUP BY, or an aggregate, waits for the rows")
	case *plan.Sort, *plan.TopN:
		e := needsEnd("ORDER BY sorts the rows")
		return false, e.WithDetail("A LIMIT behind ORDER BY does not help: which rows are first is known when all are there.")
	case *plan.Window:
		return false, needsEnd("a window function waits for the rows")
	case *plan.InsertInto:
		return false, needsEnd("INSERT takes the rows")
	case *plan.Into:
		return false, needsEnd("INTO takes the rows")
	}
	return false, needsEnd("the statement waits for the rows")
}

// streams reports whether a join gives rows while its left side is still being read.
func streams(op plan.JoinType) bool {
	return !op.IsMerge() && !op.IsRange() && !op.IsFullOuter() && !op.IsRightOuter() && op != plan.JoinTypeGroupBy && op != plan.JoinTypeLateralRight && !op.IsUsing()
}

// endlessSubqueries goes through the subqueries in n's expressions, all of which are read to their end.
func endlessSubqueries(ctx *sql.Context, n sql.Node) error {
	ne, ok := n.(sql.Expressioner)
	if !ok {
		return nil
	}
	var failed error
	for _, e := range ne.Expressions() {
		transform.InspectExpr(ctx, e, func(ctx *sql.Context, e sql.Expression) bool {
			if sq, ok := e.(*plan.Subquery); ok && failed == nil {
				var end bool
				if end, failed = endless(ctx, sq.Query, false); end && failed == nil {
					failed = needsEnd("a subquery in an expression reads the rows")
				}
			}
			return failed != nil
		})
	}
	return failed
}

// needsEnd is the error for what cannot be done with a read that has no end.
func needsEnd(why string) *sqlerr.Error {
	return sqlerr.New(sqlerr.StreamEndless, "%s of a STREAM read, which has no end", why).
		WithHint("bound the read by max_read_time_seconds => 10 or max_num_records => 1000, put a LIMIT inside (FROM (SELECT … FROM STREAM read_kafka(…) LIMIT 1000) t), or leave STREAM out to read what the topics hold now")
}

// NeedsEnd is the error for an analysed query that gives rows for ever where all of them are wanted; what begins its text.
func NeedsEnd(ctx *sql.Context, n sql.Node, what string) error {
	end, err := endless(ctx, n, false)
	if end && err == nil {
		err = needsEnd(what)
	}
	return err
}
