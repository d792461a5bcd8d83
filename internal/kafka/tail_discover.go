package kafka

import (
	"context"
	"strings"
	"time"
)

// discover looks for partitions that came to be, until ctx ends.
func (t *tail) discover(ctx context.Context) error {
	tick := time.NewTicker(t.interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		topics, err := t.survey(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if err := t.final(err); err != nil {
				return err
			}
			continue // the partitions that are followed fail, too, and count for how long
		}
		if err := t.tell(ctx, found{topics}); err != nil {
			return nil //nolint:nilerr // the read has ended
		}
	}
}

// survey lists the partitions that are selected and exist now.
func (t *tail) survey(ctx context.Context) ([]TopicState, error) {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.ConnectTimeout)
	defer cancel()
	cl, err := t.cluster.group.controlClient()
	if err != nil {
		return nil, err
	}
	defer t.cluster.group.release(cl)
	if err := cl.connect(ctx, t.cfg, true); err != nil {
		return nil, err
	}
	sel := t.spec.Select
	names := sel.Topics
	for topic := range sel.Assign {
		names = append(names[:len(names):len(names)], topic)
	}
	now, err := t.cluster.look(ctx, cl, names...) // without names, all
	if err != nil {
		return nil, err
	}
	var out []TopicState
	for name, n := range now {
		if n.code != 0 || sel.Pattern != nil && (strings.HasPrefix(name, "__") || !t.matches(name)) {
			continue
		}
		topic := TopicState{Name: name, ID: n.id}
		take := func(number int32) {
			if l, ok := n.leaders[number]; ok && t.wants(name, number) { // one without a leader is found later
				topic.Partitions = append(topic.Partitions, PartitionState{Partition: number, Leader: l.id, LeaderEpoch: l.epoch})
			}
		}
		if sel.Assign != nil {
			for _, number := range sel.Assign[name] {
				take(number)
			}
		} else {
			for number := range n.partitions {
				take(number)
			}
		}
		out = append(out, topic)
	}
	return out, nil
}
