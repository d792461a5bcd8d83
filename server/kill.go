package server

import (
	"strconv"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
)

// kill runs KILL and KILL QUERY. The engine's own lets only SUPER do it and does not say when there is nobody to kill; as in MySQL a user may
// end what runs under the same name.
func (x *session) kill(c *sql.Context, k *sqlparser.Kill, r results) error {
	text := sqlparser.String(k.ConnID)
	id, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return sqlerr.New(sqlerr.NoThread, "there is no connection %s", text)
	}
	owner, found := x.engine.owner(uint32(id))
	if !found {
		return sqlerr.New(sqlerr.NoThread, "there is no connection %d", id)
	}
	if owner != x.client.User && !x.engine.users.UserActivePrivilegeSet(c).Has(sql.PrivilegeType_Super) {
		return sqlerr.New(sqlerr.KillDenied, "connection %d is not yours to end", id).WithHint("it needs SUPER")
	}
	if err := r.OK(0, 0, ""); err != nil {
		return err
	}
	x.engine.ProcessList.Kill(uint32(id))
	if k.Connection {
		x.engine.killConnection(uint32(id))
	}
	return nil
}

// owner is the user of a connection.
func (e *engine) owner(id uint32) (user string, found bool) {
	for _, p := range e.ProcessList.Processes() {
		if p.Connection == id {
			return p.User, true
		}
	}
	return "", false
}
