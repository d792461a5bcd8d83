package server

import (
	"regexp"
	"strings"

	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
	"millrace/server/dialect"
)

// ofTables opens the statements about ordinary tables that have a sister for streaming tables.
var ofTables = regexp.MustCompile(`(?is)^\s*(alter|create)\s+(?:or\s+(?:refresh|replace)\s+)?table\s`)

// streamingClause are the words at which MySQL's grammar stumbles where a clause of streaming tables begins, or is in its midst.
var streamingClause = regexp.MustCompile(`(?is)^(?:pause|resume|(?:un)?set\s+tblproperties|tblproperties|cluster\s+by|partitioned\s+by|(?:add\s+)?trigger|schedule|every|cron|refresh|expect|comment)\b`)

// meantForStreaming is the error of ALTER TABLE or CREATE TABLE with a clause that streaming tables have, such as ALTER TABLE t PAUSE; nil where it is another one.
// It is asked about statements that MySQL's grammar refuses: a column may be named schedule.
func meantForStreaming(text string, at int) *sqlerr.Error {
	verb := ofTables.FindStringSubmatch(text)
	if verb == nil || at >= len(text) {
		return nil
	}
	clause := strings.ToUpper(strings.Join(strings.Fields(streamingClause.FindString(text[at:])), " "))
	before := strings.Fields(strings.ToUpper(text[:at]))
	altersColumn := len(before) > 2 && before[len(before)-2] == "COLUMN"
	switch clause {
	case "":
		return nil
	case "EVERY", "CRON":
		clause = "SCHEDULE"
	case "REFRESH":
		clause = "OR REFRESH"
		if before[len(before)-1] != "OR" {
			clause = "SCHEDULE"
		}
	case "EXPECT":
		clause = "an expectation"
	case "COMMENT":
		if !altersColumn {
			return nil
		}
		clause = "ALTER COLUMN … COMMENT"
	}
	streaming := strings.ToUpper(verb[1]) + " STREAMING TABLE"
	if clause == "OR REFRESH" {
		streaming = "CREATE OR REFRESH STREAMING TABLE"
	}
	return dialect.ErrorAt(text, at, "%s is for streaming tables", clause).WithHint("write %s", streaming)
}

// refuseAlter refuses parts of ALTER TABLE that no table of ours can do, where the engine's answer is that the user lacks privileges on a table without a name.
func refuseAlter(ast sqlparser.Statement) error {
	alter, ok := ast.(*sqlparser.AlterTable)
	if !ok {
		return nil
	}
	for _, ddl := range alter.Statements {
		what := ""
		switch {
		case ddl.AlterCommentSpec != nil:
			what = "COMMENT"
		case ddl.DefaultSpec != nil:
			what = "a change of a DEFAULT"
		case ddl.AlterCollationSpec != nil:
			what = "a change of the collation"
		default:
			continue
		}
		return sqlerr.New(sqlerr.NotSupported, "ALTER TABLE with %s is not supported", what).WithHint("%s", alterHint)
	}
	return nil
}

// alterHint is what to do in place of ALTER TABLE.
const alterHint = "CREATE TABLE … AS SELECT makes another table; a streaming table is changed by ALTER STREAMING TABLE and CREATE OR REFRESH STREAMING TABLE"
