package pgstore

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// The database computes groups where it provably comes to what the operators above would: a value is told from another as they do, numbers are exact, and every
// condition is written down as it is meant. Each statement gives the groups of a range of row numbers, and the operators merge them.

// result is a column of groups: a key of theirs or a function.
type result struct {
	key    bool
	f      store.PartialFunc
	column *store.Column // nil for CountRows
}

// aggregate has the source deliver groups if it can.
func (s *source) aggregate(a *store.Aggregation, where []store.Condition) error {
	if a == nil || len(a.Groups)+len(a.Partials) == 0 {
		return nil
	}
	var results []result
	var columns []store.Column
	add := func(i int, r result, t column.Type) error {
		if r.key || r.f != store.CountRows {
			if i < 0 || i >= len(s.table.schema.Columns) {
				return mistake("table %s has no column %d", s.table.id, i)
			}
			r.column = &s.table.schema.Columns[i]
			columns = append(columns, *r.column)
		} else {
			columns = append(columns, store.Column{})
		}
		if !r.key {
			columns[len(columns)-1].Type = t
		}
		results = append(results, r)
		return nil
	}
	for _, i := range a.Groups {
		if err := add(i, result{key: true}, column.Type{}); err != nil {
			return err
		}
	}
	for _, p := range a.Partials {
		if err := add(p.Column, result{f: p.Func}, p.Type); err != nil {
			return err
		}
	}
	for i := range s.table.parts {
		p := &s.table.parts[i]
		c := new(condition)
		if c.where(s.table, p, where); c.weak {
			return nil
		}
		for k := range results {
			if !results[k].exact(p) {
				return nil
			}
		}
	}
	s.columns, s.results, s.keys = columns, results, len(a.Groups)
	return nil
}

// exact reports whether the database computes r as the operators do, for the rows of a part.
func (r *result) exact(p *part) bool {
	if r.column == nil {
		return true
	}
	k := r.column.Type.Kind
	if !p.has(r.column.ID) && (r.key || r.f != store.CountValues) {
		if _, ok := new(condition).constant(k, r.column.Default); !ok {
			return false
		}
	}
	switch {
	case r.key:
		return k != column.Float64 && k != column.JSON // 0 and −0 are one group; texts of JSON are not compared here
	case r.f == store.CountValues:
		return true
	case r.f == store.SumValues:
		return k == column.Int32 || k == column.Int64 || k == column.Uint64 || k == column.Decimal
	case r.f == store.MinValue, r.f == store.MaxValue:
		// PostgreSQL has no least boolean, and before version 18 no least bytea.
		return k != column.Float64 && k != column.JSON && k != column.Bool && k != column.Bytes
	default:
		return false
	}
}

// constant is a value of a column that a part lacks.
func (c *condition) constant(k column.Kind, v store.Value) (sql string, ok bool) {
	switch {
	case v.IsNull():
		return "null::numeric", true // whatever the type, the result is NULL
	case k == column.Bool:
		return strconv.FormatBool(v.Int64() != 0), true
	default:
		return c.value(k, v)
	}
}

// selected is r in the list of a SELECT; single says that each row is a group of its own.
func (r *result) selected(c *condition, p *part, single bool) string {
	all := "count(*)"
	if single {
		all = "1::bigint"
	}
	if r.column == nil {
		return all
	}
	there := p.has(r.column.ID)
	if r.f == store.CountValues && !r.key {
		switch {
		case there && single:
			return "(" + columnName(r.column.ID) + " is not null)::int::bigint"
		case there:
			return "count(" + columnName(r.column.ID) + ")"
		case !r.column.Default.IsNull():
			return all
		case single:
			return "0::bigint"
		default:
			return "count(null::numeric)"
		}
	}
	x := columnName(r.column.ID)
	if !there {
		x, _ = c.constant(r.column.Type.Kind, r.column.Default) // exact has seen that it can be said
	}
	switch {
	case single && !r.key && r.f == store.SumValues:
		return x + "::numeric"
	case r.key, single:
		return x
	case r.f == store.SumValues:
		return "sum(" + x + ")"
	case r.f == store.MinValue:
		return "min(" + x + ")"
	default:
		return "max(" + x + ")"
	}
}

// kind is how r comes back of a part.
func (r *result) kind(p *part) column.Kind {
	switch {
	case r.column == nil, !r.key && r.f == store.CountValues:
		return column.Int64
	case !r.key && r.f == store.SumValues:
		return column.Decimal
	}
	if k, ok := p.find(r.column.ID); ok {
		return k
	}
	return r.column.Type.Kind
}

// groupsQuery is the statement that computes the groups of a range of a piece. There is one row more than a page may have when there are too many.
func (s *source) groupsQuery(x *piece, from, to int64) *condition {
	c := x.where.clone()
	rest := c.sql.String()
	c.sql.Reset()
	c.sql.WriteString("select ")
	for i := range s.results {
		if i > 0 {
			c.sql.WriteString(", ")
		}
		c.sql.WriteString(s.results[i].selected(c, x.part, x.single))
	}
	c.sql.WriteString(" from " + s.snap.store.names.rows(x.part.Number) + " where ")
	c.numbers(from, to)
	c.sql.WriteString(rest)
	for i := range s.keys {
		if x.single {
			break
		}
		if i == 0 {
			c.sql.WriteString(" group by 1")
		} else {
			c.sql.WriteString(", " + strconv.Itoa(i+1))
		}
	}
	c.sql.WriteString(" limit " + strconv.Itoa(s.page+1))
	return c
}

// spanGrowth is the factor by which the number of rows follows how few groups they have.
const spanGrowth = 8

// groups reads the groups of a piece. Once about each row has turned out to be a group of its own, they are read as that, which saves the database to look. A page has the groups of as many rows as have few enough to be held: rows up to the size of a page have in any case.
func (l *lane) groups(ctx context.Context, x *piece) error {
	s := l.source
	l.span = max(l.span, int64(s.page))
	for from := x.from; from < x.to; {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		to := min(from+l.span, x.to)
		if s.keys == 0 {
			to = x.to
		}
		if err := l.read(ctx, x, from, to); err != nil {
			return err
		}
		if l.page.N > s.page {
			l.span = max(min(l.span, to-from)/spanGrowth, int64(s.page))
			continue
		}
		switch n := int64(l.page.N); {
		case n < int64(s.page/spanGrowth) && l.span < filteredRows && !x.single:
			l.span *= spanGrowth
		case s.keys > 0 && 2*n > to-from && l.span <= int64(s.page):
			x.single = true
		}
		if err := l.push(ctx); err != nil {
			return err
		}
		s.rowsDone.Add(to - from)
		from = to
	}
	return nil
}

// decodeGroups fills the page with groups.
func (l *lane) decodeGroups(rows *pgconn.ResultReader, p *part) error {
	s := l.source
	l.page.N, l.numbers = 0, l.numbers[:0]
	for i := range s.columns {
		l.page.Cols[i].Reset(s.columns[i].Type)
		l.kinds[i] = s.results[i].kind(p)
	}
	for rows.NextRow() {
		values := rows.Values()
		if len(values) != len(l.kinds) {
			return fmt.Errorf("a group has %d values, want %d", len(values), len(l.kinds))
		}
		for i, x := range values {
			v := &l.page.Cols[i]
			s.bytes.Add(int64(len(x)))
			if x == nil {
				v.AppendNull()
				continue
			}
			if err := appendValue(v, l.kinds[i], x); err != nil {
				return fmt.Errorf("column %d of a group: %w", i+1, err)
			}
		}
		l.page.N++
	}
	return nil
}

// Aggregated says that the batches are partial results, see store.Aggregated.
func (s *source) Aggregated() bool { return s.results != nil }
