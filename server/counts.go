package server

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// count is a placeholder that stands for a number of rows.
type count struct {
	// word is LIMIT or OFFSET, value the name of the placeholder among the values of the statement.
	word, value string
}

// countsOf finds the placeholders of LIMIT and OFFSET, and refuses there what is no number of rows. The engine takes a text for 0, and fails over NULL.
func countsOf(stmt sqlparser.SQLNode) ([]count, error) {
	var counts []count
	err := sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		limit, ok := n.(*sqlparser.Limit)
		if !ok || limit == nil {
			return true, nil
		}
		for _, part := range []struct {
			word string
			e    sqlparser.Expr
		}{{"LIMIT", limit.Rowcount}, {"OFFSET", limit.Offset}} {
			if v, ok := part.e.(*sqlparser.SQLVal); ok && v.Type == sqlparser.ValArg {
				counts = append(counts, count{part.word, strings.TrimPrefix(string(v.Val), ":")})
			} else if err := wantCount(part.word, part.e); err != nil {
				return false, err
			}
		}
		return true, nil
	}, stmt)
	return counts, err
}

// checkCounts wants numbers of rows as the values of counts.
func checkCounts(counts []count, values map[string]sqlparser.Expr) error {
	for _, n := range counts {
		if v, ok := values[n.value]; ok {
			if err := wantCount(n.word, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkExecuted is checkCounts for EXECUTE … USING, whose values are variables of the session.
func (x *session) checkExecuted(c *sql.Context, execute *sqlparser.Execute) error {
	prepared, ok := x.sql.GetPreparedQuery(execute.Name)
	if !ok {
		return nil // the engine says so
	}
	counts, err := countsOf(prepared)
	if err != nil {
		return err
	}
	for _, n := range counts {
		i, err := strconv.Atoi(strings.TrimPrefix(n.value, "v"))
		if err != nil || i < 1 || i > len(execute.VarList) || !strings.HasPrefix(execute.VarList[i-1], "@") {
			continue // too few values, which the engine says
		}
		_, v, err := x.sql.GetUserVariable(c, strings.TrimPrefix(execute.VarList[i-1], "@"))
		if err != nil {
			return err
		}
		if v == nil {
			return noCount(n.word, "NULL")
		}
		if b, ok := v.([]byte); ok {
			v = string(b)
		}
		if text := fmt.Sprint(v); !isNumberOfRows(text) {
			return noCount(n.word, "'"+text+"'")
		}
	}
	return nil
}

// wantCount wants a literal to be a number of rows. Other expressions are for the engine to judge.
func wantCount(word string, e sqlparser.Expr) error {
	switch v := e.(type) {
	case *sqlparser.NullVal:
		return noCount(word, "NULL")
	case *sqlparser.SQLVal:
		text := string(v.Val)
		if v.Type == sqlparser.HexVal { // bytes
			b, err := hex.DecodeString(text)
			if err != nil {
				return nil // the engine refuses it
			}
			text = string(b)
		}
		if !isNumberOfRows(text) {
			return noCount(word, "'"+text+"'")
		}
	}
	return nil
}

// isNumberOfRows reports whether text is a whole number from 0, as drivers send it: as a number, a DOUBLE, or text.
func isNumberOfRows(text string) bool {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return err == nil && f >= 0 && f == math.Trunc(f) && !math.IsInf(f, 0)
}

func noCount(word, found string) error {
	return sqlerr.New(sqlerr.BadParameters, "%s is %s, expected a number of rows", word, option.Shorten(found, 40)).WithHint("a whole number from 0; without a limit, leave %s out", word)
}
