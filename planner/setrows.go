package planner

import (
	"errors"
	"io"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/iters"
	"github.com/dolthub/go-mysql-server/sql/plan"
)

// setRows are the rows of UNION DISTINCT, INTERSECT and EXCEPT; nil for UNION ALL, which the engine has right.
func (x explainer) setRows(ctx *sql.Context, s *plan.SetOp, row sql.Row) (sql.RowIter, error) {
	if s.SetOpType == plan.UnionType && !s.Distinct {
		return nil, nil
	}
	left, err := x.engine.Build(ctx, s.Left(), row)
	if err != nil {
		return nil, err
	}
	schema := s.Schema(ctx)
	var rows sql.RowIter
	if s.SetOpType == plan.UnionType {
		rows = &iters.UnionIter{Cur: left, NextIter: func(ctx *sql.Context) (sql.RowIter, error) { return x.engine.Build(ctx, s.Right(), row) }}
	} else {
		right, err := x.engine.Build(ctx, s.Right(), row)
		if err != nil {
			return nil, errors.Join(err, left.Close(ctx))
		}
		except := s.SetOpType == plan.ExceptType
		if except && s.Distinct {
			left = x.distinct(ctx, left, schema)
		}
		counted := x.identities(ctx, newRowIdentity(schema), "the rows of INTERSECT and EXCEPT")
		rows = &matchIter{left: left, right: right, except: except, all: !s.Distinct, counted: counted}
	}
	if s.Distinct && s.SetOpType != plan.ExceptType {
		rows = x.distinct(ctx, rows, schema)
	}
	return boundedRows(ctx, s, rows)
}

// boundedRows are rows as ORDER BY, LIMIT and OFFSET of s have them.
func boundedRows(ctx *sql.Context, s *plan.SetOp, rows sql.RowIter) (_ sql.RowIter, err error) {
	limit, offset := int64(-1), int64(0)
	if s.Limit != nil {
		limit, err = iters.GetInt64Value(ctx, s.Limit)
	}
	if s.Offset != nil && err == nil {
		offset, err = iters.GetInt64Value(ctx, s.Offset)
	}
	if err != nil {
		return nil, errors.Join(err, rows.Close(ctx))
	}
	switch {
	case len(s.SortConditions) == 0:
	case limit >= 0 && limit+offset >= 0:
		rows = iters.NewTopRowsIter(s.SortConditions, limit+offset, false, rows)
	default:
		rows = iters.NewSortIter(s.SortConditions, rows)
	}
	if offset > 0 {
		rows = &skipIter{RowIter: rows, skip: offset}
	}
	if limit >= 0 {
		rows = &iters.LimitIter{Limit: limit, ChildIter: rows}
	}
	return rows, nil
}

// matchIter gives the rows of left that right has, or has not: of n equal rows of right each stands for one row of left where all is set, for all of them where not.
type matchIter struct {
	left, right sql.RowIter
	except, all bool
	counted     *identities
	// counts are how many rows of right there are left, by their numbers.
	counts []int64
	read   bool
}

// Next implements sql.RowIter.
func (it *matchIter) Next(ctx *sql.Context) (sql.Row, error) {
	if !it.read {
		it.read = true
		if err := it.readRight(ctx); err != nil {
			return nil, err
		}
	}
	for {
		row, err := it.left.Next(ctx)
		if err != nil {
			return nil, err
		}
		number, found, err := it.counted.find(ctx, row)
		if err != nil {
			return nil, err
		}
		found = found && it.counts[number] > 0
		if found && it.all {
			it.counts[number]--
		}
		if found != it.except {
			return row, nil
		}
	}
}

func (it *matchIter) readRight(ctx *sql.Context) error {
	for {
		row, err := it.right.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		number, first, err := it.counted.add(ctx, row)
		if err != nil {
			return err
		}
		if first {
			it.counts = append(it.counts, 0)
		}
		it.counts[number]++
	}
}

// Close implements sql.RowIter.
func (it *matchIter) Close(ctx *sql.Context) error {
	it.counted.close()
	return errors.Join(it.left.Close(ctx), it.right.Close(ctx))
}

// skipIter leaves out the first rows.
type skipIter struct {
	sql.RowIter
	skip int64
}

// Next implements sql.RowIter.
func (it *skipIter) Next(ctx *sql.Context) (sql.Row, error) {
	for ; it.skip > 0; it.skip-- {
		if _, err := it.RowIter.Next(ctx); err != nil {
			return nil, err
		}
	}
	return it.RowIter.Next(ctx)
}
