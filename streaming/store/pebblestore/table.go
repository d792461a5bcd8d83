package pebblestore

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// table is a version of a table: it is replaced, never changed, as its schema is. What changes with every commit is in its family.
type table struct {
	number uint64
	id     store.TableID
	owner  store.TableID
	schema *store.Schema
	// nextColumn is the ID of the next column that is added.
	nextColumn uint32
	family     *family
	grown      *growth
}

// family is a table and those that it owns: they have one writer, and one lock under which commits, schema changes and the replacement of
// segments follow one another.
type family struct {
	number uint64 // of the owner

	// maintain is held while segments are merged or expire: one at a time. It is taken before mu.
	maintain sync.Mutex

	mu sync.Mutex
	// gone: the table was dropped. Who finds it so has looked it up before.
	gone bool
	// epoch is that of the newest lease ever given out. holder is empty when nobody has the table.
	epoch  int64
	holder string
	until  time.Time
	// committed and count are epoch and number of the last commit under a lease.
	committed, count int64
	// events is the number of the last event, -1 while it has not been looked up.
	events int64
}

// tableRecord is a table as it is stored. Values are in their binary encoding, because JSON cannot hold all texts.
type tableRecord struct {
	ID         store.TableID    `json:"id"`
	Owner      store.TableID    `json:"owner,omitempty"`
	Version    int64            `json:"version"`
	NextColumn uint32           `json:"next_column"`
	Columns    []columnRecord   `json:"columns"`
	Cluster    []string         `json:"cluster,omitempty"`
	Durability store.Durability `json:"durability,omitempty"`
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

func (t *table) encode() []byte {
	r := tableRecord{ID: t.id, Owner: t.owner, Version: t.schema.Version, NextColumn: t.nextColumn, Cluster: t.schema.Cluster, Durability: t.schema.Durability}
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
	return b
}

func decodeTable(number uint64, b []byte) (*table, error) {
	var r tableRecord
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("record of table %d: %w", number, err)
	}
	t := &table{number: number, id: r.ID, owner: r.Owner, nextColumn: r.NextColumn, grown: &growth{}}
	t.schema = &store.Schema{Version: r.Version, Cluster: r.Cluster, Durability: r.Durability}
	for _, c := range r.Columns {
		col := store.Column{ID: c.ID, Field: column.Field{
			Name: c.Name, Type: column.Type{Kind: c.Kind, Precision: c.Precision, Scale: c.Scale}, Nullable: c.Nullable, Width: c.Width, Fixed: c.Fixed,
		}}
		if c.Default != nil {
			v, _, ok := store.DecodeValue(c.Default)
			if !ok {
				return nil, fmt.Errorf("record of table '%s': the default of column '%s' cannot be read", r.ID, c.Name)
			}
			col.Default = v
		}
		t.schema.Columns = append(t.schema.Columns, col)
	}
	if err := t.schema.Check(); err != nil {
		return nil, fmt.Errorf("record of table '%s': %w", r.ID, err)
	}
	return t, nil
}

// withColumns gives the columns of a new table their IDs.
func (t *table) withColumns(columns []store.Column) []store.Column {
	out := make([]store.Column, len(columns))
	for i, c := range columns {
		t.nextColumn++
		c.ID = t.nextColumn
		out[i] = c
	}
	return out
}
