package server

import (
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
)

// refuseUnkept refuses what would be made and not kept, or not enforced. The engine makes a table first and finds out then that its constraints are not
// possible, which leaves the table behind; triggers, procedures and events it keeps in memory only.
func refuseUnkept(stmt sqlparser.Statement) error {
	ddl, ok := stmt.(*sqlparser.DDL)
	if !ok || ddl.Action != sqlparser.CreateStr {
		return nil
	}
	switch {
	case ddl.TriggerSpec != nil:
		return errUnkept("CREATE TRIGGER", "compute values in the query of a streaming table, or in a view")
	case ddl.ProcedureSpec != nil:
		return errUnkept("CREATE PROCEDURE", "a view keeps a query under a name")
	case ddl.EventSpec != nil:
		return errUnkept("CREATE EVENT", "a streaming table is kept fresh by itself")
	case ddl.TableSpec == nil:
		return nil
	}
	for _, c := range ddl.TableSpec.Constraints {
		switch c.Details.(type) {
		case *sqlparser.CheckConstraintDefinition:
			return errUnkept("CHECK", "filter rows by WHERE when they are inserted")
		case *sqlparser.ForeignKeyDefinition:
			return errUnkept("FOREIGN KEY", "leave it out: tables are joined without it")
		}
	}
	for _, i := range ddl.TableSpec.Indexes {
		switch {
		case i.Info.Fulltext:
			return errUnkept("a FULLTEXT index", "use LIKE")
		case i.Info.Spatial, i.Info.Vector:
			return errUnkept("a "+i.Info.Type, "leave it out")
		}
	}
	return nil
}

func errUnkept(what, hint string) error {
	return sqlerr.New(sqlerr.NotSupported, "%s is not supported", what).WithHint("%s", hint)
}
