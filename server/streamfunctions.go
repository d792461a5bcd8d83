package server

import (
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
	"millrace/server/dialect"
)

// A column that is GENERATED is a function of its row, and so is an expectation, which may be asked again after a crash and must not answer otherwise. What has another
// value each time, or is about the session, is refused there when it is written; what was written before stays. Of the time it is as in Databricks: an expectation may
// compare with now(), a GENERATED column may not use it.

// chance are functions that have another value each time, or that do something.
var chance = []string{"rand", "random_bytes", "uuid", "uuid_short", "sleep", "benchmark", "get_lock", "release_lock", "release_all_locks", "is_free_lock", "is_used_lock", "load_file", "secret"}

// ofSession are functions whose value is that of a session, which a streaming table has none of.
var ofSession = []string{"connection_id", "current_user", "session_user", "system_user", "user", "current_role", "last_insert_id", "found_rows", "row_count"}

// checkRules refuses rules whose value is not decided by the row.
func checkRules(c *sql.Context, columns []dialect.StreamingColumn, expectations []dialect.Expectation) error {
	for _, col := range columns {
		if err := ofColumns(c, col); err != nil {
			return err
		}
		if col.Generated == "" {
			continue
		}
		if err := undecided(c, "the expression of column '"+col.Name+"'", col.Generated, true); err != nil {
			return err
		}
	}
	for _, e := range expectations {
		if err := undecided(c, "expectation '"+e.Name+"'", e.Condition, false); err != nil {
			return err
		}
	}
	return nil
}

// ofColumns is the error for a DEFAULT that reads columns, which is a value of its own in SQL; nil also for one that cannot be parsed.
func ofColumns(c *sql.Context, col dialect.StreamingColumn) error {
	st, err := parse(c, "SELECT ("+col.Default+"\n)")
	if col.Default == "" || err != nil {
		return nil
	}
	used := ""
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) { // the visitor gives no error
		if name, ok := n.(*sqlparser.ColName); ok && !strings.HasPrefix(name.Name.String(), "@") {
			used = name.Name.String()
		}
		return used == "", nil
	}, st.ast)
	if used == "" {
		return nil
	}
	return sqlerr.New(sqlerr.OptionInvalid, "DEFAULT of column '%s' uses the column '%s'", col.Name, used).
		WithHint("write GENERATED ALWAYS AS (%s), which may use columns; a text stands in quotes", strings.TrimSpace(col.Default))
}

// undecided is the error for an expression whose value the row does not decide, nil for others, and for those that cannot be parsed, of which planning says what is wrong.
func undecided(c *sql.Context, what, text string, orTime bool) error {
	st, err := parse(c, "SELECT ("+text+"\n)")
	if err != nil {
		return nil
	}
	why, hint := "", ""
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) { // the visitor gives no error
		switch n := n.(type) {
		case *sqlparser.FuncExpr:
			switch name := n.Name.Lowered(); {
			case slices.Contains(chance, name):
				why, hint = "calls "+name+"(), which is not decided by the row", "let the query give the value: "+name+"(…) AS name; a DEFAULT may call it too"
			case slices.Contains(ofSession, name):
				why, hint = "calls "+name+"(), which is about a session, and a streaming table has none", "write the value that is meant"
			case orTime && slices.Contains(clocks, name) && (name != "unix_timestamp" || len(n.Exprs) == 0):
				why, hint = "calls "+name+"(), which is not decided by the row", "a column with DEFAULT "+name+"() has the time at which its row was made"
			}
		case *sqlparser.ColName:
			if name := n.Name.String(); strings.HasPrefix(name, "@") {
				why, hint = "uses the variable "+name, "write the value that is meant"
			}
		}
		return why == "", nil
	}, st.ast)
	if why == "" {
		return nil
	}
	return sqlerr.New(sqlerr.NotSupported, "%s %s", what, why).WithHint("%s", hint)
}
