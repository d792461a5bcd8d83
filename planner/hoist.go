package planner

import (
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"

	"millrace/planner/expr"
)

// A projection that the scan cannot compute as a whole still holds parts that it can:
//
//	Project soundex({value}:name), length(key) + 1        Project soundex(#1), #2
//	  Scan                                           →      Scan {value}:name, length(key) + 1
//
// The engine then works on little values, and a cast that fails names its record, which the engine does not know.

// hoistProject moves parts of p into the scan. limited says that of its rows few may be wanted.
func hoistProject(p *plan.Project, with compiler, limited bool) (sql.Node, bool) {
	if p.IncludesNestedIters || with.scoped || with.scan.aggregated() {
		return nil, false
	}
	h := hoisting{compiler: with, into: with.scan.copy(), known: map[string]int{}}
	h.into.exprs = slices.Clone(h.into.exprs)
	h.into.schema = h.into.schema.Copy()
	h.safe = len(h.into.order) > 0 && (limited || h.into.bounded())
	exprs := slices.Clone(p.Projections)
	for i, e := range exprs {
		var err error
		if exprs[i], _, err = h.expression(e, !h.safe); err != nil {
			return nil, false
		}
	}
	if len(h.known) == 0 {
		return nil, false
	}
	out, err := p.WithExpressions(with.ctx, exprs...)
	if err == nil {
		out, err = out.WithChildren(with.ctx, h.into)
	}
	return out, err == nil
}

// hoisting is a projection on the way into a scan.
type hoisting struct {
	compiler
	into *Scan
	// known are the places of the columns that were added, by their text.
	known map[string]int
	// safe is set where nothing that may fail can be moved: above an order the engine computes the rows that are wanted only.
	safe bool
}

// expression replaces what the scan can compute of e by columns. always says that the engine evaluates e for every row: what may fail is moved only then.
func (h *hoisting) expression(e sql.Expression, always bool) (sql.Expression, transform.TreeIdentity, error) {
	switch e.(type) {
	case *expression.GetField, *expression.Literal, *plan.Subquery:
		return e, transform.SameTree, nil
	case *expression.Alias:
	default:
		_, moved := h.known[e.String()]
		if k, ok := h.compile(e); ok && !isConstant(e) && (always || moved || !k.fails) {
			return h.column(e, k), transform.NewTree, nil
		}
	}
	evaluated := evaluates(e)
	children := e.Children()
	var changed []sql.Expression
	for i, child := range children {
		if i >= evaluated {
			always = false
		}
		c, same, err := h.expression(child, always)
		if err != nil {
			return nil, transform.SameTree, err
		}
		if !same {
			if changed == nil {
				changed = slices.Clone(children)
			}
			changed[i] = c
		}
	}
	if changed == nil {
		return e, transform.SameTree, nil
	}
	e, err := e.WithChildren(h.ctx, changed...)
	return e, transform.NewTree, err
}

// column is e as a column of the scan. It has the text of e, by which the engine names columns.
func (h *hoisting) column(e sql.Expression, k kernel) sql.Expression {
	text, typ := e.String(), e.Type(h.ctx)
	at, ok := h.known[text]
	if !ok {
		at = len(h.into.outputs)
		h.known[text] = at
		h.into.outputs = append(h.into.outputs, output{kernel: k, result: -1})
		h.into.exprs = append(h.into.exprs, e)
		h.into.schema = append(h.into.schema, &sql.Column{Name: text, Type: typ, Nullable: k.nullable})
	}
	return expression.NewGetFieldWithTable(0, 0, typ, "", "", text, k.nullable).WithIndex(at)
}

// evaluates is how many of its operands the engine evaluates in any case: of a function the first, as one that is NULL may end it; of a choice between
// values, and of what is not known, none.
func evaluates(e sql.Expression) int {
	switch e := e.(type) {
	case *expression.Alias, *expr.Cast, *expr.Path, *expression.Not, *expression.IsNull, *expr.Arithmetic:
		return 1
	case *expression.Div, *expression.IntDiv, *expression.Arithmetic:
		return 2
	case *expression.Case:
		return 0
	case sql.FunctionExpression:
		if len(e.Children()) == 0 {
			return 0
		}
		return 1
	default:
		return 0
	}
}
