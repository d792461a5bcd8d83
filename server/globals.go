package server

import (
	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/sqlerr"
)

// engineOf is the key under which the context of a statement holds its engine.
type engineOf struct{}

// globalPrivileges are those of MySQL, either of which allows SET GLOBAL.
var globalPrivileges = [...]sql.PrivilegedOperation{
	sql.NewPrivilegedOperation(sql.PrivilegeCheckSubject{}, sql.PrivilegeType_Super),
	sql.NewDynamicPrivilegedOperation("system_variables_admin"),
}

// SetGlobal implements sql.SystemVariableRegistry. The engine asks for no privilege, however the SET is wrapped: without this check every
// user could turn max_connections down to 1.
func (c cheapSystem) SetGlobal(ctx *sql.Context, name string, value any) error {
	if e, ok := ctx.Value(engineOf{}).(*engine); ok && !e.maySetGlobals(ctx) {
		return sqlerr.New(sqlerr.PrivilegeNeeded, "you may not set the global variable '%s'", name).
			WithHint("it needs SYSTEM_VARIABLES_ADMIN or SUPER; SET SESSION changes the variable for this connection only")
	}
	return c.SystemVariableRegistry.SetGlobal(ctx, name, value)
}

func (e *engine) maySetGlobals(ctx *sql.Context) bool {
	for _, p := range globalPrivileges {
		if e.users.UserHasPrivileges(ctx, p) {
			return true
		}
	}
	return false
}
