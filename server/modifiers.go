package server

import (
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
)

// refuseUnread refuses words that the grammar takes and the engine does not read: it would run another statement than the one that was written.
func refuseUnread(stmt sqlparser.Statement) error {
	switch s := stmt.(type) {
	case *sqlparser.AlterTable:
		if len(s.PartitionSpecs) > 0 {
			return errUnkept("ALTER TABLE with partitions", "tables have no partitions")
		}
	case *sqlparser.DDL:
		if s.Temporary && s.Action == sqlparser.CreateStr {
			return errUnkept("CREATE TEMPORARY TABLE", "WITH gives a query a name for one statement; CREATE TABLE makes a table that stays")
		}
	}
	if stmt == nil {
		return nil
	}
	return sqlparser.Walk(func(n sqlparser.SQLNode) (bool, error) {
		var partitions sqlparser.Partitions
		switch n := n.(type) {
		case *sqlparser.AliasedTableExpr:
			partitions = n.Partitions
		case *sqlparser.Insert:
			partitions = n.Partitions
		case *sqlparser.Delete:
			partitions = n.Partitions
		}
		if len(partitions) > 0 {
			return false, errUnkept("PARTITION (…) behind the name of a table", "tables have no partitions: filter rows by WHERE; read_kafka has 'subscribePartitions'")
		}
		return true, nil
	}, stmt)
}

// notPrepared reports whether a statement needs more of the session than the engine keeps of a statement of PREPARE, and names it.
func notPrepared(stmt sqlparser.Statement) (what string, is bool) {
	if isDropTemporary(stmt) {
		return "DROP TEMPORARY TABLE", true
	}
	if len(renamed(stmt)) > 0 {
		return "RENAME of a table with its database", true
	}
	return "", false
}

func isDropTemporary(stmt sqlparser.Statement) bool {
	ddl, ok := stmt.(*sqlparser.DDL)
	return ok && ddl.Action == sqlparser.DropStr && ddl.Temporary
}

// renamed gives the databases that RENAME TABLE, or ALTER TABLE … RENAME, names. The engine reads none of them: it renames a table of the current database.
func renamed(stmt sqlparser.Statement) (databases []string) {
	add := func(names ...sqlparser.TableName) {
		for _, n := range names {
			if q := n.DbQualifier.String(); q != "" {
				databases = append(databases, q)
			}
		}
	}
	switch s := stmt.(type) {
	case *sqlparser.DDL:
		if s.Action == sqlparser.RenameStr {
			add(s.FromTables...)
			add(s.ToTables...)
		}
	case *sqlparser.AlterTable:
		for _, ddl := range s.Statements {
			if ddl.Action == sqlparser.RenameStr {
				add(s.Table)
				add(ddl.FromTables...)
				add(ddl.ToTables...)
			}
		}
	}
	return databases
}

// refuseElsewhere refuses to rename a table of another database than the current one, or to one.
func refuseElsewhere(c *sql.Context, stmt sqlparser.Statement) error {
	for _, name := range renamed(stmt) {
		if !strings.EqualFold(name, c.GetCurrentDatabase()) {
			return sqlerr.New(sqlerr.NotSupported, "a table of another database than the current one cannot be renamed, and a table stays in its database").
				WithHint("USE %s comes first; CREATE TABLE … AS SELECT copies a table to another database", backquoted(name))
		}
	}
	return nil
}

// dropTemporary answers DROP TEMPORARY TABLE. There are no temporary tables; the tables that have these names are not meant.
func dropTemporary(c *sql.Context, drop *sqlparser.DDL, r results) error {
	names := make([]string, len(drop.FromTables))
	for i, n := range drop.FromTables {
		database := n.DbQualifier.String()
		if database == "" {
			database = c.GetCurrentDatabase()
		}
		names[i] = strings.TrimPrefix(database+"."+n.Name.String(), ".")
	}
	if !drop.IfExists {
		return sqlerr.New(sqlerr.UnknownTable, "Unknown table '%s'", strings.Join(names, ",")).WithHint("there are no temporary tables; DROP TABLE drops a table")
	}
	for _, name := range names {
		c.Session.Warn(&sql.Warning{Level: "Note", Code: int(sqlerr.UnknownTable.Errno), Message: "Unknown table '" + name + "'"})
	}
	return r.OK(0, 0, "")
}
