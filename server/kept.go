package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"millrace/internal/catalog"
	"millrace/internal/catalog/pgcatalog"
	"millrace/internal/failpoint"
	"millrace/streaming/store"
	"millrace/streaming/store/pgstore"
)

// EmbeddedStore is the value of Config.Store for a store in the data directory.
const EmbeddedStore = "embedded"

// passwordVariable holds the password of Config.Store.
const passwordVariable = "MILLRACE_STORE_PASSWORD"

// storeWait is for how long a server that starts waits for PostgreSQL: long enough for one that starts with it, or recovers from a crash.
const storeWait = time.Minute

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
	open := k.openEmbedded
	if cfg.Store != "" && cfg.Store != EmbeddedStore {
		open = k.openPostgres
	}
	if err := open(ctx, cfg); err != nil {
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
	rows, err := openStore(cfg)
	if err != nil {
		return err // rows then holds a store that is nil
	}
	k.rows = rows
	return nil
}

func (k *kept) openPostgres(ctx context.Context, cfg Config) (err error) {
	at, err := storeURL(cfg.Store)
	if err != nil {
		return err
	}
	k.shared = true
	if cfg.DataDir != "" {
		if k.lock, err = catalog.LockDir(cfg.DataDir); err != nil {
			return err
		}
	}
	if k.owner, err = ownerName(cfg.DataDir); err != nil {
		return err
	}
	document, err := pgcatalog.Open(ctx, at, pgcatalog.Options{Wait: storeWait, Log: cfg.Log})
	if err != nil {
		return err
	}
	if k.catalog, err = catalog.New(ctx, document); err != nil {
		return err
	}
	rows, err := pgstore.Open(ctx, at, pgstore.Options{Log: cfg.Log, Failpoint: func(name string) { failpoint.Hit("store." + name) }})
	if err != nil {
		return err
	}
	k.rows = rows
	return nil
}

// storeURL is the URL of the store with its password. Errors hold nothing of either.
func storeURL(text string) (string, error) {
	password := os.Getenv(passwordVariable)
	if !strings.HasPrefix(text, "postgres://") && !strings.HasPrefix(text, "postgresql://") {
		return "", errors.New("'--store' is neither the word embedded nor a URL such as postgres://user@host:5432/database")
	}
	if err := pgcatalog.CheckURL(text); err != nil {
		return "", err
	}
	if password == "" {
		return text, nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", err // CheckURL has parsed it
	}
	user := ""
	if u.User != nil {
		user = u.User.Username()
	}
	u.User = url.UserPassword(user, password)
	return u.String(), nil
}

// ownerName is the name that a server has among those that share a store: that of the machine, and an id that is kept in the data directory. A server that is started again has the same, and
// need not wait until the leases of its former life end. Nobody else has it, as the directory is locked; the name of the machine tells copies of a directory apart.
func ownerName(dir string) (string, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	id := strings.ToLower(rand.Text()[:8])
	if dir == "" {
		return host + "/" + id, nil
	}
	path := filepath.Join(dir, "server-id")
	switch text, err := os.ReadFile(path); {
	case err == nil && len(strings.TrimSpace(string(text))) > 0:
		id = strings.TrimSpace(string(text))
	case err == nil || errors.Is(err, fs.ErrNotExist):
		if err := os.WriteFile(path, []byte(id+"\n"), 0o600); err != nil {
			return "", fmt.Errorf("data directory: %w", err)
		}
	default:
		return "", fmt.Errorf("data directory: %w", err)
	}
	return host + "/" + id, nil
}
