package server

import (
	"bytes"
	"sync"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"

	"millrace/internal/catalog"
	"millrace/internal/sqlerr"
)

// storedUsers keeps the engine's grant tables in the catalog. The engine writes all of them with each change, so a change is refused when the catalog has others than
// those that it was made to: another server's would be lost.
type storedUsers struct {
	catalog *catalog.Catalog
	users   *mysql_db.MySQLDb

	mu sync.Mutex
	// held is what the grant tables were filled with or stored as last, nil for nothing; of no use when unsure, as a change of theirs was not stored.
	held   []byte
	unsure bool
}

// Persist implements mysql_db.MySQLDbPersistence. The caller holds the grant tables.
func (p *storedUsers) Persist(_ *sql.Context, data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := bytes.Clone(data)
	err := p.catalog.Update(func(s *catalog.State) error {
		if p.unsure || !bytes.Equal(s.Grants, p.held) {
			return sqlerr.New(sqlerr.AtOnce, "another server has changed users or grants at the same moment").WithHint("run the statement again")
		}
		s.Grants = next
		return nil
	})
	if err != nil {
		p.unsure = true // the engine keeps in memory what it could not store
		return err
	}
	p.held = next
	return nil
}

// follow fills the grant tables from the catalog when that has others. Users that are not stored stay.
func (p *storedUsers) follow() error {
	grants := p.catalog.State().Grants
	ed := p.users.Editor()
	defer ed.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.unsure && bytes.Equal(grants, p.held) || len(grants) == 0 {
		return nil
	}
	var unstored []*mysql_db.User
	ed.VisitUsers(func(u *mysql_db.User) {
		if u.IsEphemeral {
			unstored = append(unstored, u)
		}
	})
	if err := p.users.OverwriteUsersAndGrantData(sql.NewEmptyContext(), ed, grants); err != nil {
		return err
	}
	for _, u := range unstored {
		ed.PutUser(u)
	}
	p.held, p.unsure = grants, false
	return nil
}
