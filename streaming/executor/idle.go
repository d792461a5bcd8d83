package executor

import (
	"context"
	"time"

	"millrace/internal/kafka"
	"millrace/streaming/store"
)

// logBounds are where the logs of a table that does not read begin and end, as somebody who wanted to know was told.
type logBounds struct {
	logs map[store.Partition]logBound
	at   time.Time
}

type logBound struct{ start, end int64 }

// The times for which an answer, and a failure to get one, are taken for the present.
const (
	boundsFresh = time.Second
	boundsRetry = 5 * time.Second
)

// Look asks the brokers how far a table is behind that does not read and so does not know: one that is paused, stalled, failed or waits for a refresh. Status then tells.
// It does nothing for other tables, and gives up with ctx.
func (t *Table) Look(ctx context.Context) {
	t.asking.Lock() // those that come together share an answer
	defer t.asking.Unlock()
	t.mu.Lock()
	reads := t.ends != nil || t.positions == nil || t.holder != "" && t.holder != t.Owner
	age := time.Since(t.idle.at)
	known := t.idle.logs != nil
	t.mu.Unlock()
	if reads || age < boundsFresh || !known && age < boundsRetry {
		return
	}
	logs, err := t.logs(ctx)
	if err != nil {
		t.log.Debug("asking how far a "+t.Noun+" is behind", "table", t.name, "error", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = logBounds{logs, time.Now()}
}

// logs asks for the bounds of the logs that the table has positions of. A topic that is another one now is left out.
func (t *Table) logs(ctx context.Context) (map[store.Partition]logBound, error) {
	q, err := t.Compile(ctx)
	if err != nil {
		return nil, err
	}
	read := q.Read()
	q.Close()
	cluster, err := t.Pool.Cluster(ctx, read.Cluster)
	if err != nil {
		return nil, err
	}
	sel := read.Spec.Select
	sel.Missing = kafka.MissingSkipped // a topic that is gone has no end, and the others have
	snap, err := cluster.Snapshot(ctx, sel)
	if err != nil {
		return nil, err
	}
	at := t.position()
	logs := map[store.Partition]logBound{}
	for _, topic := range snap.Topics {
		for i := range topic.Partitions {
			p := &topic.Partitions[i]
			part := store.Partition{Topic: topic.Name, Partition: p.Partition}
			had, ok := at[part]
			if none := [16]byte{}; !ok || had.TopicID != none && topic.ID != none && had.TopicID != topic.ID {
				continue
			}
			logs[part] = logBound{p.LogStart, p.End(read.Spec.Isolation)}
		}
	}
	return logs, nil
}

// boundOf is where the log of a partition begins and ends, as far as that is known; t.mu is held.
func (t *Table) boundOf(p store.Partition, at int64) (start, end int64) {
	if t.ends != nil {
		return 0, max(t.ends[p], at)
	}
	b, ok := t.idle.logs[p]
	if !ok || time.Since(t.idle.at) > boundsRetry {
		return 0, -1
	}
	return b.start, max(b.end, at)
}
