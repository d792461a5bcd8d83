package streaming

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// columns are those of the table: those that are listed, or those of the query.
func (c *Create) columns(query, added []Column) ([]Column, error) {
	seen := map[string]bool{}
	for _, q := range query {
		if q.Name == "" || seen[strings.ToLower(q.Name)] {
			return nil, sqlerr.New(sqlerr.OptionInvalid, "two columns of the query are named '%s'", q.Name).WithHint("give each a name of its own: expression AS name")
		}
		seen[strings.ToLower(q.Name)] = true
	}
	if c.Columns == nil {
		return query, c.checkNames(query)
	}
	listed := map[string]int{}
	out := slices.Clone(c.Columns)
	for i := range out {
		if _, twice := listed[strings.ToLower(out[i].Name)]; twice {
			return nil, sqlerr.New(sqlerr.OptionInvalid, "column '%s' is listed twice", out[i].Name)
		}
		listed[strings.ToLower(out[i].Name)] = i
		rules := &c.Definition.Columns[i]
		given := seen[strings.ToLower(out[i].Name)]
		switch {
		case given && rules.Generated != "":
			return nil, sqlerr.New(sqlerr.OptionConflict, "column '%s' is GENERATED, and the query gives it too", out[i].Name).WithHint("leave it out of one of them")
		case !given && rules.NotNull && rules.Default == "" && rules.Generated == "":
			return nil, sqlerr.New(sqlerr.OptionConflict, "column '%s' is NOT NULL, and nothing gives it a value", out[i].Name).WithHint("add it to the query, or give it a DEFAULT")
		}
	}
	for _, q := range query {
		i, ok := listed[strings.ToLower(q.Name)]
		if !ok {
			return nil, sqlerr.New(sqlerr.NoColumn, "the query gives a column '%s', which the list of columns lacks", q.Name).WithHint("the list must have every column of the query; more are NULL")
		}
		switch {
		case out[i].SQL == "":
			out[i].Field, out[i].SQL = q.Field, q.SQL
		case out[i].Type != q.Type || !Widens(out[i], q): // where only a cast makes it fit, the planner has put it around the query
			return nil, doesNotFit(out[i], q)
		}
		out[i].Name, out[i].Nullable = q.Name, q.Nullable // batches are matched by name
	}
	for _, o := range out {
		if o.SQL == "" {
			return nil, sqlerr.New(sqlerr.OptionMissing, "column '%s' has no type, and the query does not give it one", o.Name).WithHint("write a type behind the name, or give the column in the query")
		}
	}
	if err := typed(out, added); err != nil {
		return nil, err
	}
	return out, c.checkNames(out)
}

// doesNotFit is the error about a column that is declared with a type that cannot hold what the query gives.
func doesNotFit(declared, given Column) *sqlerr.Error {
	err := sqlerr.New(sqlerr.OptionInvalid, "column '%s' is declared %s, and the query gives %s", given.Name, shortType(declared.SQL), shortType(given.SQL))
	if name := shortType(declared.SQL); !strings.ContainsAny(name, "( ") || strings.HasPrefix(name, "decimal") {
		return err.WithHint("cast it in the query, such as %s::%s AS %s, or declare it %s, or without a type", given.Name, name, given.Name, shortType(given.SQL))
	}
	return err.WithHint("declare it %s, or without a type", shortType(given.SQL))
}

// typed wants the columns that a definition computes to have the types that they are declared with.
func typed(declared, added []Column) error {
	for _, a := range added {
		for _, d := range declared {
			if strings.EqualFold(a.Name, d.Name) && (a.Type != d.Type || !strings.EqualFold(a.SQL, d.SQL)) {
				return sqlerr.New(sqlerr.OptionInvalid, "column '%s' is declared %s, and its expression gives %s", d.Name, shortType(d.SQL), shortType(a.SQL)).WithHint("cast it in the expression")
			}
		}
	}
	return nil
}

// shortType is a type without its collation, and by its name in the dialect where MySQL has another one.
func shortType(text string) string {
	text, _, _ = strings.Cut(text, " COLLATE ")
	switch strings.ToLower(text) {
	case "longtext":
		return "string"
	case "longblob":
		return "binary"
	case "tinyint(1)":
		return "boolean"
	case "datetime(6)":
		return "timestamp"
	}
	return text
}

// holds wants the rows that are there to have values in columns that become NOT NULL.
func (m *Manager) holds(ctx context.Context, id store.TableID, columns []Column) error {
	if !slices.ContainsFunc(columns, func(c Column) bool { return c.NotNull }) {
		return nil
	}
	snap, err := m.Store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	schema, err := snap.Schema(id)
	if err != nil {
		return err
	}
	stats, err := snap.Stats(id)
	if err != nil {
		return err
	}
	for _, c := range columns {
		if !c.NotNull {
			continue
		}
		nulls := stats.Rows // of a column that is new
		if i := schema.Index(c.Name); i >= 0 {
			nulls = stats.Columns[i].Nulls
		}
		if nulls > 0 {
			return sqlerr.New(sqlerr.NeedsFull, "column '%s' cannot become NOT NULL: it is NULL in %d rows", c.Name, nulls).
				WithHint("leave NOT NULL out; or DROP TABLE and CREATE STREAMING TABLE, which reads the topics again")
		}
	}
	return nil
}

// DDL is the columns of a table as CREATE TABLE has them.
func DDL(columns []Column) string {
	var b strings.Builder
	for i, c := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "`%s` %s", strings.ReplaceAll(c.Name, "`", "``"), c.SQL)
		if c.NotNull {
			b.WriteString(" NOT NULL")
		}
		if c.Comment != "" {
			b.WriteString(" COMMENT '" + escapes.Replace(c.Comment) + "'")
		}
	}
	return b.String()
}

var escapes = strings.NewReplacer(`\`, `\\`, `'`, `''`)
