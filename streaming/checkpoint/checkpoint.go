// Package checkpoint decides what a streaming table reads next.
//
// It compares the positions that a table has read up to with what its topics hold now, and says which ranges to read and what is gone. It asks
// nobody and keeps nothing, so that every case of it is a line in a table of tests.
package checkpoint

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

// Range is what to read of a partition: the offsets [From, To).
type Range struct {
	store.Partition
	// Topic and State are the partition as it was found.
	Found kafka.PartitionState
	ID    [16]byte
	// Had is the position that the table has, nil when the partition is new to it.
	Had      *store.Position
	From, To int64
}

// Len is the number of offsets.
func (r *Range) Len() int64 { return r.To - r.From }

// Move is the step of the checkpoint once the range has been read up to an offset.
func (r *Range) Move(to int64) store.Move {
	return store.Move{Partition: r.Partition, From: r.Had, To: &store.Position{TopicID: r.ID, Offset: to, LeaderEpoch: r.Found.LeaderEpoch}}
}

// LossKind says how records were lost.
type LossKind string

// The kinds of loss.
const (
	// Expired: the log starts after the position; retention or DeleteRecords took what lay between.
	Expired LossKind = "expired"
	// Recreated: the topic was deleted and created again.
	Recreated LossKind = "recreated"
	// Truncated: the log ends before the position. For a moment after a change of leaders that is normal.
	Truncated LossKind = "truncated"
)

// Loss is records of a partition that cannot be read any more.
type Loss struct {
	store.Partition
	Kind LossKind
	// Gone are the offsets, as far as they are known.
	Gone scan.Range
}

func (l Loss) String() string {
	where := fmt.Sprintf("partition %d of topic '%s'", l.Partition.Partition, l.Topic)
	switch l.Kind {
	case Recreated:
		return fmt.Sprintf("topic '%s' was deleted and created again: partition %d was read up to offset %d", l.Topic, l.Partition.Partition, l.Gone.From)
	case Truncated:
		return fmt.Sprintf("%s was read up to offset %d, and its log was cut at %d", where, l.Gone.To, l.Gone.From)
	default:
		return fmt.Sprintf("offsets %v of %s are gone: its log starts at %d now", l.Gone, where, l.Gone.To)
	}
}

// Plan is what to do next.
type Plan struct {
	// Ranges has every partition that was found, also those with nothing to read, in order.
	Ranges []Range
	// Losses are what the ranges leave out. Each range begins where reading can go on; a partition that the topic, created again, does not have any more is in no range.
	Losses []Loss
	// Absent are partitions that the table has read and that were not found although their topic was, which may be the same one.
	Absent []store.Partition
}

// Compare makes a plan of the positions of a table and what was found of its topics.
func Compare(positions map[store.Partition]store.Position, found []kafka.TopicState, iso kafka.Isolation) Plan {
	var p Plan
	seen := map[string]map[int32]bool{}
	ids := map[string][16]byte{}
	for _, t := range found {
		ids[t.Name] = t.ID
		seen[t.Name] = map[int32]bool{}
		for _, s := range t.Partitions {
			seen[t.Name][s.Partition] = true
			r := Range{Partition: store.Partition{Topic: t.Name, Partition: s.Partition}, Found: s, ID: t.ID, From: s.LogStart, To: s.End(iso)}
			if had, ok := positions[r.Partition]; ok {
				r.Had = &had
				if l, lost := r.resume(had); lost {
					p.Losses = append(p.Losses, l)
				}
			}
			r.To = max(r.To, r.From)
			p.Ranges = append(p.Ranges, r)
		}
	}
	for part, had := range positions {
		switch {
		case seen[part.Topic] == nil || seen[part.Topic][part.Partition]:
		case anotherTopic(had.TopicID, ids[part.Topic]):
			p.Losses = append(p.Losses, Loss{part, Recreated, scan.Range{From: had.Offset, To: had.Offset}})
		default:
			p.Absent = append(p.Absent, part)
		}
	}
	slices.SortFunc(p.Ranges, func(a, b Range) int { return order(a.Partition, b.Partition) })
	slices.SortFunc(p.Losses, func(a, b Loss) int { return order(a.Partition, b.Partition) })
	slices.SortFunc(p.Absent, order)
	return p
}

// anotherTopic reports whether ids, which brokers may not have, are surely of two topics.
func anotherTopic(a, b [16]byte) bool {
	none := [16]byte{}
	return a != none && b != none && a != b
}

func order(a, b store.Partition) int {
	return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}

// resume sets where a partition is read on from, and says what is lost on the way.
func (r *Range) resume(had store.Position) (Loss, bool) {
	switch {
	case anotherTopic(had.TopicID, r.ID):
		return Loss{r.Partition, Recreated, scan.Range{From: had.Offset, To: had.Offset}}, true
	case had.Offset < r.Found.LogStart:
		return Loss{r.Partition, Expired, scan.Range{From: had.Offset, To: r.Found.LogStart}}, true
	case had.Offset > r.Found.HighWatermark:
		r.From = r.Found.HighWatermark
		return Loss{r.Partition, Truncated, scan.Range{From: r.Found.HighWatermark, To: had.Offset}}, true
	default:
		r.From = had.Offset // which may lie beyond the last stable offset
		return Loss{}, false
	}
}

// Led are the ranges whose partition has another leader than when the table's position was reached: its log may have been cut.
func (p *Plan) Led() []Range {
	var out []Range
	for _, r := range p.Ranges {
		if r.Had != nil && r.Had.TopicID == r.ID && r.Had.LeaderEpoch >= 0 && r.Found.LeaderEpoch > r.Had.LeaderEpoch {
			out = append(out, r)
		}
	}
	return out
}

// Cut takes note of where the epochs of positions end in the logs of the present leaders, by topic and partition: a position beyond was of records that
// were cut off, however long the log has become since.
func (p *Plan) Cut(ends map[string]map[int32]int64) {
	for i := range p.Ranges {
		r := &p.Ranges[i]
		end, ok := ends[r.Topic][r.Partition.Partition]
		if !ok || r.Had == nil || end < 0 || end >= r.Had.Offset || r.From != r.Had.Offset {
			continue
		}
		p.Losses = append(p.Losses, Loss{r.Partition, Truncated, scan.Range{From: end, To: r.Had.Offset}})
		r.From = max(end, r.Found.LogStart)
	}
}

// Backlog is the number of offsets to read.
func (p *Plan) Backlog() int64 { return Offsets(p.Ranges) }

// Limit shortens ranges so that they have about n offsets together. Each partition has its share by how far it is behind, and every partition that is
// behind has at least one offset: a small one is never starved by a large one.
func Limit(ranges []Range, n int64) []Range {
	out := slices.Clone(ranges)
	total := int64(0)
	for i := range out {
		total += out[i].Len()
	}
	if n <= 0 || total <= n {
		return out
	}
	for i := range out {
		r := &out[i]
		if r.Len() > 0 {
			share := int64(float64(r.Len()) / float64(total) * float64(n))
			r.To = r.From + min(max(share, 1), r.Len())
		}
	}
	return out
}

// Behind gives what is left of ranges once moves have been made.
func Behind(ranges []Range, moves []store.Move) []Range {
	out := slices.Clone(ranges)
	for i := range out {
		r := &out[i]
		for _, m := range moves {
			if m.Partition == r.Partition && m.To != nil {
				r.Had, r.From = m.To, m.To.Offset
			}
		}
	}
	return out
}

// Offsets is the number of offsets of ranges.
func Offsets(ranges []Range) (n int64) {
	for i := range ranges {
		n += ranges[i].Len()
	}
	return n
}

// Ends gives the offset at which each partition ends.
func (p *Plan) Ends() map[store.Partition]int64 {
	out := make(map[store.Partition]int64, len(p.Ranges))
	for _, r := range p.Ranges {
		out[r.Partition] = r.To
	}
	return out
}

// Reached reports whether positions are at target or beyond. A partition that the target has and positions lack is not.
func Reached(positions map[store.Partition]store.Position, target map[store.Partition]int64) bool {
	for p, end := range target {
		if at, ok := positions[p]; !ok || at.Offset < end {
			return false
		}
	}
	return true
}

// Apply takes moves over into positions.
func Apply(positions map[store.Partition]store.Position, moves []store.Move) map[store.Partition]store.Position {
	out := maps.Clone(positions)
	if out == nil {
		out = map[store.Partition]store.Position{}
	}
	for _, m := range moves {
		if m.To == nil {
			delete(out, m.Partition)
			continue
		}
		out[m.Partition] = *m.To
	}
	return out
}
