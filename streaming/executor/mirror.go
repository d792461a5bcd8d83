package executor

import (
	"cmp"
	"context"
	"maps"
	"time"

	"millrace/internal/kafka"
	"millrace/streaming/store"
)

// Mirror asks for positions to be shown to a consumer group, for tools that watch lag. They are never read back: what counts is in the store.
type Mirror struct {
	On bool
	// Group is the name of the group; without one it is Prefix, or "millrace", a dash and the name of the table.
	Group, Prefix string
}

func (m Mirror) group(table string) string {
	return cmp.Or(m.Group, cmp.Or(m.Prefix, "millrace")+"-"+table)
}

// Mirrored says how the mirror is doing.
type Mirrored struct {
	// Group is empty when there is no mirror.
	Group string
	// Failures counts attempts that failed, since the process started; Error is what the last one said, empty after one that did not fail.
	Failures int64
	Error    string
}

// The times of a mirror: it commits at most once in mirrorEvery, tries again mirrorRetry after a failure, and has mirrorLast for what a table has committed when it stops.
const (
	mirrorEvery = time.Second
	mirrorRetry = 5 * time.Second
	mirrorLast  = 2 * time.Second
)

// closed is what has changed at once.
var closed = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// mirror runs beside an owner that reads. It follows what the store has; a group that is behind for a moment, or for ever, harms nothing but what a tool shows.
type mirror struct {
	table   *Table
	cluster *kafka.Cluster
	group   string
	shown   map[store.Partition]store.Position
}

// mirrors starts a mirror when the read asks for one. stop shows what is left and waits for its end.
func (t *Table) mirrors(read Read, cluster *kafka.Cluster) (stop func()) {
	if !read.Mirror.On {
		return func() {}
	}
	m := &mirror{table: t, cluster: cluster, group: read.Mirror.group(t.name)}
	t.mu.Lock()
	t.mirrored.Group = m.group
	t.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (m *mirror) run(ctx context.Context) {
	for {
		now := m.table.watch()
		failed := m.show(ctx, now.positions)
		wait, changed := mirrorEvery, now.changed
		if failed {
			wait, changed = mirrorRetry, closed
		}
		if pauseFor(ctx, wait) == nil {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
			}
		}
		if !failed {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), mirrorLast)
			m.show(last, m.table.position())
			cancel()
		}
		return
	}
}

// show commits positions that the group does not have yet.
func (m *mirror) show(ctx context.Context, positions map[store.Partition]store.Position) (failed bool) {
	var offsets []kafka.GroupOffset
	for p, at := range positions {
		if had, ok := m.shown[p]; !ok || had != at {
			offsets = append(offsets, kafka.GroupOffset{Topic: p.Topic, TopicID: at.TopicID, Partition: p.Partition, Next: at.Offset, LeaderEpoch: at.LeaderEpoch})
		}
	}
	if len(offsets) == 0 {
		return false
	}
	err := m.cluster.CommitGroup(ctx, m.group, offsets)
	if err != nil && ctx.Err() != nil {
		return true // the table stops
	}
	if err == nil {
		m.shown = maps.Clone(positions)
	}
	m.table.hasMirrored(m.group, err)
	return err != nil
}

// hasMirrored notes how an attempt went. The log has a line when that changes.
func (t *Table) hasMirrored(group string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	t.mu.Lock()
	changed := t.mirrored.Error != text
	t.mirrored.Error = text
	if err != nil {
		t.mirrored.Failures++
	}
	t.mu.Unlock()
	switch {
	case !changed:
	case err != nil:
		t.log.Warn("showing positions to a consumer group failed", "table", t.name, "group", group, "error", text)
		t.event(EventMirror, text)
	default:
		t.event(EventMirror, "consumer group '"+group+"' shows positions again")
	}
}

// EventMirror is the kind of the events on the consumer group that shows positions.
const EventMirror = "commit_offsets"
