package server

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// tablesNamed finds the tables that a statement names.
var tablesNamed = regexp.MustCompile("(?i)\\b(?:from|join|update|into|table|,)\\s+(?:`?(\\w+)`?\\.)?`?([\\w$]+)`?")

// storedLike names a table, or a column of the tables that a statement names, that may have been meant. It tells of nothing that the user may not read.
func (e *engine) storedLike(c *sql.Context, name string, table bool) string {
	state := e.catalog.State()
	may := func(database, table string) bool {
		return e.users.UserHasPrivileges(c, sql.NewPrivilegedOperation(sql.PrivilegeCheckSubject{Database: database, Table: table}, sql.PrivilegeType_Select))
	}
	var candidates []string
	if table {
		database := c.GetCurrentDatabase()
		for _, m := range tablesNamed.FindAllStringSubmatch(c.Query(), -1) {
			if m[1] != "" && strings.EqualFold(m[2], name) {
				database = m[1]
			}
		}
		for _, db := range state.Databases {
			if !strings.EqualFold(db.Name, database) {
				continue
			}
			for _, t := range db.Tables {
				candidates = append(candidates, t.Name)
			}
			for _, v := range db.Views {
				candidates = append(candidates, v.Name)
			}
		}
		candidates = slices.DeleteFunc(candidates, func(t string) bool { return !may(database, t) })
	} else {
		for _, m := range tablesNamed.FindAllStringSubmatch(c.Query(), -1) {
			database := m[1]
			if database == "" {
				database = c.GetCurrentDatabase()
			}
			if !may(database, m[2]) {
				continue
			}
			t, _, err := e.Analyzer.Catalog.Table(c, database, m[2])
			if err != nil {
				continue // another error, of a statement that has one to tell
			}
			for _, col := range t.Schema(c) {
				candidates = append(candidates, col.Name)
			}
		}
	}
	slices.Sort(candidates)
	if near := option.Nearest(name, candidates); near != "" && !strings.EqualFold(near, name) {
		return "did you mean '" + near + "'?"
	}
	return ""
}

// variableRefused takes the name of a variable and the value out of the engine's error.
var variableRefused = regexp.MustCompile(`(?i)^variable '([^']+)' can't be set to the value of '(.*)'$`)

// adviseValue adds the values that a variable may have to the error for another one, where there are few.
func adviseValue(c *sql.Context, own *sqlerr.Error) error {
	m := variableRefused.FindStringSubmatch(own.Msg)
	if m == nil {
		return own
	}
	v, _, ok := sql.SystemVariables.GetGlobal(m[1])
	if !ok {
		return own
	}
	const few = 12
	var values []string
	for i := 0; ; i++ { // an enumeration takes the numbers of its values, and nothing tells how many there are
		value, _, err := v.GetType().Convert(c, i)
		text, isText := value.(string)
		if err != nil || !isText || i == few {
			break
		}
		values = append(values, text)
	}
	if len(values) == 0 || len(values) == few {
		return own
	}
	hint := "values are " + strings.Join(values, ", ")
	if near := option.Nearest(m[2], values); near != "" {
		hint = "did you mean '" + near + "'? " + strings.ToUpper(hint[:1]) + hint[1:]
	}
	return own.WithHint("%s", hint)
}
