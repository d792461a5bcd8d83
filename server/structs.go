package server

import (
	"context"
	"maps"
	"reflect"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/decode/ddl"
)

// The engine has no structs. What from_json(…) AS v gives is an object, and its fields are written v.field: expandFields gives the engine for each the path
// into the object, with the cast to the type that the schema says, and for v.* all of them. v is known in the SELECT that names it, and in those that read from
// that as a derived table, common table expression or view and pass the column on.
//
// A name that is that of a table as well stays the table's.
//
// A name of a field that the schema does not have is an error: the engine would take the column for a table.
func expandFields(ctx context.Context, stmt sqlparser.Statement) error {
	x := fieldExpander{common: map[string]*sqlparser.Subquery{}, view: viewQueries(ctx)}
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) { // the visitors give no error
		if c, ok := n.(*sqlparser.CommonTableExpr); ok {
			if query, ok := c.Expr.(*sqlparser.Subquery); ok && len(c.Columns) == 0 {
				x.common[strings.ToLower(c.As.String())] = query
			}
		}
		return true, nil
	}, stmt)
	return sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		if s, ok := n.(*sqlparser.Select); ok {
			if err := x.expand(s); err != nil {
				return false, err
			}
		}
		return true, nil
	}, stmt)
}

// fieldExpander knows what tables of a statement are made of.
type fieldExpander struct {
	// common are the queries of common table expressions, by lower-case name.
	common map[string]*sqlparser.Subquery
	// view gives the query of a view, nil for any other table; database may be empty.
	view func(database, name string) sqlparser.SelectStatement
}

// mostPassed bounds the queries that a column is followed through: common table expressions and views may name themselves.
const mostPassed = 20

// viewQueries looks up views for the session of ctx.
func viewQueries(ctx context.Context) func(database, name string) sqlparser.SelectStatement {
	c, ok := ctx.(*sql.Context)
	if !ok {
		return func(string, string) sqlparser.SelectStatement { return nil }
	}
	e, ok := c.Value(engineOf{}).(*engine)
	return func(database, name string) sqlparser.SelectStatement {
		if !ok || e.catalog == nil {
			return nil
		}
		if database == "" {
			database = c.GetCurrentDatabase()
		}
		v, found := e.catalog.View(database, name)
		if !found {
			return nil
		}
		mode := sql.NewSqlModeFromString(v.SQLMode)
		st, err := parseText(v.Select, dialectMode(mode), mode.ParserOptions(), ctx)
		if err != nil {
			return nil // whoever reads the view is told
		}
		query, _ := st.ast.(sqlparser.SelectStatement)
		return query
	}
}

// object is what a name stands for: an expression that gives an object, and its fields.
type object struct {
	value  sqlparser.Expr
	fields []ddl.Column
}

func (x fieldExpander) expand(s *sqlparser.Select) error {
	objects := objectsOf(s.SelectExprs)
	tables := map[string]bool{}
	for _, t := range s.From {
		x.fromTables(t, tables, objects, 0)
	}
	for name := range tables {
		delete(objects, name)
	}
	if len(objects) == 0 {
		return nil
	}
	if err := objects.check(tables, s.SelectExprs, s.Where, s.Having, s.GroupBy, s.OrderBy); err != nil {
		return err
	}
	var list sqlparser.SelectExprs
	for _, e := range s.SelectExprs {
		star, ok := e.(*sqlparser.StarExpr)
		if o, found := objects[strings.ToLower(starName(star))]; ok && found {
			for _, f := range o.fields {
				list = append(list, &sqlparser.AliasedExpr{Expr: o.field(f), As: sqlparser.NewColIdent(f.Name)})
			}
			continue
		}
		if a, ok := e.(*sqlparser.AliasedExpr); ok {
			if c, ok := a.Expr.(*sqlparser.ColName); ok && a.As.IsEmpty() && objects.find(c) != nil {
				a.As = c.Name
			}
			a.Expr = objects.replace(a.Expr)
		}
		list = append(list, e)
	}
	s.SelectExprs = list
	for _, w := range []*sqlparser.Where{s.Where, s.Having} {
		if w != nil {
			w.Expr = objects.replace(w.Expr)
		}
	}
	for i := range s.GroupBy {
		s.GroupBy[i] = objects.replace(s.GroupBy[i])
	}
	for _, o := range s.OrderBy {
		o.Expr = objects.replace(o.Expr)
	}
	return nil
}

func starName(s *sqlparser.StarExpr) string {
	if s == nil || !s.TableName.DbQualifier.IsEmpty() {
		return ""
	}
	return s.TableName.Name.String()
}

// objects are by lower-case name, and those of tables by the table's as well, see qualified: two tables may have columns of one name.
type objects map[string]object

// qualified is the key of a column of a table.
func qualified(table, column string) string {
	if table == "" {
		return strings.ToLower(column)
	}
	return strings.ToLower(table) + "\x00" + strings.ToLower(column)
}

// find gives what c stands for when it is a field of an object, else nil.
func (o objects) find(c *sqlparser.ColName) sqlparser.Expr {
	found := o[qualified(c.Qualifier.DbQualifier.String(), c.Qualifier.Name.String())]
	for _, f := range found.fields {
		if c.Name.EqualString(f.Name) {
			return found.field(f)
		}
	}
	return nil
}

// replace puts what fields stand for in their place.
func (o objects) replace(root sqlparser.Expr) sqlparser.Expr {
	var fields []*sqlparser.ColName
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		switch n := n.(type) {
		case *sqlparser.Subquery:
			return false, nil // it has names of its own
		case *sqlparser.ColName:
			if o.find(n) != nil {
				fields = append(fields, n)
			}
		}
		return true, nil
	}, root)
	for _, c := range fields {
		root = sqlparser.ReplaceExpr(root, c, o.find(c))
	}
	return root
}

// objectsOf finds from_json(…) AS v in a list.
func objectsOf(list sqlparser.SelectExprs) objects {
	found := objects{}
	for _, e := range list {
		a, ok := e.(*sqlparser.AliasedExpr)
		if !ok || a.As.IsEmpty() {
			continue
		}
		call, ok := a.Expr.(*sqlparser.FuncExpr)
		if !ok || !call.Name.EqualString("from_json") || len(call.Exprs) < 2 {
			continue
		}
		if fields, err := ddl.StructFields(literalText(call.Exprs[1])); err == nil {
			found[strings.ToLower(a.As.String())] = object{value: call, fields: fields}
		}
	}
	return found
}

// columns are the objects among the columns of a query: those that it makes, and those that it passes on.
func (x fieldExpander) columns(query sqlparser.SelectStatement, passed int) objects {
	if passed > mostPassed {
		return nil
	}
	switch q := query.(type) {
	case *sqlparser.ParenSelect:
		return x.columns(q.Select, passed)
	case *sqlparser.SetOp:
		left, right := x.columns(q.Left, passed), x.columns(q.Right, passed)
		maps.DeleteFunc(left, func(name string, o object) bool { return !reflect.DeepEqual(o.fields, right[name].fields) })
		return left
	case *sqlparser.Select:
		found := objectsOf(q.SelectExprs)
		below := objects{}
		for _, t := range q.From {
			x.fromTables(t, map[string]bool{}, below, passed+1)
		}
		for _, e := range q.SelectExprs {
			switch e := e.(type) {
			case *sqlparser.StarExpr:
				prefix := qualified(e.TableName.Name.String(), "")
				for key, o := range below {
					if name, ok := strings.CutPrefix(key, prefix); ok && !strings.Contains(name, "\x00") {
						found[name] = o
					}
				}
			case *sqlparser.AliasedExpr:
				c, ok := e.Expr.(*sqlparser.ColName)
				if !ok {
					continue
				}
				o, ok := below[qualified(c.Qualifier.Name.String(), c.Name.String())]
				if !ok {
					continue
				}
				name := c.Name.Lowered()
				if !e.As.IsEmpty() {
					name = e.As.Lowered()
				}
				found[name] = o
			}
		}
		return found
	}
	return nil
}

// fromTables adds the names of tables in t, and the objects among the columns of those that are queries.
func (x fieldExpander) fromTables(t sqlparser.TableExpr, tables map[string]bool, found objects, passed int) {
	switch t := t.(type) {
	case *sqlparser.JoinTableExpr:
		x.fromTables(t.LeftExpr, tables, found, passed)
		x.fromTables(t.RightExpr, tables, found, passed)
	case *sqlparser.ParenTableExpr:
		for _, e := range t.Exprs {
			x.fromTables(e, tables, found, passed)
		}
	case *sqlparser.TableFuncExpr:
		name := t.Name
		if !t.Alias.IsEmpty() {
			name = t.Alias.String()
		}
		tables[strings.ToLower(name)] = true
	case *sqlparser.AliasedTableExpr:
		name := t.As.String()
		var query sqlparser.SelectStatement
		switch of := t.Expr.(type) {
		case *sqlparser.Subquery:
			if len(of.Columns) == 0 {
				query = of.Select
			}
		case sqlparser.TableName:
			if query = x.named(of); name == "" {
				name = of.Name.String()
			}
		}
		tables[strings.ToLower(name)] = true
		if query == nil {
			return
		}
		for column, o := range x.columns(query, passed) {
			o.value = &sqlparser.ColName{Name: sqlparser.NewColIdent(column), Qualifier: sqlparser.TableName{Name: sqlparser.NewTableIdent(name)}}
			found[qualified(name, column)] = o
			if _, twice := found[column]; !twice {
				found[column] = o
			}
		}
	}
}

// named is the query of a common table expression or view.
func (x fieldExpander) named(table sqlparser.TableName) sqlparser.SelectStatement {
	if c := x.common[strings.ToLower(table.Name.String())]; c != nil && table.DbQualifier.IsEmpty() {
		return c.Select
	}
	return x.view(table.DbQualifier.String(), table.Name.String())
}

// field is the path to a field with the cast to its type. What is nested stays JSON.
func (o object) field(f ddl.Column) sqlparser.Expr {
	path := callOf("millrace_path", o.value, `["`+strings.ReplaceAll(f.Name, `"`, `""`)+`"]`)
	switch f.Type.Name {
	case ddl.Array, ddl.Map, ddl.Struct, ddl.Variant:
		return path
	}
	text := callOf("millrace_cast", path, "STRING")
	switch f.Type.Name {
	case ddl.String, ddl.Varchar, ddl.Char:
		return text
	case ddl.Binary:
		return callOf("unbase64", text)
	default:
		return callOf("millrace_cast", text, f.Type.String())
	}
}

func callOf(function string, first sqlparser.Expr, constants ...string) *sqlparser.FuncExpr {
	call := &sqlparser.FuncExpr{Name: sqlparser.NewColIdent(function), Exprs: sqlparser.SelectExprs{&sqlparser.AliasedExpr{Expr: first}}}
	for _, c := range constants {
		call.Exprs = append(call.Exprs, &sqlparser.AliasedExpr{Expr: sqlparser.NewStrVal([]byte(c))})
	}
	return call
}
