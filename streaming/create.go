package streaming

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"millrace/internal/catalog"
	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/streaming/executor"
	"millrace/streaming/store"
)

// Create is CREATE [OR REFRESH] STREAMING TABLE.
type Create struct {
	Name       Name
	Definition catalog.Streaming
	// Columns are those that the statement lists, nil for those of the query.
	Columns             []Column
	PrimaryKey, Cluster []string
	// Comment is that of the table.
	Comment     string
	Properties  []Property
	Refresh     bool
	IfNotExists bool
	// Unvalidated tables are made without reaching Kafka. Async ones are not waited for.
	Unvalidated, Async bool
	Warn               Warn
}

// Warn takes what the user of a statement should know.
type Warn func(format string, args ...any)

// Create makes a table, or changes it where the statement says OR REFRESH, and waits for the initial load unless told otherwise. When ctx ends while it waits, the
// table stays and goes on loading.
func (m *Manager) Create(ctx context.Context, c Create) error {
	made, err := m.create(ctx, c)
	if err != nil || made.table == nil || c.Async || c.Unvalidated {
		return err
	}
	err = m.wait(ctx, made, c.Warn)
	if e, ok := sqlerr.As(err); ok && made.table.Status().State == executor.Failed {
		return stays(c.Name, e)
	}
	return err
}

// noun is what a definition with a sink, or without one, makes.
func noun(sink string) string {
	if sink != "" {
		return executor.FlowNoun
	}
	return "table"
}

// fullNoun is noun as statements spell it.
func fullNoun(sink string) string {
	if sink != "" {
		return executor.FlowNoun
	}
	return executor.TableNoun
}

// stays says that a table is there although the statement that made or changed it failed: its first records were read, and it may hold rows.
func stays(n Name, e *sqlerr.Error) error {
	hint := fmt.Sprintf("the table '%s' stays, as failed: mend it by CREATE OR REFRESH STREAMING TABLE, or remove it by DROP STREAMING TABLE", n)
	if e.Hint != "" {
		hint = strings.TrimSuffix(e.Hint, ".") + "; " + hint
	}
	return e.WithHint("%s", hint)
}

// awaited is a table with what a statement waits for, as executor.Table.Await has it; without a table there is nothing.
type awaited struct {
	table   *executor.Table
	refresh int64
	target  map[store.Partition]int64
	// bad is how many bad records the table had kept before.
	bad int64
}

// wait waits for a load, warns of bad records that it has met, and has retention look at what it has brought.
func (m *Manager) wait(ctx context.Context, a awaited, warn Warn) error {
	a.begins(ctx)
	for {
		err := a.table.Await(ctx, a.refresh, a.target)
		if err == nil {
			m.warnOfBad(ctx, a, warn)
			m.retainer.due(a.table.ID)
			return nil
		}
		next, gone := m.successor(a.table)
		switch {
		case gone != nil:
			return gone
		case next == nil:
			return err
		}
		a.table = next
	}
}

// successor gives the executor that has taken the place of one that was stopped, as by another REFRESH … FULL: it comes to where the former one was going. It is nil while that one runs, or when the
// server stops. A table that was dropped is an error.
func (m *Manager) successor(x *executor.Table) (*executor.Table, error) {
	if !x.Stopped() {
		return nil, nil
	}
	m.changing.Lock() // who stops an executor starts the next one before it lets go
	defer m.changing.Unlock()
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, r := range m.tables {
		if r.ID == x.ID && r.Table != x {
			return r.Table, nil
		}
	}
	if m.closed {
		return nil, nil
	}
	return nil, sqlerr.New(sqlerr.NoTable, "%s '%s' was dropped meanwhile", x.Noun, x.Name)
}

// errMadeMeanwhile says that another server has made a table of the name.
var errMadeMeanwhile = errors.New("streaming: the table was made meanwhile")

func (m *Manager) create(ctx context.Context, c Create) (awaited, error) {
	m.changing.Lock()
	defer m.changing.Unlock()
	for {
		made, err := m.createOrChange(ctx, c)
		if !errors.Is(err, errMadeMeanwhile) {
			return made, err
		}
		// It is in the catalog now, and the statement finds it there.
	}
}

func (m *Manager) createOrChange(ctx context.Context, c Create) (awaited, error) {
	old, exists := m.Catalog.Table(c.Name.Database, c.Name.Table)
	switch {
	case exists && old.Streaming == nil:
		return awaited{}, sqlerr.New(sqlerr.TableExists, "table '%s' exists and is not a streaming table", c.Name)
	case exists && (old.Streaming.Sink != "") != (c.Definition.Sink != ""):
		return awaited{}, sqlerr.New(sqlerr.TableExists, "a %s is named '%s'", noun(old.Streaming.Sink), c.Name)
	case exists && c.Definition.Sink != "" && !c.IfNotExists:
		return awaited{}, sqlerr.New(sqlerr.TableExists, "flow '%s' exists", c.Name).WithHint("DROP FLOW drops it")
	case exists && c.IfNotExists:
		c.Warn("%s '%s' exists", noun(c.Definition.Sink), c.Name)
		return awaited{}, nil
	case exists && !c.Refresh:
		return awaited{}, sqlerr.New(sqlerr.TableExists, "table '%s' exists", c.Name).WithHint("CREATE OR REFRESH STREAMING TABLE changes it and keeps its rows")
	}
	if _, ok := m.Catalog.View(c.Name.Database, c.Name.Table); ok {
		return awaited{}, sqlerr.New(sqlerr.TableExists, "'%s' is a view", c.Name)
	}
	if _, _, err := settings(c.Properties, 0); err != nil { // names that the statement got wrong
		return awaited{}, err
	}
	c.Definition.Properties = asMap(c.Properties)
	if err := m.timed(&c.Definition, old.Streaming); err != nil {
		return awaited{}, err
	}
	_, durability, err := settingsOf(&c.Definition, m.MaxBatchBytes)
	if err != nil {
		return awaited{}, err
	}
	p, err := m.Planner.Plan(ctx, c.Definition, c.Name.Table)
	if err != nil {
		return awaited{}, err
	}
	defer p.Close()
	c.Definition.Schemas, c.Definition.Samples = p.Schemas, p.Samples
	columns, err := c.columns(p.Columns, p.Added)
	if err != nil {
		return awaited{}, err
	}
	if err := checkRetention(c.Definition.Properties, columns); err != nil {
		return awaited{}, err
	}
	var v *validated
	if !c.Unvalidated {
		var to executor.Target
		if outputs, ok := p.Query.(executor.Outputs); ok {
			if to, err = outputs.CheckOutput(ctx); err != nil {
				return awaited{}, err
			}
		}
		if v, err = m.validate(ctx, p.Read()); err != nil {
			return awaited{}, err
		}
		for _, topic := range to.Topics {
			if v.reads(to.Cluster, topic) {
				c.Warn("the flow reads topic '%s', which it writes: unless WHERE leaves out what it has written, each of its rows makes another, without end", topic)
			}
		}
	}
	if exists {
		if err := m.holds(ctx, store.TableID(old.ID), columns); err != nil {
			return awaited{}, err
		}
		return m.change(ctx, c, old, columns, durability, p.Read(), v)
	}
	return m.add(ctx, c, columns, durability, p.Read(), v)
}

// checkNames wants key and cluster columns to exist.
func (c *Create) checkNames(columns []Column) error {
	for _, list := range []struct {
		clause string
		names  []string
	}{{"PRIMARY KEY", c.PrimaryKey}, {"PARTITIONED BY or CLUSTER BY", c.Cluster}} {
		for _, n := range list.names {
			if !slices.ContainsFunc(columns, func(x Column) bool { return strings.EqualFold(x.Name, n) }) {
				return sqlerr.New(sqlerr.NoColumn, "%s names column '%s', which the table does not have", list.clause, n)
			}
		}
	}
	return nil
}

// validated is what Kafka says of a read.
type validated struct {
	moves []store.Move
	ends  map[store.Partition]int64
	// cluster is the id of the cluster, empty when it has none.
	cluster string
	// unread is the number of records that a start at the end leaves out, about.
	unread int64
}

// reads reports whether a topic of a cluster is one of those that are read.
func (v *validated) reads(cluster, topic string) bool {
	if cluster == "" || cluster != v.cluster {
		return false
	}
	for p := range v.ends {
		if p.Topic == topic {
			return true
		}
	}
	return false
}

// validate reaches Kafka, finds the topics and fixes where the read begins.
func (m *Manager) validate(ctx context.Context, read executor.Read) (*validated, error) {
	cluster, err := m.Pool.Cluster(ctx, read.Cluster)
	if err != nil {
		return nil, err
	}
	sel := read.Spec.Select
	if sel.Missing == kafka.MissingAwaited {
		sel.Missing = kafka.MissingSkipped
	}
	snap, err := cluster.Snapshot(ctx, sel)
	if err != nil {
		return nil, err
	}
	v := &validated{ends: map[store.Partition]int64{}, cluster: snap.ClusterID}
	if v.moves, err = executor.Starts(ctx, snap, read); err != nil {
		return nil, err
	}
	for _, t := range snap.Topics {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			v.ends[store.Partition{Topic: t.Name, Partition: p.Partition}] = p.End(read.Spec.Isolation)
			v.unread += p.HighWatermark - p.LogStart
		}
	}
	return v, m.readable(ctx, snap, read)
}

// readable fetches a record: what may be described need not be readable.
func (m *Manager) readable(ctx context.Context, snap *kafka.Snapshot, read executor.Read) error {
	src, err := snap.Plan(ctx, kafka.ReadSpec{Start: kafka.Bound{Kind: kafka.AtEarliest}, End: kafka.Bound{Kind: kafka.AtLatest}, Isolation: read.Spec.Isolation}, scan.Request{Limit: 1, Lanes: 1})
	if err != nil {
		return err
	}
	defer src.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err = src.Run(ctx, func(int) (scan.Sink, error) { return firstRecord{}, nil })
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // no committed record was found in time, and no error
	}
	return err
}

// add makes a table that is not there.
func (m *Manager) add(ctx context.Context, c Create, columns []Column, durability store.Durability, read executor.Read, v *validated) (awaited, error) {
	id := strings.ToLower(c.Name.String()) + "#" + rand.Text()
	spec := store.TableSpec{ID: store.TableID(id), Cluster: spelled(c.Cluster, columns), Durability: durability}
	for _, x := range columns {
		f := x.Field
		f.Nullable = true // a column may be left out by a later definition
		spec.Columns = append(spec.Columns, store.Column{Field: f})
	}
	bad := store.TableSpec{ID: errorsID(id), Owner: spec.ID, Durability: durability}
	for _, f := range executor.ErrorColumns() {
		bad.Columns = append(bad.Columns, store.Column{Field: f})
	}
	if err := m.Store.CreateTable(ctx, spec, bad); err != nil {
		return awaited{}, fmt.Errorf("create table %s: %w", c.Name, err)
	}
	t := catalog.Table{Name: c.Name.Table, ID: id, Columns: DDL(columns), Comment: c.Comment, Streaming: &c.Definition}
	err := m.begin(ctx, id, v)
	if err == nil {
		err = m.Catalog.Update(func(s *catalog.State) error {
			db, ok := s.Databases[strings.ToLower(c.Name.Database)]
			if !ok {
				return sqlerr.New(sqlerr.NoDatabase, "database '%s' does not exist", c.Name.Database)
			}
			if _, taken := db.Tables[strings.ToLower(c.Name.Table)]; taken {
				return errMadeMeanwhile
			}
			s.PutTable(c.Name.Database, t)
			return nil
		})
	}
	if err != nil {
		if dropped := m.dropRows(ctx, id); dropped != nil {
			return awaited{}, errors.Join(err, dropped)
		}
		return awaited{}, err
	}
	if read.Latest {
		c.warnLatest(v)
	}
	x := m.launch(c.Name, t)
	if v == nil {
		return awaited{table: x}, nil
	}
	return awaited{table: x, target: v.ends}, nil
}

// warnLatest says that records are left out; an empty topic has none.
func (c *Create) warnLatest(v *validated) {
	switch {
	case v == nil:
		c.Warn("the " + noun(c.Definition.Sink) + " starts at the end of its topics, as of its first read: use startingOffsets => 'earliest' to read what they hold")
	case v.unread > 0:
		c.Warn("the "+noun(c.Definition.Sink)+" starts at the end of its topics: %d existing records are not read; use startingOffsets => 'earliest' to read them", v.unread)
	}
}

// begin commits the positions that a table starts at.
func (m *Manager) begin(ctx context.Context, id string, v *validated) error {
	if v == nil {
		return nil
	}
	lease, err := m.Store.AcquireWriter(ctx, store.TableID(id), m.Owner, executor.LeaseTime)
	if err != nil {
		return err
	}
	_, err = m.Store.Commit(ctx, &store.Commit{Table: store.TableID(id), Lease: lease, Moves: v.moves, Progress: executor.StartRecord()})
	return errors.Join(err, m.Store.ReleaseWriter(ctx, lease))
}

// spelled gives names as the columns spell them.
func spelled(names []string, columns []Column) []string {
	var out []string
	for _, n := range names {
		for _, c := range columns {
			if strings.EqualFold(c.Name, n) {
				out = append(out, c.Name)
			}
		}
	}
	return out
}
