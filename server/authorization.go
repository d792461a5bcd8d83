package server

import (
	"cmp"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/functions/readkafka"
	"millrace/functions/writekafka"
	"millrace/internal/sqlerr"
)

// authorization is the engine's own check of privileges with errors that say what was denied: the engine names the user only.
type authorization struct{ sql.AuthorizationHandler }

// HandleAuth implements sql.AuthorizationHandler.
func (a authorization) HandleAuth(ctx *sql.Context, state sql.AuthorizationQueryState, what sqlparser.AuthInformation) error {
	err := a.AuthorizationHandler.HandleAuth(ctx, state, what)
	switch {
	case sql.ErrPrivilegeCheckFailed.Is(err):
	case ofTable(what) && (sql.ErrDatabaseAccessDeniedForUser.Is(err) || sql.ErrTableAccessDeniedForUser.Is(err)):
		// What needs a privilege on a table names the table, whatever else in its database the user may see.
	default:
		return err
	}
	command := strings.ReplaceAll(what.AuthType, "_", " ")
	switch first, _, _ := strings.Cut(command, " "); {
	case what.AuthType == sqlparser.AuthType_VISIBLE: // of no command: the object must not be known to the user
		command = ""
	case first == "GRANT" || first == "REVOKE":
		command = first
	case what.AuthType == sqlparser.AuthType_SHOW: // any privilege would do, and MySQL names this one
		command = sqlparser.AuthType_SELECT
	}
	object := deniedObject(ctx, what)
	return sqlerr.New(sqlerr.NotGranted, "%s", strings.TrimSpace(command+" command denied to user "+deniedUser(err)+object)).WithCause(err)
}

// deniedObject is what a privilege is needed for, in the words of MySQL; nothing where the privilege is a global one.
func deniedObject(ctx *sql.Context, what sqlparser.AuthInformation) string {
	names := what.TargetNames
	database := func(i int) string {
		if names[i] == "" {
			return ctx.GetCurrentDatabase()
		}
		return names[i]
	}
	switch {
	case what.TargetType == sqlparser.AuthTargetType_DatabaseIdentifiers && len(names) > 0:
		return " for database '" + database(0) + "'"
	case ofTable(what):
		return " for table '" + database(0) + "." + names[1] + "'"
	}
	return ""
}

// ofTable reports whether a privilege on a table is needed.
func ofTable(what sqlparser.AuthInformation) bool {
	switch what.TargetType {
	case sqlparser.AuthTargetType_SingleTableIdentifier, sqlparser.AuthTargetType_MultipleTableIdentifiers, sqlparser.AuthTargetType_TableColumn:
		return len(what.TargetNames) > 1
	}
	return false
}

// HandleAuthNode implements sql.AuthorizationHandler. The nodes that are asked are calls of our table functions, also those inside views.
func (a authorization) HandleAuthNode(ctx *sql.Context, state sql.AuthorizationQueryState, node sql.AuthorizationCheckerNode) error {
	err := a.AuthorizationHandler.HandleAuthNode(ctx, state, node)
	function, named := node.(sql.Nameable)
	if !sql.ErrPrivilegeCheckFailed.Is(err) || !named {
		return err
	}
	user := deniedUser(err)
	if function.Name() == writekafka.Name {
		return sqlerr.New(sqlerr.NotGranted, "command denied to user %s: %s needs the privilege %s", user, function.Name(), writekafka.Privilege).WithCause(err).
			WithHint("GRANT %s ON *.* TO %s; a connection that the call names needs USAGE besides", writekafka.Privilege, user)
	}
	return sqlerr.New(sqlerr.NotGranted, "command denied to user %s: %s needs the privilege %s", user, function.Name(), readkafka.Privilege).WithCause(err).
		WithHint("GRANT %s ON *.* TO %s; or USAGE on the connection that the call or the view names", readkafka.Privilege, user)
}

// deniedUser is the account in the engine's error, such as 'reader'@'%'.
func deniedUser(err error) string {
	_, user, _ := strings.Cut(err.Error(), "user ")
	for _, object := range []string{" to database ", " to table "} {
		user, _, _ = strings.Cut(user, object)
	}
	return user
}

// authorizeShow has SHOW CREATE TABLE and SHOW CREATE VIEW need SELECT, as reading does: the engine shows a definition to everybody. SHOW COLUMNS, which DESCRIBE of a
// table is, and SHOW INDEX need some privilege on the table.
func authorizeShow(show *sqlparser.Show) {
	switch strings.ToLower(show.Type) {
	case "create table", "create view":
		show.Auth = selectOf(show.Table.DbQualifier.String(), show.Table.Name.String())
	case "columns", "fields", "index":
		show.Auth = selectOf(cmp.Or(databaseOf(show), show.Table.DbQualifier.String()), show.Table.Name.String())
		show.Auth.AuthType = sqlparser.AuthType_SHOW
	}
}

// databaseOf is the database that FROM or IN of a SHOW names behind the table, which wins over one before its name.
func databaseOf(show *sqlparser.Show) string {
	if o := show.ShowTablesOpt; o != nil && o.DbName != "" {
		return o.DbName
	}
	return show.Database
}

// selectOf is the need of SELECT on a table.
func selectOf(db, table string) sqlparser.AuthInformation {
	return sqlparser.AuthInformation{AuthType: sqlparser.AuthType_SELECT, TargetType: sqlparser.AuthTargetType_SingleTableIdentifier, TargetNames: []string{db, table}}
}
