package server

import (
	"context"
	"errors"

	"millrace/internal/catalog"
	"millrace/streaming/store"
)

// kept is what outlives the process.
type kept struct {
	catalog *catalog.Catalog
	rows    store.Store
	// lock is that of the data directory, nil when the catalog has it or there is no directory.
	lock *catalog.DirLock
	// shared says that other servers may have the same.
	shared bool
	// owner is the name of this server among them.
	owner string
}

// Close gives back what is open.
func (k *kept) Close() error {
	var err error
	if k.rows != nil {
		err = k.rows.Close()
	}
	if k.catalog != nil {
		err = errors.Join(err, k.catalog.Close())
	}
	if k.lock != nil {
		err = errors.Join(err, k.lock.Close())
	}
	return err
}

// openKept opens what Config.Store names.
func openKept(ctx context.Context, cfg Config) (*kept, error) {
	k := &kept{}
	if err := k.openEmbedded(ctx, cfg); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

func (k *kept) openEmbedded(_ context.Context, cfg Config) (err error) {
	if cfg.DataDir == "" {
		k.catalog = catalog.OpenMemory()
	} else if k.catalog, err = catalog.Open(cfg.DataDir); err != nil {
		return err
	}
	k.rows, err = openStore(cfg)
	return err
}
