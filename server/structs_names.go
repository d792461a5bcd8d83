package server

import (
	"strings"

	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/decode/ddl"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// check finds names v.field and v.field.deeper of objects that give nothing. tables are the names of tables, in lower case, which are no fields.
func (o objects) check(tables map[string]bool, parts ...sqlparser.SQLNode) error {
	return sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		switch n := n.(type) {
		case *sqlparser.Subquery:
			return false, nil // it has names of its own
		case *sqlparser.ColName:
			return true, o.checkName(tables, n)
		}
		return true, nil
	}, parts...)
}

func (o objects) checkName(tables map[string]bool, c *sqlparser.ColName) error {
	outer, name, last := c.Qualifier.DbQualifier.String(), c.Qualifier.Name.String(), c.Name.String()
	if found, ok := o[qualified(outer, name)]; ok && name != "" {
		if o.find(c) != nil {
			return nil
		}
		return found.lacks(name, last)
	}
	found, ok := o[strings.ToLower(outer)]
	if !ok || outer == "" || tables[strings.ToLower(name)] {
		return nil
	}
	for _, f := range found.fields {
		if strings.EqualFold(f.Name, name) {
			return sqlerr.New(sqlerr.NoColumn, "'%s.%s' has no fields by a dot: it is %s", outer, name, option.Show(f.Type.String())).
				WithHint("what lies deeper is read with a path: %s.%s:%s", outer, f.Name, last)
		}
	}
	return found.lacks(outer, name)
}

// lacks is the error of a field that the object does not have.
func (o object) lacks(object, field string) error {
	names := make([]string, len(o.fields))
	for i, f := range o.fields {
		names[i] = f.Name
	}
	e := sqlerr.New(sqlerr.NoColumn, "'%s' has no field '%s'", object, option.Show(field))
	if near := option.Nearest(field, names); near != "" {
		return e.WithHint("did you mean '%s'?", near)
	}
	return e.WithHint("its fields are those of the schema: %s", shownFields(o.fields))
}

// shownFields lists the first fields of a schema.
func shownFields(fields []ddl.Column) string {
	const most = 10
	var shown []string
	for i, f := range fields {
		if i == most {
			shown = append(shown, "…")
			break
		}
		shown = append(shown, f.Name)
	}
	return strings.Join(shown, ", ")
}
