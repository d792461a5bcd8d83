// Package catalog keeps what must survive a restart: databases, views, definitions of tables, users and grants, connections and
// credentials.
//
// It is one small Document, read at start and replaced as a whole with every change: the file DATA_DIR/catalog.json, or a row in PostgreSQL (package pgcatalog). A change
// is visible only after it is stored, so what a client was told has happened is there after a crash. A lock on the directory keeps a second process from the file; a
// document that several processes share is changed by compare-and-set, and each of them looks often whether it has changed.
//
// The catalog runs nothing and knows no SQL. Views are kept as the text that the user wrote; users and grants are a blob that the
// engine makes and reads.
package catalog

import (
	"context"
	"errors"
	"maps"
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
	doc  Document
	lock *DirLock // nil when it is somebody else's

	// changing is held while the document is read or replaced. mu is never held meanwhile: who only looks does not wait for a disk or a network.
	changing sync.Mutex

	mu    sync.Mutex
	state State
	// version is that of the document; states counts the states there were here, for it may repeat, see Document.
	version, states int64
	closed          bool
}

// Open takes the lock of dir, which is made if it is missing, and reads the catalog in it. A missing file is an empty catalog.
func Open(dir string) (*Catalog, error) {
	lock, err := LockDir(dir)
	if err != nil {
		return nil, err
	}
	doc, err := OpenFile(dir)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	c, err := New(context.Background(), doc)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	c.lock = lock
	return c, nil
}

// OpenMemory gives a catalog that keeps its state until the process ends, for tools that persist nothing.
func OpenMemory() *Catalog {
	return &Catalog{doc: new(memory), state: State{Databases: map[string]Database{}}}
}

// New reads a catalog from a document, which it then owns: Close closes it, and so does an error.
func New(ctx context.Context, doc Document) (*Catalog, error) {
	c := &Catalog{doc: doc, version: -1}
	if _, err := c.read(ctx); err != nil {
		return nil, errors.Join(err, doc.Close())
	}
	return c, nil
}

// read takes over what the document holds if it has changed. The caller holds changing, or is the only one.
func (c *Catalog) read(ctx context.Context) (changed bool, err error) {
	content, version, err := c.doc.Read(ctx, c.version)
	if err != nil || version == c.version && content == nil {
		return false, err
	}
	state, err := decode(c.doc.Where(), content)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	c.state, c.version = state, version
	c.states++
	c.mu.Unlock()
	return true, nil
}

// Refresh takes over what other processes have changed, and reports whether there was something.
func (c *Catalog) Refresh(ctx context.Context) (changed bool, err error) {
	c.changing.Lock()
	defer c.changing.Unlock()
	if c.isClosed() {
		return false, errClosed
	}
	return c.read(ctx)
}

// Version tells the states apart that this catalog has had, and counts up: what was made of a former one is to be looked at again. It says nothing to other processes.
func (c *Catalog) Version() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.states
}

var errClosed = errors.New("catalog is closed")

func (c *Catalog) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

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

// Update lets change edit a copy of the content and makes that the content once it is stored. When change or storing fails, nothing has changed. Updates run
// one after the other. When another process comes first, change is called again with what that has made: it must not remember the call before.
func (c *Catalog) Update(change func(*State) error) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	ctx := context.Background() // a statement that is interrupted must not leave open what it has changed; documents bound the time themselves
	for {
		if c.isClosed() {
			return errClosed
		}
		next := c.State()
		if err := change(&next); err != nil {
			return err
		}
		content, err := encode(next)
		if err != nil {
			return err
		}
		switch err := c.doc.Replace(ctx, c.version, content); {
		case err == nil:
			c.mu.Lock()
			c.state = next
			c.version++
			c.states++
			c.mu.Unlock()
			return nil
		case !errors.Is(err, ErrChanged):
			return err
		}
		if _, err := c.read(ctx); err != nil {
			return err
		}
	}
}

// Close gives back the document and the lock. Calls after the first do nothing.
func (c *Catalog) Close() error {
	c.changing.Lock()
	defer c.changing.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	err := c.doc.Close()
	if c.lock != nil {
		err = errors.Join(err, c.lock.Close())
	}
	return err
}
