package streaming

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"millrace/internal/catalog"
	"millrace/internal/column"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
	"millrace/streaming/executor"
	"millrace/streaming/store"
)

// Retention is what the properties retention and retention.column say of a table.
type Retention struct {
	// Age is how old rows may get, 0 for as old as they like.
	Age time.Duration
	// Column is the one that tells how old a row is.
	Column string
}

// The bounds of how often old rows are looked for: twenty times in a retention, but no more often than what is a burden.
const (
	leastRetention = time.Second
	expireSoonest  = time.Second
	expireLatest   = 10 * time.Minute
)

func (r Retention) every() time.Duration { return min(max(r.Age/20, expireSoonest), expireLatest) }

// retentionOf reads the properties. The column is the one that is named, if any.
func retentionOf(properties map[string]string) (Retention, error) {
	var pairs []option.Pair
	for name, value := range properties {
		pairs = append(pairs, option.Pair{Name: name, Value: value})
	}
	v, err := Properties.Bind(pairs, false)
	if err != nil {
		return Retention{}, err
	}
	r := Retention{v.Duration("retention"), v.String("retention.column")}
	switch {
	case v.Has("retention") && r.Age < leastRetention:
		return r, v.Invalid("retention", "is %v, allowed is %v and more", r.Age, leastRetention)
	case !v.Has("retention") && v.Has("retention.column"):
		return r, sqlerr.New(sqlerr.OptionConflict, "'retention.column' says which column 'retention' looks at, and there is no 'retention'").WithHint("for example 'retention' = '30 days'")
	}
	return r, nil
}

// within completes a retention by the columns of its table. Without a name it is the column timestamp, else the only one that has a point in time.
func (r Retention) within(columns []column.Field) (Retention, error) {
	if r.Age == 0 {
		return r, nil
	}
	var allowed []string
	found, other := "", false
	for _, c := range columns {
		if c.Type.Kind != column.Timestamp && c.Type.Kind != column.Date {
			other = other || strings.EqualFold(c.Name, r.Column)
			continue
		}
		allowed = append(allowed, c.Name)
		if strings.EqualFold(c.Name, r.Column) || r.Column == "" && strings.EqualFold(c.Name, "timestamp") {
			found = c.Name
		}
	}
	if found == "" && r.Column == "" && len(allowed) == 1 {
		found = allowed[0]
	}
	if found != "" {
		r.Column = found
		return r, nil
	}
	hint := "the table has no column with a point in time (DATETIME, TIMESTAMP, DATE): add one, such as timestamp of the record"
	if len(allowed) > 0 {
		hint = "allowed are '" + strings.Join(allowed, "', '") + "'"
	}
	switch {
	case r.Column == "":
		return r, sqlerr.New(sqlerr.OptionMissing, "'retention' needs 'retention.column', which says how old a row is").WithHint("%s", hint)
	case other:
		return r, sqlerr.New(sqlerr.OptionInvalid, "'retention.column' is '%s', which is no DATETIME, TIMESTAMP or DATE", option.Show(r.Column)).WithHint("%s", hint)
	default:
		return r, sqlerr.New(sqlerr.OptionInvalid, "'retention.column' is '%s', which the table does not have", option.Show(r.Column)).WithHint("%s", hint)
	}
}

// before is the first value of a column that stays: in microseconds, or in days.
func (r Retention) before(now time.Time, kind column.Kind) int64 {
	at := now.Add(-r.Age)
	if kind == column.Date {
		return at.UTC().Truncate(24*time.Hour).Unix() / (24 * 60 * 60)
	}
	return at.UnixMicro()
}

// fieldsOf are the columns of a stored table.
func fieldsOf(s *store.Schema) []column.Field {
	fields := make([]column.Field, len(s.Columns))
	for i, c := range s.Columns {
		fields[i] = c.Field
	}
	return fields
}

// checkRetention finds what is wrong with the retention of a table with these columns.
func checkRetention(properties map[string]string, columns []Column) error {
	r, err := retentionOf(properties)
	if err != nil {
		return err
	}
	fields := make([]column.Field, len(columns))
	for i, c := range columns {
		fields[i] = c.Field
	}
	_, err = r.within(fields)
	return err
}

// Expired is what retention has done to a table since the process started.
type Expired struct {
	Rows int64
	// Last is when rows were removed last.
	Last time.Time
	// Err is why they could not be, the last time it was tried; nil when they could.
	Err error
}

// retainer removes rows that are too old, of all tables, one after the other on one goroutine. It goes by the catalog, so it does so for tables that are paused or have failed, too.
type retainer struct {
	m    *Manager
	wake chan struct{}

	mu     sync.Mutex
	tables map[string]*retained // by ID
}

// retained is a table with retention.
type retained struct {
	Expired
	by   map[string]string // the properties that next was computed by
	next time.Time
	// reported is when the event log was last told; untold is what came after.
	reported time.Time
	untold   int64
}

// expiredEvent is the kind of events that tell of rows that were removed. There is one an hour at most, for the log holds a thousand.
const (
	expiredEvent = "rows_expired"
	tellEvery    = time.Hour
)

// idleLook is how often the catalog is looked at when no table is due.
const idleLook = time.Minute

func newRetainer(m *Manager) *retainer {
	return &retainer{m: m, wake: make(chan struct{}, 1), tables: map[string]*retained{}}
}

func (r *retainer) now() time.Time {
	if r.m.Clock == nil {
		return time.Now()
	}
	return r.m.Clock.Now()
}

// run works until ctx ends.
func (r *retainer) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := min(max(r.sweep(ctx).Sub(r.now()), expireSoonest/10), idleLook)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// look makes the retainer look at the definitions, which have changed.
func (r *retainer) look() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// due makes a table due, for a load has brought it rows of any age.
func (r *retainer) due(id store.TableID) {
	r.mu.Lock()
	if x := r.tables[string(id)]; x != nil {
		x.next = time.Time{}
	}
	r.mu.Unlock()
	r.look()
}

// sweep removes what is due and gives the time when something will be.
func (r *retainer) sweep(ctx context.Context) (next time.Time) {
	now := r.now()
	next = now.Add(idleLook)
	known := map[string]bool{}
	for _, db := range r.m.Catalog.State().Databases {
		for _, t := range db.Tables {
			known[t.ID] = true
			if t.Streaming == nil || t.Streaming.Properties["retention"] == "" || ctx.Err() != nil {
				continue
			}
			if at := r.table(ctx, Name{db.Name, t.Name}, t, now); at.Before(next) {
				next = at
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.tables, func(id string, _ *retained) bool { return !known[id] })
	return next
}

// table removes the old rows of one table if it is due.
func (r *retainer) table(ctx context.Context, n Name, t catalog.Table, now time.Time) (next time.Time) {
	r.mu.Lock()
	x := r.tables[t.ID]
	if x == nil {
		x = new(retained)
		r.tables[t.ID] = x
	}
	due := !now.Before(x.next) || !maps.Equal(x.by, t.Streaming.Properties)
	next = x.next
	r.mu.Unlock()
	if !due {
		return next
	}
	rule, err := retentionOf(t.Streaming.Properties)
	var removed int64
	if err == nil {
		removed, err = r.m.expire(ctx, store.TableID(t.ID), rule, now)
	}
	if ctx.Err() != nil || errors.Is(err, store.ErrNoTable) || errors.Is(err, store.ErrClosed) {
		err = nil // it is being dropped, or the server stops
	}
	r.mu.Lock()
	if err != nil && (x.Err == nil || x.Err.Error() != err.Error()) {
		r.m.Log.Warn("rows of a streaming table that are too old could not be removed", "table", n.String(), "error", err)
	}
	if x.Err, x.by = err, t.Streaming.Properties; x.next.Equal(next) { // else somebody has made it due meanwhile
		x.next = now.Add(rule.every())
	}
	if removed > 0 {
		x.Rows, x.Last, x.untold = x.Rows+removed, now, x.untold+removed
	}
	tell := x.untold
	if now.Sub(x.reported) < tellEvery {
		tell = 0
	} else if tell > 0 {
		x.reported, x.untold = now, 0
	}
	next = x.next
	r.mu.Unlock()
	if tell > 0 {
		r.tell(ctx, n, t, tell, rule, now)
	}
	return next
}

func (r *retainer) tell(ctx context.Context, n Name, t catalog.Table, rows int64, rule Retention, now time.Time) {
	text := fmt.Sprintf("%d rows were removed: 'retention' is %v, and they are older than %s", rows, rule.Age, now.Add(-rule.Age).UTC().Format("2006-01-02 15:04:05.000"))
	b, err := executor.EncodeEvent(executor.Event{Kind: expiredEvent, Text: text})
	if err == nil {
		err = r.m.Store.AppendEvent(ctx, store.TableID(t.ID), b)
	}
	if err != nil && !errors.Is(err, store.ErrNoTable) && ctx.Err() == nil {
		r.m.Log.Warn("writing the event log of a streaming table", "table", n.String(), "error", err)
	}
}

// expire removes the rows of a table that are older than its retention at a moment. Positions stay: a row that was removed is not read again.
func (m *Manager) expire(ctx context.Context, id store.TableID, r Retention, now time.Time) (removed int64, err error) {
	schema, err := m.Store.Schema(ctx, id)
	if err != nil {
		return 0, err
	}
	if r, err = r.within(fieldsOf(schema)); err != nil || r.Age == 0 {
		return 0, err
	}
	kind := schema.Columns[schema.Index(r.Column)].Type.Kind
	return m.Store.Expire(ctx, id, r.Column, r.before(now, kind))
}

// Expired tells what retention has done to a table.
func (m *Manager) Expired(id string) Expired {
	m.retainer.mu.Lock()
	defer m.retainer.mu.Unlock()
	if x := m.retainer.tables[id]; x != nil {
		return x.Expired
	}
	return Expired{}
}

// Retention is what the properties of a table say, with the column that they mean.
func (m *Manager) Retention(ctx context.Context, t catalog.Table) (Retention, error) {
	r, err := retentionOf(t.Streaming.Properties)
	if err != nil || r.Age == 0 {
		return r, err
	}
	schema, err := m.Store.Schema(ctx, store.TableID(t.ID))
	if err != nil {
		return r, err
	}
	return r.within(fieldsOf(schema))
}
