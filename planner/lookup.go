package planner

import (
	"slices"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/transform"
)

// The engine applies some sixty rules to every statement, each of which walks the plan. For a look-up in a stored table that is a third of what the
// statement costs, although nearly all of them are about plans of another shape: subqueries, joins, groups, writes, definitions. Those are left out for
// look-ups. Whether a plan is a look-up is asked of the plan that a rule would get, so nothing has to be remembered between rules, and every other
// plan, also one that becomes a look-up only on the way, is treated by the rules as before.

// notForLookups are the rules that leave each look-up as it is, and refuse none. A rule that is not named here, such as a new one of the engine's, is applied.
var notForLookups = []string{
	// about other statements than SELECT
	"validateCreateTable", "validateAlterTable", "resolveDropConstraint", "ResolveAlterColumn", "validateDropTables", "resolveCreateSelect", "validateDropConstraint",
	"validateCreateTrigger", "validateColumnDefaults", "validateReadOnlyDatabase", "validateReadOnlyTransaction", "validateDatabaseSet", "validateDeleteFrom",
	"validateCheckConstraints", "loadTriggers", "processTruncate", "stripTableNamesFromColumnDefaults", "modifyUpdateExprsForJoin", "applyForeignKeys", "interpreter",
	"validateSchemaSource", "validateIndexCreation", "resolveInsertRows", "applyTriggers", "applyProcedures", "quoteDefaultColumnValueNames",
	// about nodes that a look-up has not: UNION, subqueries, joins, groups, DISTINCT, indexes, tables of the engine's own
	"resolveUnions", "hoistOutOfScopeFilters", "replaceSubqueries", "pushdownSubqueryAliasFilters", "unnestInSubqueries", "resolveSubqueries", "replaceCrossJoins",
	"unnestExistsSubqueries", "finalizeUnions", "finalizeSubqueries", "applyIndexesFromOuterScope", "inlineSubqueryAliasRefs", "cacheSubqueryAliasesInJoins",
	"validateSubqueryColumns", "validateUnionSchemasMatch", "replaceCountStar", "validateGroupBy", "replaceAgg", "validateAggregations", "flattenDistinct", "replaceIdxSort",
	"replaceIdxOrderByDistance", "optimizeJoins", "pruneTables", "assignRoutines", "engineOverrides",
	// about expressions that a look-up has not: rows of values, *, intervals, aggregates in ORDER BY, hidden columns
	"validateExprSem", "validateStarExpressions", "validateNoHiddenSystemColumns", "validateOperands", "validateIntervalUsage", "validateOrderBy",
	// the filter of a look-up is above its table already
	"pushFilters",
}

// notForScans are the rules that fix what a plan is executed by, of which a Scan has no need: it goes by the ids of columns. A look-up that becomes a Scan as a
// whole becomes it before them.
var notForScans = []string{"assignExecIndexes", "trackProcess"}

// lookups is the rule that makes a Scan of a look-up. A part of one that cannot be pushed down needs the positions of its columns: then there
// is nothing to be gained, and the plan goes on as all others do.
func (o Options) lookups(ctx *sql.Context, _ *analyzer.Analyzer, n sql.Node, scope *plan.Scope, _ analyzer.RuleSelector, _ *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
	if !scope.IsEmpty() || !isLookup(n) {
		return n, transform.SameTree, nil
	}
	pushed, same, err := o.push(ctx, n, place{scoped: true}) // positions are not known yet
	if err != nil || bool(same) || !isScan(pushed) {
		return n, transform.SameTree, err
	}
	return pushed, transform.NewTree, nil
}

func isScan(n sql.Node) bool {
	_, ok := n.(*Scan)
	return ok
}

// sparingLookups replaces each run of rules that are not for look-ups by one that applies them to other plans, and has pushdown done early for look-ups.
func (o Options) sparingLookups(batches []*analyzer.Batch) []*analyzer.Batch {
	out := make([]*analyzer.Batch, len(batches))
	for i, b := range batches {
		out[i] = &analyzer.Batch{Desc: b.Desc, Iterations: b.Iterations, Rules: unless(isLookup, notForLookups, b.Rules)}
		if slices.ContainsFunc(b.Rules, func(r analyzer.Rule) bool { return r.Id.String() == notForScans[0] }) {
			out[i].Rules = slices.Concat([]analyzer.Rule{{Id: ourRule, Apply: o.lookups}}, unless(isScan, notForScans, out[i].Rules))
		}
	}
	return out
}

// unless replaces each run of the rules named by one that applies them to whole plans of which spared is not true.
func unless(spared func(sql.Node) bool, names []string, rules []analyzer.Rule) []analyzer.Rule {
	var out []analyzer.Rule
	for len(rules) > 0 {
		n := 0
		for n < len(rules) && slices.Contains(names, rules[n].Id.String()) {
			n++
		}
		if n == 0 {
			out, n = append(out, rules[0]), 1
		} else {
			all := inOrder(rules[:n:n])
			out = append(out, analyzer.Rule{Id: ourRule, Apply: func(ctx *sql.Context, a *analyzer.Analyzer, n sql.Node, scope *plan.Scope, sel analyzer.RuleSelector, flags *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
				if scope.IsEmpty() && spared(n) {
					return n, transform.SameTree, nil
				}
				return all(ctx, a, n, scope, sel, flags)
			}})
		}
		rules = rules[n:]
	}
	return out
}

// inOrder applies rules one after the other, as a batch would.
func inOrder(rules []analyzer.Rule) analyzer.RuleFunc {
	return func(ctx *sql.Context, a *analyzer.Analyzer, n sql.Node, scope *plan.Scope, sel analyzer.RuleSelector, flags *sql.QueryFlags) (sql.Node, transform.TreeIdentity, error) {
		same := transform.SameTree
		for _, r := range rules {
			if !sel(r.Id) {
				continue
			}
			next, unchanged, err := r.Apply(ctx, a, n, scope, sel, flags)
			if err != nil {
				return n, same, err
			}
			n, same = next, same && unchanged
		}
		return n, same, nil
	}
}

// isLookup reports whether n reads one stored table by columns and constants alone: a projection, LIMIT, OFFSET and ORDER BY, then at most one filter,
// then the table, perhaps under another name.
func isLookup(n sql.Node) bool {
	for {
		switch node := n.(type) {
		case *plan.Project:
			if node.IncludesNestedIters || !allPlain(node.Projections) {
				return false
			}
			n = node.Child
		case *plan.Limit:
			if !isPlain(node.Limit) {
				return false
			}
			n = node.Child
		case *plan.Offset:
			if !isPlain(node.Offset) {
				return false
			}
			n = node.Child
		case *plan.Sort:
			if !allPlain(node.SortConditions.ToExpressions()) {
				return false
			}
			n = node.Child
		case *plan.TopN:
			if !isPlain(node.Limit) || !allPlain(node.SortConditions.ToExpressions()) {
				return false
			}
			n = node.Child
		case *plan.Filter:
			return isPlain(node.Expression) && isLookupTable(node.Child)
		default:
			return isLookupTable(n)
		}
	}
}

// isLookupTable reports whether n is a stored table that the rules left out have nothing to do with: without columns of its own choice and without indexes.
func isLookupTable(n sql.Node) bool {
	if alias, ok := n.(*plan.TableAlias); ok {
		n = alias.Child
	}
	resolved, ok := n.(*plan.ResolvedTable)
	if !ok {
		return false
	}
	leaf, ok := storedTable(resolved)
	if !ok {
		return false
	}
	if _, projected := leaf.table.(sql.ProjectedTable); projected {
		return false
	}
	if _, indexed := leaf.table.(sql.IndexAddressable); !indexed {
		return true
	}
	searched, ok := leaf.table.(sql.IndexSearchableTable)
	return ok && searched.SkipIndexCosting()
}

func allPlain(list []sql.Expression) bool { return !slices.ContainsFunc(list, isNotPlain) }

func isNotPlain(e sql.Expression) bool { return !isPlain(e) }

// isPlain reports whether e is made of columns, constants, comparisons and logic.
func isPlain(e sql.Expression) bool {
	switch e := e.(type) {
	case *expression.Literal:
		return true
	case *expression.GetField:
		return !sql.IsHiddenSystemColumn(e.Name())
	case *expression.Alias, *expression.Equals, *expression.NullSafeEquals, *expression.GreaterThan, *expression.GreaterThanOrEqual, *expression.LessThan,
		*expression.LessThanOrEqual, *expression.And, *expression.Or, *expression.Not, *expression.IsNull, *expression.Between:
		return allPlain(e.Children())
	case *expression.InTuple:
		return isPlain(e.Left()) && isPlainList(e.Right())
	case *expression.HashInTuple:
		return isPlain(e.Left()) && isPlainList(e.Right())
	}
	return false
}

// isPlainList reports whether e is a list of IN whose members are plain, and so no rows of several values.
func isPlainList(e sql.Expression) bool {
	list, ok := e.(expression.Tuple)
	return ok && allPlain(list)
}
