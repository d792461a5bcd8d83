package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

// table is a revision of a table: what does not change with every commit. It is never changed.
type table struct {
	number, family int64
	rev            int64
	id, owner      store.TableID
	schema         *store.Schema
	nextColumn     uint32
	// parts hold the rows, by number: each from its own From to that of the next. There is always one, to which commits append.
	parts    []part
	expiries []expiry
	// expired counts the expiries so far.
	expired int64
}

// part is a table of the database with some of a table's rows.
type part struct {
	Number int64 `json:"number"`
	// From is the number of its first row.
	From    int64        `json:"from"`
	Columns []partColumn `json:"columns"`
}

// partColumn says how a column is stored in a part.
type partColumn struct {
	ID   uint32      `json:"id"`
	Kind column.Kind `json:"kind"`
}

// find gives the kind in which a part stores a column.
func (p *part) find(id uint32) (column.Kind, bool) {
	i := slices.IndexFunc(p.Columns, func(c partColumn) bool { return c.ID == id })
	if i < 0 {
		return column.Invalid, false
	}
	return p.Columns[i].Kind, true
}

// expiry hides rows that are below UpTo and whose value in a column is below Before.
type expiry struct {
	Column uint32    `json:"column"`
	Before int64     `json:"before"`
	UpTo   int64     `json:"up_to"`
	At     time.Time `json:"at"`
	// Sequence counts the expiries of a table, from 1.
	Sequence int64 `json:"sequence"`
}

// has reports whether a part has a column.
func (p *part) has(id uint32) bool {
	_, ok := p.find(id)
	return ok
}

func (t *table) newest() *part { return &t.parts[len(t.parts)-1] }

// column finds a column of the present schema by ID; nil for one that was dropped.
func (t *table) column(id uint32) *store.Column {
	for i := range t.schema.Columns {
		if t.schema.Columns[i].ID == id {
			return &t.schema.Columns[i]
		}
	}
	return nil
}

// withColumns gives new columns their IDs.
func (t *table) withColumns(columns []store.Column) []store.Column {
	out := make([]store.Column, len(columns))
	for i, c := range columns {
		t.nextColumn++
		c.ID = t.nextColumn
		out[i] = c
	}
	return out
}

// specRecord is a table as specs has it. Values are in their binary encoding, because JSON cannot hold all texts.
type specRecord struct {
	Version    int64            `json:"version"`
	NextColumn uint32           `json:"next_column"`
	Columns    []columnRecord   `json:"columns"`
	Cluster    []string         `json:"cluster,omitempty"`
	Durability store.Durability `json:"durability,omitempty"`
	Parts      []part           `json:"parts"`
	Expiries   []expiry         `json:"expiries,omitempty"`
	Expired    int64            `json:"expired,omitempty"`
}

type columnRecord struct {
	ID        uint32      `json:"id"`
	Name      string      `json:"name"`
	Kind      column.Kind `json:"kind"`
	Precision uint8       `json:"precision,omitempty"`
	Scale     uint8       `json:"scale,omitempty"`
	Nullable  bool        `json:"nullable,omitempty"`
	Width     uint32      `json:"width,omitempty"`
	Fixed     bool        `json:"fixed,omitempty"`
	Default   []byte      `json:"default,omitempty"`
}

func (t *table) encode() string {
	r := specRecord{
		Version: t.schema.Version, NextColumn: t.nextColumn, Cluster: t.schema.Cluster, Durability: t.schema.Durability,
		Parts: t.parts, Expiries: t.expiries, Expired: t.expired,
	}
	for _, c := range t.schema.Columns {
		col := columnRecord{ID: c.ID, Name: c.Name, Kind: c.Type.Kind, Precision: c.Type.Precision, Scale: c.Type.Scale, Nullable: c.Nullable, Width: c.Width, Fixed: c.Fixed}
		if !c.Default.IsNull() {
			col.Default = c.Default.AppendBinary(nil)
		}
		r.Columns = append(r.Columns, col)
	}
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // numbers, texts and bytes: nothing that could fail
	}
	return string(b)
}

func (t *table) decode(text string) error {
	var r specRecord
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	t.nextColumn, t.parts, t.expiries, t.expired = r.NextColumn, r.Parts, r.Expiries, r.Expired
	t.schema = &store.Schema{Version: r.Version, Cluster: r.Cluster, Durability: r.Durability}
	for _, c := range r.Columns {
		col := store.Column{ID: c.ID, Field: column.Field{
			Name: c.Name, Type: column.Type{Kind: c.Kind, Precision: c.Precision, Scale: c.Scale}, Nullable: c.Nullable, Width: c.Width, Fixed: c.Fixed,
		}}
		if c.Default != nil {
			v, _, ok := store.DecodeValue(c.Default)
			if !ok {
				return fmt.Errorf("the default of column '%s' cannot be read", c.Name)
			}
			col.Default = v
		}
		t.schema.Columns = append(t.schema.Columns, col)
	}
	if len(t.parts) == 0 {
		return errors.New("there is no part")
	}
	return t.schema.Check()
}

// entry is the row of a table in tables.
type entry struct {
	number, family, version, rev, next, rows int64
	id, owner                                store.TableID
}

const entryColumns = "number, family, version, rev, next, row_count, id, owner"

func (e *entry) targets() []any {
	return []any{&e.number, &e.family, &e.version, &e.rev, &e.next, &e.rows, (*string)(&e.id), (*string)(&e.owner)}
}

// entry reads the row of a table.
func (s *Store) entry(ctx context.Context, c *pgx.Conn, id store.TableID) (e entry, err error) {
	if !validText(string(id)) {
		return e, fmt.Errorf("%w: %s", store.ErrNoTable, id)
	}
	err = c.QueryRow(ctx, s.sql("select "+entryColumns+" from {tables} where id = $1"), string(id)).Scan(e.targets()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, fmt.Errorf("%w: %s", store.ErrNoTable, id)
	}
	return e, err
}

// current reads the row of a table and the revision that belongs to it.
func (s *Store) current(ctx context.Context, c *pgx.Conn, id store.TableID) (e entry, t *table, err error) {
	if e, err = s.entry(ctx, c, id); err != nil {
		return e, nil, err
	}
	t, err = s.spec(ctx, c, &e)
	return e, t, err
}

type specKey struct{ number, rev int64 }

// specs keeps revisions, which never change.
type specs struct {
	mu     sync.Mutex
	tables map[specKey]*table
	latest map[store.TableID]*table // a guess, for commits
}

// maxSpecs is how many revisions are kept; when there are more, all are read anew.
const maxSpecs = 4096

func (s *specs) get(k specKey) *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables[k]
}

func (s *specs) guess(id store.TableID) *table {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest[id]
}

func (s *specs) put(t *table) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables == nil || len(s.tables) >= maxSpecs {
		s.tables, s.latest = map[specKey]*table{}, map[store.TableID]*table{}
	}
	s.tables[specKey{t.number, t.rev}] = t
	if old := s.latest[t.id]; old == nil || old.number < t.number || old.number == t.number && old.rev < t.rev {
		s.latest[t.id] = t
	}
}

// forget drops what is known.
func (s *specs) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables, s.latest = nil, nil
}

// spec gives the revision of a table that e names.
func (s *Store) spec(ctx context.Context, c *pgx.Conn, e *entry) (*table, error) {
	if t := s.specs.get(specKey{e.number, e.rev}); t != nil {
		return t, nil
	}
	var text string
	err := c.QueryRow(ctx, s.sql("select spec from {specs} where number = $1 and rev = $2"), e.number, e.rev).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, errTooOld
	}
	if err != nil {
		return nil, err
	}
	t := &table{number: e.number, family: e.family, rev: e.rev, id: e.id, owner: e.owner}
	if err := t.decode(text); err != nil {
		return nil, sqlerr.New(sqlerr.StoreCorrupt, "table '%s' at '%s' cannot be read: revision %d of table %d: %w", e.id, s.address, e.rev, e.number, err)
	}
	s.specs.put(t)
	return t, nil
}

// addSpec writes the first revision of a table.
func (s *Store) addSpec(ctx context.Context, c *pgx.Conn, t *table) error {
	_, err := c.Exec(ctx, s.sql("insert into {specs} (number, rev, spec) values ($1, $2, $3)"), t.number, t.rev, t.encode())
	return err
}

// supersede makes t, whose revision is that of what it was made from, the next one. errStale when there is a newer one already.
func (s *Store) supersede(ctx context.Context, c *pgx.Conn, t *table) error {
	t.rev++
	tag, err := c.Exec(ctx, s.sql("update {tables} set rev = $1, version = $2 where number = $3 and rev = $4"), t.rev, t.schema.Version, t.number, t.rev-1)
	if err == nil && tag.RowsAffected() != 1 {
		err = errStale
	}
	if err != nil {
		return err
	}
	if _, err := c.Exec(ctx, s.sql("update {specs} set ended = now() where number = $1 and rev = $2"), t.number, t.rev-1); err != nil {
		return err
	}
	return s.addSpec(ctx, c, t)
}
