// Package catalog keeps what must survive a restart: databases, views, definitions of tables, users and grants, connections and
// credentials.
//
// It is one small file, DATA_DIR/catalog.json, read once at start and replaced as a whole with every change (see file.go for the
// format and how it is replaced). A change is visible only after it is on disk, so what a client was told has happened is there
// after a crash. A lock on the directory keeps a second process out: two of them would overwrite each other's changes.
//
// The catalog runs nothing and knows no SQL. Views are kept as the text that the user wrote; users and grants are a blob that the
// engine makes and reads.
package catalog

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// State is the content of the catalog.
type State struct {
	// Databases by lower-case name.
	Databases map[string]Database `json:"databases"`
	// Grants is the engine's serialised users, passwords (hashes) and grants; empty before the first change.
	Grants []byte `json:"grants,omitempty"`
	// Connections and Credentials by lower-case name.
	Connections map[string]Connection `json:"connections,omitempty"`
	Credentials map[string]Connection `json:"credentials,omitempty"`
}

// Database is a database with what it holds.
type Database struct {
	// Name as the user wrote it.
	Name string `json:"name"`
	// Collation of CREATE DATABASE … COLLATE, empty for the default.
	Collation string `json:"collation,omitempty"`
	// Views by lower-case name.
	Views map[string]View `json:"views,omitempty"`
	// Tables by lower-case name.
	Tables map[string]Table `json:"tables,omitempty"`
}

// View is a view as the user wrote it.
type View struct {
	Name string `json:"name"`
	// Select is the query, Create the whole statement, both in the text of the dialect.
	Select string `json:"select"`
	Create string `json:"create"`
	// SQLMode was in force when the view was made; its text must be read with it.
	SQLMode string `json:"sql_mode"`
}

func (s State) clone() State {
	c := State{Databases: make(map[string]Database, len(s.Databases)), Grants: slices.Clone(s.Grants), Connections: maps.Clone(s.Connections),
		Credentials: maps.Clone(s.Credentials)}
	for k, d := range s.Databases {
		d.Views = maps.Clone(d.Views)
		d.Tables = maps.Clone(d.Tables)
		c.Databases[k] = d
	}
	return c
}

// Catalog is an open catalog. Its methods may be called from any goroutine.
type Catalog struct {
	path string
	lock *dirLock

	mu     sync.Mutex
	state  State
	closed bool
}

// Open takes the lock of dir, which is made if it is missing, and reads the catalog in it. A missing file is an empty catalog.
func Open(dir string) (*Catalog, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock, err := lockDir(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("data directory %s is in use by another process: %w (when that is a server, connect to it with a MySQL client)", dir, err)
	}
	c := &Catalog{path: filepath.Join(dir, "catalog.json"), lock: lock}
	if c.state, err = readFile(c.path); err != nil {
		return nil, errors.Join(err, lock.unlock())
	}
	return c, nil
}

// OpenMemory gives a catalog that keeps its state until the process ends, for tools that persist nothing.
func OpenMemory() *Catalog { return &Catalog{state: State{Databases: map[string]Database{}}} }

// State returns a copy of the content.
func (c *Catalog) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.clone()
}

// View looks up one view without copying the rest. Names are case-insensitive.
func (c *Catalog) View(database, name string) (View, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.state.Databases[strings.ToLower(database)].Views[strings.ToLower(name)]
	return v, ok
}

// Update lets change edit a copy of the content and makes that the content once it is on disk. When change or writing fails, nothing
// has changed. Updates run one after the other.
func (c *Catalog) Update(change func(*State) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.New("catalog is closed")
	}
	next := c.state.clone()
	if err := change(&next); err != nil {
		return err
	}
	if c.path != "" {
		if err := replaceFile(c.path, next); err != nil {
			return fmt.Errorf("catalog: %w", err)
		}
	}
	c.state = next
	return nil
}

// Close gives the lock back. Calls after the first do nothing.
func (c *Catalog) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	if c.lock == nil {
		return nil
	}
	return c.lock.unlock()
}
