package server

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/column"
	"millrace/planner"
	"millrace/server/wire"
)

// A look-up is what applications send most: the same SELECT, each time with another key. To plan it costs several times what it costs to run, so a session keeps the
// plan, as docs/adr/0016-kept-plans.md explains. It holds while all that planning has looked at is as it was: the statement, the settings of the session, the
// catalog. The user's privileges are asked at each execution.

// lookup is a statement SELECT columns FROM table WHERE column = value AND … [LIMIT n].
type lookup struct {
	table      sqlparser.TableName
	conditions []keyCondition
	// auth is what the statement needs privileges for.
	auth sqlparser.AuthInformation
	// kept is its plan, nil until it has run.
	kept *keptLookup
}

// keyCondition is column = value; value is a literal or a placeholder.
type keyCondition struct {
	column string
	value  *sqlparser.SQLVal
}

// keptLookup is the plan of a look-up and how its rows are shown.
type keptLookup struct {
	planState
	plan    *planner.Lookup
	schema  sql.Schema
	columns []wire.Column
}

// planState is what a plan depends on besides the statement.
type planState struct {
	// settings is the session's count of them, catalog the version of all definitions.
	settings uint64
	catalog  int64
}

func (x *session) planState() planState { return planState{x.settings, x.engine.catalog.Version()} }

// lookupOf finds out whether a statement is a look-up, nil when it is not. What could be more than columns, a table and keys is not.
func lookupOf(ast sqlparser.Statement) *lookup {
	s, ok := ast.(*sqlparser.Select)
	if !ok || s.Into != nil || s.With != nil || s.Having != nil || s.Where == nil || s.Lock != nil && s.Lock.Type != "" || len(s.GroupBy) > 0 || len(s.Window) > 0 || len(s.OrderBy) > 0 ||
		len(s.Comments) > 0 || len(s.From) != 1 || s.QueryOpts.Distinct || len(s.QueryOpts.DistinctOn) > 0 || s.QueryOpts.SQLCalcFoundRows || s.QueryOpts.StraightJoinHint {
		return nil
	}
	t, ok := s.From[0].(*sqlparser.AliasedTableExpr)
	if !ok || t.Hints != nil || t.AsOf != nil || len(t.Partitions) > 0 || t.Lateral {
		return nil
	}
	table, ok := t.Expr.(sqlparser.TableName)
	if !ok || !table.SchemaQualifier.IsEmpty() || s.Limit != nil && !(isCount(s.Limit.Rowcount) && (s.Limit.Offset == nil || isCount(s.Limit.Offset))) {
		return nil
	}
	if !slices.ContainsFunc(s.SelectExprs, func(e sqlparser.SelectExpr) bool { return !isColumnOrStar(e) }) {
		if conditions, ok := keyConditions(s.Where.Expr); ok {
			return &lookup{table: table, conditions: conditions, auth: t.Auth}
		}
	}
	return nil
}

func isCount(e sqlparser.Expr) bool {
	v, ok := e.(*sqlparser.SQLVal)
	return ok && v.Type == sqlparser.IntVal
}

func isColumnOrStar(e sqlparser.SelectExpr) bool {
	switch e := e.(type) {
	case *sqlparser.StarExpr:
		return true
	case *sqlparser.AliasedExpr:
		_, ok := columnName(e.Expr)
		return ok
	}
	return false
}

// columnName is the name of a column, and not of a variable.
func columnName(e sqlparser.Expr) (string, bool) {
	c, ok := e.(*sqlparser.ColName)
	if !ok || c.StoredProcVal != nil || strings.HasPrefix(variableText(c), "@") {
		return "", false
	}
	return c.Name.String(), true
}

// keyConditions takes a conjunction of column = value apart.
func keyConditions(e sqlparser.Expr) ([]keyCondition, bool) {
	switch e := e.(type) {
	case *sqlparser.AndExpr:
		left, ok := keyConditions(e.Left)
		if !ok {
			return nil, false
		}
		right, ok := keyConditions(e.Right)
		return append(left, right...), ok
	case *sqlparser.ParenExpr:
		return keyConditions(e.Expr)
	case *sqlparser.ComparisonExpr:
		name, isColumn := columnName(e.Left)
		v, isValue := e.Right.(*sqlparser.SQLVal)
		if e.Operator != sqlparser.EqualStr || e.Escape != nil || !isColumn || !isValue {
			return nil, false
		}
		return []keyCondition{{name, v}}, true
	}
	return nil, false
}

// keys are the values of the conditions, with those of placeholders by their names; ok is false when one is neither an integer nor a text.
func (l *lookup) keys(placeholders map[string]sqlparser.Expr) (keys []planner.Key, ok bool) {
	for _, c := range l.conditions {
		v := c.value
		if v.Type == sqlparser.ValArg {
			if v, ok = placeholders[strings.TrimPrefix(string(v.Val), ":")].(*sqlparser.SQLVal); !ok {
				return nil, false
			}
		}
		key, ok := literalKey(v)
		if !ok {
			return nil, false
		}
		keys = append(keys, planner.Key{Column: c.column, Value: key})
	}
	return keys, true
}

func literalKey(v *sqlparser.SQLVal) (any, bool) {
	switch v.Type {
	case sqlparser.IntVal:
		n, err := strconv.ParseInt(string(v.Val), 10, 64)
		return n, err == nil
	case sqlparser.StrVal:
		return string(v.Val), true
	}
	return nil, false
}

// keyOf is the key of a placeholder, as literal and then literalKey would have it.
func keyOf(p wire.Param) (any, bool) {
	switch v := p.V.(type) {
	case int64:
		return v, true
	case uint64:
		return int64(v), int64(v) >= 0
	case string:
		return v, p.Type != wire.TypeNewDecimal && p.Type != wire.TypeDecimal
	}
	return nil, false
}

// keptKeys are the values for the kept plan of a prepared statement; ok is false when there is none that holds and takes them.
func (x *session) keptKeys(st *statement, params []wire.Param) (keys []any, ok bool) {
	if st.lookup == nil || !x.holds(st.lookup.kept) {
		return nil, false
	}
	for _, c := range st.lookup.conditions {
		var key any
		if c.value.Type == sqlparser.ValArg {
			n, err := strconv.Atoi(strings.TrimPrefix(string(c.value.Val), ":v"))
			if err != nil || n < 1 || n > len(params) {
				return nil, false
			}
			key, ok = keyOf(params[n-1])
		} else {
			key, ok = literalKey(c.value)
		}
		if !ok {
			return nil, false
		}
		keys = append(keys, key)
	}
	return keys, st.lookup.kept.plan.Takes(keys)
}

// holds reports whether a plan may be run again. A transaction is the engine's to keep.
func (x *session) holds(k *keptLookup) bool {
	return k != nil && k.planState == x.planState() && x.sql.GetTransaction() == nil
}

// keep keeps the plan by which a look-up has just been begun, made in the state given; nothing when it cannot be kept. With autocommit off the statement belongs to a
// transaction, and nothing is kept.
func (x *session) keep(c *sql.Context, st *statement, state planState, schema sql.Schema, values map[string]sqlparser.Expr) {
	l := st.lookup
	l.kept = nil
	keys, ok := l.keys(values)
	if !ok || !x.autocommit(c) || c.WarningCount() > 0 {
		return
	}
	db := l.table.DbQualifier.String()
	if db == "" {
		db = c.GetCurrentDatabase()
	}
	table, ok := x.engine.provider.storedTable(c, db, l.table.Name.String())
	if !ok {
		return // a view, or what is no more
	}
	if p, ok := planner.KeepLookup(c, planner.PlanOf(c), table, keys); ok {
		l.kept = &keptLookup{state, p, schema, columnsOf(c, schema)}
	}
}

// answerLookup answers by a kept plan as the engine would have, and leaves what it leaves for FOUND_ROWS(), ROW_COUNT() and SHOW STATUS.
func (x *session) answerLookup(c *sql.Context, st *statement, keys []any, r results) error {
	x.startWarnings(c, st.ast)
	if r, ok := r.(interface{ ReturnsRows() error }); ok {
		if err := r.ReturnsRows(); err != nil {
			return err
		}
	}
	sql.IncrementStatusVariable(c, "Questions", 1)
	if err := x.engine.Analyzer.Catalog.AuthHandler.HandleAuth(c, nil, st.lookup.auth); err != nil {
		return err
	}
	sql.IncrementStatusVariable(c, "Com_select", 1)
	x.engine.metrics.keptPlans.Add(1)
	if err := x.sendLookup(c, st.lookup.kept, keys, r); err != nil {
		return err
	}
	info := c.GetLastQueryInfo()
	info.FoundRows.Store(r.RowCount())
	info.RowCount.Store(-1)
	return nil
}

// sendLookup sends the rows: as batches, from where they are read to the socket on one goroutine, when they and the results are such.
func (x *session) sendLookup(c *sql.Context, k *keptLookup, keys []any, r results) error {
	if b, ok := r.(batches); ok && k.plan.Whole() {
		err := k.plan.Push(c, keys, func() error { return r.Columns(k.columns) }, func(part *column.Batch) error { return b.Batch(part) })
		if err != nil {
			return err
		}
		return r.EndRows()
	}
	rows, err := k.plan.Rows(c, keys)
	if err != nil {
		return err
	}
	return x.answerColumns(c, k.schema, k.columns, rows, r)
}
