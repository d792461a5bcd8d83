package planner

import (
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// settle finishes every scan below n: it finds which columns anything above refers to, and leaves the others out.
func settle(ctx *sql.Context, n sql.Node, o Options) (sql.Node, error) {
	u := &uses{options: o, ids: map[sql.ColumnId]bool{}, names: map[string]bool{}}
	u.collect(ctx, n)
	out, _, err := u.settle(ctx, n, need{all: true})
	return out, err
}

// uses is the set of columns that expressions of a statement refer to, anywhere in it: ids are unique in a statement, and an outer
// column may be used in a subquery far below. More than needed costs time, less would be wrong.
type uses struct {
	options Options
	ids     map[sql.ColumnId]bool
	// names are those of references without an id.
	names map[string]bool
	// unknown is set when there is a node that may refer to columns otherwise than by its Expressions. Then every column is used.
	unknown bool
}

func (u *uses) collect(ctx *sql.Context, n sql.Node) {
	transform.InspectWithOpaque(ctx, n, func(ctx *sql.Context, n sql.Node) bool {
		if _, known := passes(n); !known {
			u.unknown = true
		}
		ne, ok := n.(sql.Expressioner)
		if !ok {
			return true
		}
		for _, e := range ne.Expressions() {
			transform.InspectExpr(ctx, e, func(ctx *sql.Context, e sql.Expression) bool {
				switch e := e.(type) {
				case *expression.GetField:
					u.ids[e.Id()] = true
					if e.Id() == 0 {
						u.names[strings.ToLower(e.Name())] = true
					}
				case *plan.Subquery:
					u.collect(ctx, e.Query)
				}
				return false
			})
		}
		return true
	})
}

// demand is what a node needs of its children's columns, besides those that expressions name.
type demand uint8

const (
	// demandSame: its own rows are made of the children's, so it needs what is needed of itself.
	demandSame demand = iota
	// demandNamed: its rows are made of expressions.
	demandNamed
	// demandAll: it looks at every column, or at columns by position.
	demandAll
)

// passes says what n needs of its children, and whether n is a node that refers to columns by its Expressions only.
func passes(n sql.Node) (d demand, known bool) {
	switch n.(type) {
	case *plan.Project, *plan.GroupBy, *plan.Window:
		return demandNamed, true
	case *plan.Filter, *plan.Having, *plan.Limit, *plan.Offset, *plan.Sort, *plan.TopN, *plan.TableAlias, *plan.JoinNode,
		*plan.HashLookup, *plan.CachedResults, *plan.Max1Row:
		return demandSame, true
	case *plan.SubqueryAlias, *plan.SetOp, *plan.Distinct, *plan.OrderedDistinct, *plan.Into:
		return demandAll, true
	case *Scan, Table, *plan.ResolvedTable, *plan.IndexedTableAccess, *plan.EmptyTable, *plan.Values, *plan.ValueDerivedTable:
		return demandAll, true
	default:
		return demandAll, false
	}
}

// need is what is above a node.
type need struct {
	// all says that every column of the node is needed.
	all bool
	// again says that the node may be run more than once.
	again bool
}

// settle finishes the scans below n.
func (u *uses) settle(ctx *sql.Context, n sql.Node, above need) (sql.Node, transform.TreeIdentity, error) {
	if s, ok := n.(*Scan); ok {
		if s.plan != nil {
			return s, transform.SameTree, nil
		}
		pruned := u.prune(s, above.all)
		pruned.options = u.options
		if above.again {
			pruned.kept = &kept{limit: u.options.KeepBytes}
		}
		done, err := pruned.finish(ctx)
		return done, transform.NewTree, err
	}
	n, sameExpressions, err := eachSubquery(ctx, n, func(ctx *sql.Context, sq *plan.Subquery) (sql.Node, transform.TreeIdentity, error) {
		return u.settle(ctx, sq.Query, need{all: true, again: above.again || !sq.CanCacheResults()})
	})
	if err != nil {
		return nil, transform.SameTree, err
	}
	below := above
	switch d, _ := passes(n); d {
	case demandNamed:
		below.all = false
	case demandAll:
		below.all = true
	}
	n, sameChildren, err := eachChild(ctx, n, func(i int, child sql.Node) (sql.Node, transform.TreeIdentity, error) {
		below := below
		below.again = above.again || repeats(n, i)
		return u.settle(ctx, child, below)
	})
	return n, sameExpressions && sameChildren, err
}

// repeats reports whether n runs its child i once for each row of another: the inner side of a join without a memory of its own.
func repeats(n sql.Node, i int) bool {
	j, ok := n.(*plan.JoinNode)
	if !ok || i == 0 {
		return false
	}
	switch j.Right().(type) {
	case *plan.HashLookup, *plan.CachedResults:
		return false
	}
	return true
}

// prune marks the columns of s that nobody needs.
func (u *uses) prune(s *Scan, all bool) *Scan {
	c := s.copy()
	if all || u.unknown {
		return c
	}
	for i := range c.outputs {
		o := &c.outputs[i]
		o.unneeded = o.id != 0 && !u.ids[o.id] && !u.names[strings.ToLower(c.schema[i].Name)]
	}
	return c
}
