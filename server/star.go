package server

import (
	"context"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/planbuilder"
	"github.com/dolthub/go-mysql-server/sql/transform"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/functions/readkafka"
)

// hider is a table function some of whose columns SELECT * leaves out.
type hider interface {
	sql.TableFunction
	Hidden(column string) bool
}

// expandStars writes out * in the SELECTs of a statement that read from a call with hidden columns. The engine knows no such columns: it is
// given their names. A call whose columns are not known, because it is wrong or waits for parameters, is left alone: so is * over a JOIN … USING, which
// joins columns as only the engine does.
func expandStars(ctx context.Context, stmt sqlparser.Statement) {
	c, ok := ctx.(*sql.Context)
	if !ok {
		return
	}
	e, ok := c.Value(engineOf{}).(*engine)
	if !ok || e.Engine == nil {
		return
	}
	x := starExpander{c, e.Analyzer.Catalog}
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) { // the visitor gives no error
		if s, ok := n.(*sqlparser.Select); ok {
			x.expand(s)
		}
		return true, nil
	}, stmt)
}

type starExpander struct {
	ctx     *sql.Context
	catalog sql.Catalog
}

// source is a table of a FROM clause: its name, and the columns that * stands for when some are hidden.
type source struct {
	name  string
	shown []string
}

func (x starExpander) expand(s *sqlparser.Select) {
	if !hasStar(s.SelectExprs) {
		return
	}
	var sources []source
	hides := false
	for _, t := range s.From {
		more, ok := x.sources(t)
		if !ok {
			return
		}
		sources = append(sources, more...)
	}
	for _, src := range sources {
		hides = hides || src.shown != nil
	}
	if !hides {
		return
	}
	var list sqlparser.SelectExprs
	for _, e := range s.SelectExprs {
		star, ok := e.(*sqlparser.StarExpr)
		if !ok {
			list = append(list, e)
			continue
		}
		list = append(list, expandStar(star, sources)...)
	}
	s.SelectExprs = list
}

func hasStar(list sqlparser.SelectExprs) bool {
	for _, e := range list {
		if _, ok := e.(*sqlparser.StarExpr); ok {
			return true
		}
	}
	return false
}

// expandStar gives what stands for star: columns of the sources that hide some, and a star for each of the others.
func expandStar(star *sqlparser.StarExpr, sources []source) (list sqlparser.SelectExprs) {
	only := star.TableName.Name.String()
	for _, src := range sources {
		name := sqlparser.TableName{Name: sqlparser.NewTableIdent(src.name)}
		switch {
		case only != "" && !strings.EqualFold(only, src.name):
		case src.shown == nil && only != "":
			list = append(list, star)
		case src.shown == nil:
			list = append(list, &sqlparser.StarExpr{TableName: name})
		default:
			for _, column := range src.shown {
				list = append(list, &sqlparser.AliasedExpr{Expr: &sqlparser.ColName{Name: sqlparser.NewColIdent(column), Qualifier: name}})
			}
		}
	}
	if list == nil {
		list = append(list, star) // of no table that is there: the engine says so
	}
	return list
}

// sources lists the tables of t. ok is false where * is not simply all of their columns in order.
func (x starExpander) sources(t sqlparser.TableExpr) (list []source, ok bool) {
	switch t := t.(type) {
	case *sqlparser.JoinTableExpr:
		if len(t.Condition.Using) > 0 || strings.Contains(t.Join, "natural") {
			return nil, false
		}
		left, ok := x.sources(t.LeftExpr)
		if !ok {
			return nil, false
		}
		right, ok := x.sources(t.RightExpr)
		return append(left, right...), ok
	case *sqlparser.ParenTableExpr:
		for _, e := range t.Exprs {
			more, ok := x.sources(e)
			if !ok {
				return nil, false
			}
			list = append(list, more...)
		}
		return list, true
	case *sqlparser.AliasedTableExpr:
		name := t.As.String()
		if table, ok := t.Expr.(sqlparser.TableName); ok && name == "" {
			name = table.Name.String()
		}
		return []source{{name: name}}, name != ""
	case *sqlparser.TableFuncExpr:
		return []source{x.call(t)}, true
	default:
		return nil, false
	}
}

// call finds the columns of a call.
func (x starExpander) call(t *sqlparser.TableFuncExpr) source {
	src := source{name: t.Name}
	if !t.Alias.IsEmpty() {
		src.name = t.Alias.String()
	}
	if !decodes(t) || len(t.Columns) > 0 {
		return src
	}
	query := &sqlparser.Select{SelectExprs: sqlparser.SelectExprs{&sqlparser.StarExpr{}}, From: sqlparser.TableExprs{t}}
	node, _, err := planbuilder.New(x.ctx, x.catalog, nil).BindOnly(query, "", nil)
	if err != nil {
		return src // the statement will say what is wrong
	}
	transform.Inspect(node, func(n sql.Node) bool {
		f, ok := n.(hider)
		if !ok {
			return true
		}
		if d, ok := f.(interface{ SchemaDecided() bool }); ok && !d.SchemaDecided() {
			return false
		}
		for _, c := range f.Schema(x.ctx) {
			if !f.Hidden(c.Name) {
				src.shown = append(src.shown, c.Name)
			}
		}
		return false
	})
	return src
}

// decodes reports whether a call has an argument that makes columns of what is in keys or values. Others have no hidden columns, and need not be bound twice.
func decodes(t *sqlparser.TableFuncExpr) bool {
	if !strings.EqualFold(t.Name, readkafka.Name) {
		return false
	}
	for i := 1; i < len(t.Exprs); i += 2 { // a flag, then names and values in turn
		if readkafka.Decodes(literalText(t.Exprs[i])) {
			return true
		}
	}
	return false
}

func literalText(e sqlparser.SelectExpr) string {
	if a, ok := e.(*sqlparser.AliasedExpr); ok {
		if v, ok := a.Expr.(*sqlparser.SQLVal); ok && v.Type == sqlparser.StrVal {
			return string(v.Val)
		}
	}
	return ""
}
