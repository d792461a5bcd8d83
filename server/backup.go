package server

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/catalog"
	"millrace/internal/export"
	"millrace/internal/sqlerr"
	"millrace/server/dialect"
)

// backuper is a store that can copy itself while it is written: into dir, which must not exist.
type backuper interface {
	Backup(ctx context.Context, dir string) error
}

// backupSchema is the answer of BACKUP.
var backupSchema = sql.Schema{{Name: "folder", Type: types.LongText}, {Name: "tables", Type: types.Int64}, {Name: "bytes", Type: types.Int64}}

// backup runs BACKUP TO. What it makes is a data folder. It takes more than FILE, for it holds everything: all tables, users with the hashes of their passwords, secrets as
// they are encrypted.
func (x *session) backup(c *sql.Context, own dialect.Backup, r results) error {
	e := x.engine
	if err := e.mayWriteFiles(c, "make a backup"); err != nil {
		return err
	}
	if !e.users.UserHasPrivileges(c, sql.NewDynamicPrivilegedOperation(backupAdmin)) {
		return sqlerr.New(sqlerr.PrivilegeNeeded, "you may not make a backup").WithHint("it needs the privilege BACKUP_ADMIN: GRANT BACKUP_ADMIN, FILE ON *.* TO …")
	}
	rows, ok := e.provider.rows.(backuper)
	switch {
	case !ok:
		return sqlerr.New(sqlerr.NotSupported, "BACKUP copies the store in the data folder, and this server keeps its tables in PostgreSQL").WithHint("pg_dump copies its database, tables and catalog in one snapshot")
	case !e.onDisk:
		return sqlerr.New(sqlerr.NotSupported, "this server keeps nothing on disk").WithHint("millrace serve does, in --data-dir")
	}
	folder, err := e.exports.CreateFolder(own.Folder)
	if err != nil {
		return err
	}
	state, err := copyStore(c, e.catalog, rows, folder)
	if err == nil {
		err = folder.Failed(catalog.Save(folder.Path, state))
	}
	var size int64
	if err == nil {
		size, err = folder.Bytes()
	}
	if err != nil {
		return errors.Join(err, folder.Abort())
	}
	if err := folder.Commit(); err != nil {
		return err
	}
	tables := int64(0)
	for _, db := range state.Databases {
		tables += int64(len(db.Tables))
	}
	return x.answerRows(c, backupSchema, sql.RowsToRowIter(sql.Row{own.Folder, tables, size}), r)
}

// copyStore copies the store, and gives a catalog that fits. No lock is held, as that would keep every statement waiting for a disk. A table is in the store before it is in the
// catalog, and leaves the catalog first; so the tables that were in the catalog before and after the copy are in it.
func copyStore(ctx context.Context, c *catalog.Catalog, rows backuper, folder *export.Folder) (catalog.State, error) {
	const attempts = 3
	for n := 1; ; n++ {
		before := c.State()
		dir := filepath.Join(folder.Path, "store")
		if err := rows.Backup(ctx, dir); err != nil {
			return catalog.State{}, failedBackup(folder, err)
		}
		after := c.State()
		if reflect.DeepEqual(before.Databases, after.Databases) || n == attempts {
			return inBoth(before, after), context.Cause(ctx)
		}
		if err := folder.Remove("store"); err != nil {
			return catalog.State{}, err
		}
	}
}

// failedBackup tells a disk that the folder is on from a store that cannot be read.
func failedBackup(folder *export.Folder, err error) error {
	if sqlerr.HasKind(err, sqlerr.StoreFull) || sqlerr.HasKind(err, sqlerr.StoreCorrupt) {
		return err
	}
	return folder.Failed(err)
}

// inBoth is a state with the tables that two others, one after the other, have in common, as the first has them: what ALTER adds is in the store before it is in the catalog.
func inBoth(before, after catalog.State) catalog.State {
	old := map[string]catalog.Table{}
	for _, db := range before.Databases {
		for _, t := range db.Tables {
			old[t.ID] = t
		}
	}
	for _, db := range after.Databases {
		for name, t := range db.Tables {
			was, ok := old[t.ID]
			if !ok {
				delete(db.Tables, name)
				continue
			}
			was.Name = t.Name
			db.Tables[name] = was
		}
	}
	return after
}
