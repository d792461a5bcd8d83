package pgstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"millrace/internal/column"
	"millrace/streaming/store"
)

// A part is read by ranges of row numbers, so it needs an index on them. A B-tree takes as much of the database's time as the rows do; PostgreSQL's
// BRIN keeps the least and the greatest value of each megabyte, which is next to nothing, and as good for rows that lie in the order of their numbers. It can do the same
// for times at once. Databases that have no BRIN get the B-tree of a primary key.

// hasBRIN judges a database by what it says of itself.
func hasBRIN(version string) bool {
	return strings.HasPrefix(version, "PostgreSQL") && !strings.Contains(version, "-YB-") && !strings.Contains(version, "Cockroach")
}

// mostIndexed is how many columns the index of a part has besides the number.
const mostIndexed = 8

// index is the statement that makes the index of a part: on the numbers, on times, by which rows are mostly looked for, and on what the table is clustered by.
func (s *Store) index(p *part, schema *store.Schema) string {
	text := "create index " + indexOf(p.Number) + " on " + s.names.rows(p.Number) + " using brin (n"
	n := 0
	for i := range schema.Columns {
		col := &schema.Columns[i]
		k := col.Type.Kind
		wanted := k == column.Timestamp || k == column.Date || slices.Contains(schema.Cluster, col.Name) && k.IsInt() && k != column.Bool
		if wanted && n < mostIndexed {
			text += ", " + columnName(col.ID)
			n++
		}
	}
	return text + ")"
}

// indexOf is the name of the index of a part, within the schema.
func indexOf(part int64) string { return fmt.Sprintf("rows_%d_index", part) }

// scanning gives the statements around one that reads rows. A planner that has not looked at a table yet, or thinks little of the index, would read all of it for each page; and the
// lanes are what works in parallel. Groups it would sort for, on disk, as it expects few rows.
func (s *Store) scanning(groups bool) (before, after []string) {
	if !s.brin {
		return nil, nil
	}
	before = []string{"begin", "set local enable_seqscan = off", "set local max_parallel_workers_per_gather = 0"}
	if groups {
		before = append(before, "set local enable_sort = off")
	}
	return before, []string{"commit"}
}

// unsummarized is how many rows may be written to a part before the next scan has the index catch up: every page would look at all rows that it does not know.
const unsummarized = 1 << 18

// summaries notes up to which row the index of a part is known to be made.
type summaries struct {
	mu   sync.Mutex
	upTo map[int64]int64
}

// behind reports whether the index of a part may be far behind, and then takes it as made.
func (s *summaries) behind(part, from, next int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.upTo == nil || len(s.upTo) > maxSpecs {
		s.upTo = map[int64]int64{}
	}
	if next-max(from, s.upTo[part]) < unsummarized {
		return false
	}
	s.upTo[part] = next
	return true
}

// summarize has the index of the newest part catch up. The database does so by itself, but only now and then. When it cannot be done, scans are slow, not wrong.
func (s *source) summarize(ctx context.Context) {
	db := s.snap.store
	p := s.table.newest()
	if !db.brin || !db.summaries.behind(p.Number, p.From, s.seen.next) {
		return
	}
	err := db.on(ctx, "indexing rows", func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "select brin_summarize_new_values($1::text::regclass)", db.names.schema+"."+indexOf(p.Number))
		return err
	})
	if err != nil {
		db.log.Debug("store: the index of a table is behind", "table", s.table.id, "error", db.plain(err))
	}
}
