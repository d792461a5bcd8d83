package server

import (
	"errors"
	"io"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/server/wire"
)

// A SELECT of nothing but literals is what pools and health checks send, many times a second. Its answer depends on its text and on the
// settings of the session (sql_mode, character sets, …), so a session keeps the answers of the last few and takes all as outdated once it has
// run a statement that could have changed a setting. Nothing else is kept: what reads a table, a variable, a function or a placeholder is
// planned at each execution.

const (
	// constantTexts is how many texts of constants a session remembers, constantText how long one may be.
	constantTexts = 8
	constantText  = 128
)

// constant is the answer of a statement of literals.
type constant struct {
	// settings is the session's count of them when the answer was made.
	settings uint64
	schema   sql.Schema
	columns  []wire.Column
	row      sql.Row
}

// ofLiterals reports whether a statement is a SELECT whose columns are literals, with nothing besides.
func ofLiterals(ast sqlparser.Statement) bool {
	s, ok := ast.(*sqlparser.Select)
	// FROM dual, like no FROM at all, is an empty list.
	if !ok || s.Into != nil || s.With != nil || s.Limit != nil || s.Having != nil || s.Where != nil || s.Lock != nil && s.Lock.Type != "" || len(s.From) > 0 || len(s.GroupBy) > 0 || len(s.Window) > 0 ||
		len(s.OrderBy) > 0 || s.QueryOpts.Distinct || len(s.QueryOpts.DistinctOn) > 0 || s.QueryOpts.SQLCalcFoundRows {
		return false
	}
	for _, e := range s.SelectExprs {
		if a, ok := e.(*sqlparser.AliasedExpr); !ok || !isLiteral(a.Expr) {
			return false
		}
	}
	return true
}

func isLiteral(e sqlparser.Expr) bool {
	switch e := e.(type) {
	case *sqlparser.SQLVal:
		return e.Type != sqlparser.ValArg
	case *sqlparser.NullVal, sqlparser.BoolVal:
		return true
	case *sqlparser.UnaryExpr:
		v, ok := e.Expr.(*sqlparser.SQLVal)
		return ok && (e.Operator == sqlparser.UMinusStr || e.Operator == sqlparser.UPlusStr) && v.Type != sqlparser.ValArg
	}
	return false
}

// changesSettings reports whether a statement may leave the session other than it found it: all but those that read, or write rows.
func changesSettings(st *statement) bool {
	switch ast := st.ast.(type) {
	case sqlparser.SelectStatement:
		return ast.GetInto() != nil
	case *sqlparser.Show, *sqlparser.Insert, *sqlparser.Update, *sqlparser.Delete:
		return false
	}
	return true
}

// known is the answer of a statement if it is known. Inside a transaction, with warnings to be forgotten, or where the statement would start a
// transaction, the engine runs it.
func (x *session) known(st *statement) *constant {
	k := st.constant
	if k == nil || k.settings != x.settings || x.sql.GetTransaction() != nil || x.sql.WarningCount() > 0 || x.warned != (warned{}) {
		return nil
	}
	return k
}

// answerConstant answers as the engine would have, and leaves what it leaves for FOUND_ROWS(), ROW_COUNT() and SHOW STATUS.
func (x *session) answerConstant(c *sql.Context, k *constant, r results) error {
	sql.IncrementStatusVariable(c, "Questions", 1)
	sql.IncrementStatusVariable(c, "Com_select", 1)
	if err := r.Columns(k.columns); err != nil {
		return err
	}
	e := newEncoder(c, k.schema, k.columns, r.Binary())
	e.row = k.row
	if err := r.Row(e.fill); err != nil {
		return err
	}
	info := c.GetLastQueryInfo()
	info.FoundRows.Store(1)
	info.RowCount.Store(-1)
	return r.EndRows()
}

// keptRow hands rows on and keeps the answer of a constant when it was the expected one: a row, no warnings.
type keptRow struct {
	sql.RowIter
	st     *statement
	answer *constant
	rows   int
}

// Next implements sql.RowIter.
func (k *keptRow) Next(c *sql.Context) (sql.Row, error) {
	row, err := k.RowIter.Next(c)
	switch {
	case err == nil:
		k.rows++
		k.answer.row = row.Copy()
	case errors.Is(err, io.EOF) && k.rows == 1 && c.WarningCount() == 0:
		k.st.constant = k.answer
	}
	return row, err
}

// keeping notes the answer of a constant while it is sent. With autocommit off the statement belongs to a transaction, and nothing is kept.
func (x *session) keeping(c *sql.Context, st *statement, schema sql.Schema, rows sql.RowIter) sql.RowIter {
	if !st.literals || !x.autocommit(c) {
		return rows
	}
	return &keptRow{RowIter: rows, st: st, answer: &constant{settings: x.settings, schema: schema, columns: columnsOf(c, schema)}}
}

// recall finds a text whose answer is known.
func (x *session) recall(text string) *statement {
	if len(text) > constantText {
		return nil
	}
	st := x.texts[text]
	if st == nil || x.known(st) == nil {
		return nil
	}
	return st
}

// remember keeps a statement that has run, by its text.
func (x *session) remember(text string, st *statement) {
	if st.constant == nil || len(text) > constantText {
		return
	}
	if len(x.texts) >= constantTexts {
		clear(x.texts)
	}
	if x.texts == nil {
		x.texts = make(map[string]*statement, constantTexts)
	}
	x.texts[text] = st
}
