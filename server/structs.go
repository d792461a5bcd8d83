package server

import (
	"strings"

	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/decode/ddl"
)

// The engine has no structs. What from_json(…) AS v gives is an object, and its fields are written v.field: expandFields gives the engine for each the path
// into the object, with the cast to the type that the schema says, and for v.* all of them. v is known in the SELECT that names it, and in one that reads from
// that as a derived table or common table expression.
//
// A name that is that of a table as well stays the table's.
func expandFields(stmt sqlparser.Statement) {
	_ = sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) { // the visitor gives no error
		if s, ok := n.(*sqlparser.Select); ok {
			expandSelect(s)
		}
		return true, nil
	}, stmt)
}

// object is what a name stands for: an expression that gives an object, and its fields.
type object struct {
	value  sqlparser.Expr
	fields []ddl.Column
	// table is the table whose column it is, empty for one of the SELECT itself.
	table string
}

func expandSelect(s *sqlparser.Select) {
	objects := objectsOf(s.SelectExprs, "")
	tables := map[string]bool{}
	for _, t := range s.From {
		fromTables(t, s.With, tables, objects)
	}
	for name := range tables {
		delete(objects, name)
	}
	if len(objects) == 0 {
		return
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
}

func starName(s *sqlparser.StarExpr) string {
	if s == nil || !s.TableName.DbQualifier.IsEmpty() {
		return ""
	}
	return s.TableName.Name.String()
}

// objects are by lower-case name.
type objects map[string]object

// find gives what c stands for when it is a field of an object, else nil.
func (o objects) find(c *sqlparser.ColName) sqlparser.Expr {
	found, ok := o[strings.ToLower(c.Qualifier.Name.String())]
	if of := c.Qualifier.DbQualifier.String(); !ok || of != "" && !strings.EqualFold(of, found.table) {
		return nil
	}
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

// objectsOf finds from_json(…) AS v in a list; of a table they are columns.
func objectsOf(list sqlparser.SelectExprs, table string) objects {
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
		fields, err := ddl.StructFields(literalText(call.Exprs[1]))
		if err != nil {
			continue
		}
		o := object{call, fields, table}
		if table != "" {
			o.value = &sqlparser.ColName{Name: a.As, Qualifier: sqlparser.TableName{Name: sqlparser.NewTableIdent(table)}}
		}
		found[strings.ToLower(a.As.String())] = o
	}
	return found
}

// fromTables adds the names of tables in t, and the objects among the columns of derived ones.
func fromTables(t sqlparser.TableExpr, with *sqlparser.With, tables map[string]bool, found objects) {
	switch t := t.(type) {
	case *sqlparser.JoinTableExpr:
		fromTables(t.LeftExpr, with, tables, found)
		fromTables(t.RightExpr, with, tables, found)
	case *sqlparser.ParenTableExpr:
		for _, e := range t.Exprs {
			fromTables(e, with, tables, found)
		}
	case *sqlparser.TableFuncExpr:
		name := t.Name
		if !t.Alias.IsEmpty() {
			name = t.Alias.String()
		}
		tables[strings.ToLower(name)] = true
	case *sqlparser.AliasedTableExpr:
		name := t.As.String()
		derived, _ := t.Expr.(*sqlparser.Subquery)
		if table, ok := t.Expr.(sqlparser.TableName); ok {
			if derived = commonTable(with, table); name == "" {
				name = table.Name.String()
			}
		}
		tables[strings.ToLower(name)] = true
		if derived == nil {
			return
		}
		if inner, ok := derived.Select.(*sqlparser.Select); ok && len(derived.Columns) == 0 {
			for alias, o := range objectsOf(inner.SelectExprs, name) {
				if _, twice := found[alias]; !twice {
					found[alias] = o
				}
			}
		}
	}
}

// commonTable is the query of a common table expression.
func commonTable(with *sqlparser.With, table sqlparser.TableName) *sqlparser.Subquery {
	if with == nil || !table.DbQualifier.IsEmpty() {
		return nil
	}
	for _, c := range with.Ctes {
		if strings.EqualFold(c.As.String(), table.Name.String()) && len(c.Columns) == 0 {
			query, _ := c.Expr.(*sqlparser.Subquery)
			return query
		}
	}
	return nil
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
