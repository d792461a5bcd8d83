package server

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
	"millrace/server/dialect"
)

// prepared answers PREPARE, EXECUTE and DEALLOCATE PREPARE of statements that the engine does not know: those of the dialect. The engine keeps its own by name; a name stands
// for one of either. It reports whether it has answered.
func (x *session) prepared(c *sql.Context, ast sqlparser.Statement, r results) (bool, error) {
	switch n := ast.(type) {
	case *sqlparser.Prepare:
		st, err := x.prepare(c, n)
		if err != nil {
			return true, err
		}
		name := strings.ToLower(n.Name)
		if st == nil {
			delete(x.own, name)
			return false, nil
		}
		x.sql.UnprepareQuery(n.Name)
		if x.own == nil {
			x.own = map[string]*statement{}
		}
		x.own[name] = st
	case *sqlparser.Execute:
		st := x.own[strings.ToLower(n.Name)]
		if st == nil {
			return false, nil
		}
		return true, x.executeOwn(c, st, n.VarList, r)
	case *sqlparser.Deallocate:
		name := strings.ToLower(n.Name)
		if x.own[name] == nil {
			return false, nil
		}
		delete(x.own, name)
	default:
		return false, nil
	}
	return true, r.OK(0, 0, "")
}

// prepare reads the text of PREPARE, a literal or what a variable holds; it gives nil for a statement of the engine's, which tells what is wrong with it too.
func (x *session) prepare(c *sql.Context, n *sqlparser.Prepare) (*statement, error) {
	text := n.Expr
	if strings.HasPrefix(text, "@") {
		_, v, err := c.GetUserVariable(c, strings.ToLower(strings.TrimPrefix(text, "@")))
		if err != nil {
			return nil, err
		}
		var ok bool
		if text, ok = v.(string); !ok {
			return nil, nil
		}
	}
	st, err := parse(c, text)
	if err != nil {
		if inner := sql.RemoveSpaceAndDelimiter(text, ';'); dialect.IsOwn(inner, dialectMode(sql.LoadSqlMode(c))) {
			return nil, err
		}
		return nil, nil
	}
	if st.own == nil && st.grant == nil {
		return nil, nil
	}
	if u, ok := st.own.(dialect.Unsupported); ok {
		return nil, dialect.NotSupportedAt(st.text, u.Pos, "%s is not supported yet", u.What)
	}
	return st, nil
}

// executeOwn runs a prepared statement of ours, with the values of variables for its placeholders.
func (x *session) executeOwn(c *sql.Context, st *statement, variables []string, r results) error {
	if len(variables) != st.params {
		return sqlerr.New(sqlerr.BadParameters, "the statement has %d placeholders, %d values were given", st.params, len(variables)).
			WithHint("name a variable for each: EXECUTE s USING @a, @b")
	}
	var values map[string]sqlparser.Expr
	for i, name := range variables {
		if values == nil {
			values = make(map[string]sqlparser.Expr, len(variables))
		}
		v, err := userLiteral(c, strings.TrimPrefix(name, "@"))
		if err != nil {
			return err
		}
		values["v"+strconv.Itoa(i+1)] = v
	}
	c = c.WithQuery(st.shown.text)
	return st.shown.scrubError(fault(c, x.answerCurrent(c, st, values, r)))
}

// userLiteral is the value of a user variable as the engine's parser would have read it.
func userLiteral(c *sql.Context, name string) (sqlparser.Expr, error) {
	t, v, err := c.GetUserVariable(c, name)
	if err != nil {
		return nil, err
	}
	if t == nil || v == nil {
		return &sqlparser.NullVal{}, nil
	}
	text, err := t.SQL(c, nil, v)
	if err != nil {
		return nil, err
	}
	switch kind := text.Type(); {
	case sqltypes.IsIntegral(kind):
		return sqlparser.NewIntVal(text.Raw()), nil
	case sqltypes.IsFloat(kind): // the exponent makes it a DOUBLE; plain digits would be a DECIMAL
		number, err := strconv.ParseFloat(text.ToString(), 64)
		if err != nil {
			return nil, err
		}
		return sqlparser.NewFloatVal(strconv.AppendFloat(nil, number, 'e', -1, 64)), nil
	case kind == sqltypes.Decimal:
		return sqlparser.NewFloatVal(text.Raw()), nil
	case sqltypes.IsBinary(kind):
		return sqlparser.NewHexVal(fmt.Appendf(nil, "%X", text.Raw())), nil
	}
	return sqlparser.NewStrVal(text.Raw()), nil
}
