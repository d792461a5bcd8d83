package server

import (
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
)

// SQL names no file of the server (secure_file_priv is NULL): the statements and functions that would are refused before they run. The
// arguments of read_kafka that name files are checked against --files-dir where they are bound.

func errFiles(what string) error {
	return sqlerr.New(sqlerr.FilesRefused, "%s is refused: SQL may not read or write files of the server ('secure_file_priv' is NULL)", what)
}

// refuseFiles refuses LOAD DATA and SELECT … INTO OUTFILE or DUMPFILE wherever they stand in a statement.
func refuseFiles(text string, stmt sqlparser.Statement) error {
	if _, ok := stmt.(*sqlparser.Load); ok {
		return errFiles("LOAD DATA")
	}
	lower := strings.ToLower(text)
	if !strings.Contains(lower, "outfile") && !strings.Contains(lower, "dumpfile") && !strings.Contains(lower, "infile") {
		return nil
	}
	return sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		switch n := n.(type) {
		case *sqlparser.Into:
			if n != nil && (n.Outfile != "" || n.Dumpfile != "") {
				return false, errFiles("SELECT INTO OUTFILE")
			}
		case sqlparser.SelectStatement:
			if into := n.GetInto(); into != nil && (into.Outfile != "" || into.Dumpfile != "") {
				return false, errFiles("SELECT INTO OUTFILE")
			}
		case *sqlparser.Load:
			return false, errFiles("LOAD DATA")
		}
		return true, nil
	}, stmt)
}

// fileFunctions stand in for functions of the engine that open files.
func fileFunctions() []sql.Function {
	return []sql.Function{sql.FunctionN{Name: "load_file", Fn: func(*sql.Context, ...sql.Expression) (sql.Expression, error) {
		return nil, errFiles("LOAD_FILE")
	}}}
}
