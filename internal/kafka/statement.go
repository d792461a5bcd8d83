package kafka

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Statement is what one statement sees: of each partition of a cluster one state, whichever of its references to topics asks first. A self-join
// compares a topic with itself, not with what it was a moment ago; each reference still derives its own range from the state.
//
// It travels on the statement's context, and only what it belongs to may share it: an execution of a prepared statement has its own.
type Statement struct {
	mu       sync.Mutex
	clusters map[string]*sight
}

// sight is what a statement has seen of one cluster with one identity.
type sight struct {
	// mu is held while the cluster is asked, so that of two references at once one waits for what the other learns.
	mu sync.Mutex
	// answers are the snapshots by selection.
	answers map[string]*Snapshot
	// topics are the states by name; whole is set for those of which every partition was seen.
	topics map[string]TopicState
	whole  map[string]bool
}

type statementKey struct{}

// WithStatement begins a statement: what is asked under the context that it returns sees one state of each partition.
func WithStatement(ctx context.Context) context.Context {
	return context.WithValue(ctx, statementKey{}, new(Statement))
}

// SnapshotFor is Snapshot within the statement of ctx, if there is one.
func (c *Cluster) SnapshotFor(ctx context.Context, sel Selection) (*Snapshot, error) {
	st, ok := ctx.Value(statementKey{}).(*Statement)
	if !ok {
		return c.Snapshot(ctx, sel)
	}
	return st.cluster(c).snapshot(ctx, c, sel)
}

func (st *Statement) cluster(c *Cluster) *sight {
	key := c.cfg.Key()
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.clusters == nil {
		st.clusters = map[string]*sight{}
	}
	s := st.clusters[key]
	if s == nil {
		s = &sight{answers: map[string]*Snapshot{}, topics: map[string]TopicState{}, whole: map[string]bool{}}
		st.clusters[key] = s
	}
	return s
}

func (s *sight) snapshot(ctx context.Context, c *Cluster, sel Selection) (*Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sel.key()
	if known := s.answers[key]; known != nil {
		return known.of(c), nil
	}
	snap := s.recall(sel)
	if snap == nil {
		var err error
		if snap, err = c.Snapshot(ctx, sel); err != nil {
			return nil, err
		}
		for i, t := range snap.Topics {
			if snap.Topics[i], err = s.merge(t, sel.Assign == nil); err != nil {
				return nil, err
			}
		}
	}
	s.answers[key] = snap
	return snap.of(c), nil
}

// of is s for a cluster whose connections are the same: two references may fetch in different ways.
func (s *Snapshot) of(c *Cluster) *Snapshot {
	return &Snapshot{cluster: c, Topics: s.Topics, Missing: s.Missing}
}

// recall answers a selection of topics that were all seen, nil when the cluster must be asked.
func (s *sight) recall(sel Selection) *Snapshot {
	if len(sel.Topics) == 0 {
		return nil
	}
	var snap Snapshot
	for _, name := range slices.Compact(slices.Sorted(slices.Values(sel.Topics))) {
		if !s.whole[name] {
			return nil
		}
		snap.Topics = append(snap.Topics, s.topics[name])
	}
	return &snap
}

// merge gives the state of t that the statement sees: partitions that it has seen are as they were, others are as they are now. A topic that it has seen
// whole has no others.
func (s *sight) merge(now TopicState, whole bool) (TopicState, error) {
	before, known := s.topics[now.Name]
	if known && before.ID != now.ID {
		return now, recreated(now.Name)
	}
	seen := map[int32]PartitionState{}
	for _, p := range before.Partitions {
		seen[p.Partition] = p
	}
	out := TopicState{Name: now.Name, ID: now.ID}
	for _, p := range now.Partitions {
		if old, ok := seen[p.Partition]; ok {
			p = old
		} else if s.whole[now.Name] {
			continue
		}
		seen[p.Partition] = p
		out.Partitions = append(out.Partitions, p)
	}
	all := TopicState{Name: now.Name, ID: now.ID}
	for _, number := range slices.Sorted(maps.Keys(seen)) {
		all.Partitions = append(all.Partitions, seen[number])
	}
	s.topics[now.Name] = all
	s.whole[now.Name] = s.whole[now.Name] || whole
	return out, nil
}

// key tells selections apart.
func (s Selection) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %q", s.Missing, slices.Sorted(slices.Values(s.Topics)))
	if s.Pattern != nil {
		fmt.Fprintf(&b, " %q", s.Pattern)
	}
	for _, t := range slices.Sorted(maps.Keys(s.Assign)) {
		fmt.Fprintf(&b, " %q %v", t, slices.Sorted(slices.Values(s.Assign[t])))
	}
	return b.String()
}
