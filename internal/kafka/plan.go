package kafka

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"millrace/internal/scan"
	"millrace/internal/sqlerr"
)

// Plan fixes a Snapshot and plans one scan of it. Statements that read the same selection several times take the Snapshot once and plan on it.
func (c *Cluster) Plan(ctx context.Context, spec ReadSpec, req scan.Request) (scan.Source, error) {
	s, err := c.Snapshot(ctx, spec.Select)
	if err != nil {
		return nil, err
	}
	return s.Plan(ctx, spec, req)
}

// extent is the part of a partition that a scan reads, as it is being resolved.
type extent struct {
	topic *TopicState
	part  *PartitionState
	scan.Range
	// earliest: the user asked for what the log holds, so retention that takes some of it away before it was read is no loss.
	earliest bool
	// open: the end is that of the log, not one that the user named.
	open bool
}

// planner resolves a ReadSpec on a Snapshot.
type planner struct {
	*Snapshot
	spec     ReadSpec
	extents  []extent
	warnings []string
	// peeked is what was read to find the extents.
	peeked scan.Stats
}

// Plan resolves start and end of every partition and cuts them into splits. The error is one of the user's (offsets that do not fit, data loss) or
// that of a look-up of offsets by time; without timestamps nothing is asked of the cluster.
func (s *Snapshot) Plan(ctx context.Context, spec ReadSpec, req scan.Request) (scan.Source, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cluster.cfg.ConnectTimeout)
	defer cancel()
	p := &planner{Snapshot: s, spec: spec}
	if len(s.Missing) > 0 {
		p.warnings = append(p.warnings, skipped(s.Missing))
	} else if len(s.Topics) == 0 {
		p.warnings = append(p.warnings, "no topic matches: there is nothing to read")
	}
	for _, b := range []struct {
		bound Bound
		name  string
	}{{spec.Start, "starting"}, {spec.End, "ending"}} {
		if err := p.sameNames(b.bound, b.name); err != nil {
			return nil, err
		}
	}
	for ti := range s.Topics {
		t := &s.Topics[ti]
		for pi := range t.Partitions {
			p.extents = append(p.extents, extent{topic: t, part: &t.Partitions[pi]})
		}
	}
	if err := p.ends(ctx); err != nil {
		return nil, err
	}
	if err := p.starts(ctx); err != nil {
		return nil, err
	}
	for i := range p.extents {
		if err := p.check(&p.extents[i]); err != nil {
			return nil, err
		}
	}
	p.heldBack()
	p.prune(req.Bounds)
	if err := p.since(ctx, req.Bounds); err != nil {
		return nil, err
	}
	if err := p.until(ctx, req.Bounds); err != nil {
		return nil, err
	}
	if p.backwards(req) {
		return newBackward(p, req), nil
	}
	return newSource(p, req), nil
}

// skipped is the warning that names what was selected and does not exist.
func skipped(missing []string) string {
	return fmt.Sprintf("%s: no such topic or partition, left out as 'missingTopic' => 'skip' says", some(missing))
}

// sameNames checks that a bound given partition by partition names exactly the partitions selected.
func (p *planner) sameNames(b Bound, name string) error {
	var named map[string]map[int32]int64
	switch b.Kind {
	case AtOffsets:
		named = b.Offsets
		name += "Offsets"
	case AtTimestamps:
		named = b.Timestamps
		name += "OffsetsByTimestamp"
	default:
		return nil
	}
	var missing, extra []string
	selected := map[string]map[int32]bool{}
	for _, t := range p.Topics {
		selected[t.Name] = map[int32]bool{}
		for _, s := range t.Partitions {
			selected[t.Name][s.Partition] = true
			if _, ok := named[t.Name][s.Partition]; !ok {
				missing = append(missing, fmt.Sprintf("%s/%d", t.Name, s.Partition))
			}
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(named)) {
		for _, n := range slices.Sorted(maps.Keys(named[topic])) {
			if !selected[topic][n] && !p.left(topic, n) {
				extra = append(extra, fmt.Sprintf("%s/%d", topic, n))
			}
		}
	}
	switch {
	case len(missing) > 0:
		err := sqlerr.New(sqlerr.KafkaOffsets, "'%s' leaves out %s; it must name every partition that is read", name, some(missing))
		if len(extra) > 0 {
			err = err.WithDetail("it names %s, which is not among them", some(extra))
		}
		switch {
		case b.Kind == AtTimestamps:
			return err
		case strings.HasPrefix(name, "starting"): // a bounded read cannot start at the latest
			return err.WithHint("Use -2 for the earliest offset.")
		default:
			return err.WithHint("Use -1 for the latest offset.")
		}
	case len(extra) > 0:
		return sqlerr.New(sqlerr.KafkaOffsets, "'%s' names %s, which is not among the partitions that are read", name, some(extra))
	}
	return nil
}

// left reports whether a partition was selected, does not exist, and was left out for that.
func (s *Snapshot) left(topic string, partition int32) bool {
	return slices.Contains(s.Missing, topic) || len(s.Missing) > 0 && slices.Contains(s.Missing, fmt.Sprintf("%s/%d", topic, partition))
}

// some lists the first few of names.
func some(names []string) string {
	const most = 5
	out := ""
	for i, n := range names {
		switch {
		case i == most:
			return fmt.Sprintf("%s and %d more", out, len(names)-most)
		case i > 0:
			out += ", "
		}
		out += n
	}
	return out
}

func (p *planner) ends(ctx context.Context) error {
	b := p.spec.End
	for i := range p.extents {
		e := &p.extents[i]
		e.To, e.open = e.part.End(p.spec.Isolation), true
		switch b.Kind {
		case AtEarliest:
			e.To, e.open = e.part.LogStart, false
		case AtOffsets:
			switch o := b.Offsets[e.topic.Name][e.part.Partition]; {
			case o == askEarliest:
				e.To, e.open = e.part.LogStart, false
			case o < askEarliest:
				return badOffset("endingOffsets", e, o)
			case o >= 0:
				if o > e.part.HighWatermark {
					if err := p.lost(e, scan.Range{From: e.part.HighWatermark, To: o}, "ending offset %d lies beyond the end of the log, %d", o, e.part.HighWatermark); err != nil {
						return err
					}
				}
				if o < e.To { // else it is the end of the log, or held back by an open transaction
					e.To, e.open = o, false
				}
			}
		}
	}
	return p.byTime(ctx, b, func(e *extent, at listed, _ int64) error {
		if at.offset >= 0 && at.offset < e.To {
			e.To, e.open = at.offset, false
		}
		return nil
	})
}

func (p *planner) starts(ctx context.Context) error {
	b := p.spec.Start
	for i := range p.extents {
		e := &p.extents[i]
		switch b.Kind {
		case AtEarliest:
			e.From, e.earliest = e.part.LogStart, true
		case AtLatest:
			e.From = e.part.End(p.spec.Isolation)
		case AtOffsets:
			switch o := b.Offsets[e.topic.Name][e.part.Partition]; {
			case o == askEarliest:
				e.From, e.earliest = e.part.LogStart, true
			case o == askLatest:
				e.From = e.part.End(p.spec.Isolation)
			case o < askEarliest:
				return badOffset("startingOffsets", e, o)
			default:
				e.From = o
			}
		}
	}
	return p.byTime(ctx, b, func(e *extent, at listed, asked int64) error {
		if at.offset < 0 && b.NoMatchError {
			return sqlerr.New(sqlerr.KafkaOffsets, "no record of partition %d of topic '%s' has a timestamp of %d or later", e.part.Partition, e.topic.Name, asked).
				WithHint("With 'startingOffsetsByTimestampStrategy' => 'latest' such a partition is read from its end.")
		}
		if e.From = e.To; at.offset >= 0 {
			e.From = min(at.offset, e.To)
		}
		return nil
	})
}

func badOffset(option string, e *extent, o int64) error {
	return sqlerr.New(sqlerr.KafkaOffsets, "'%s' gives %d for partition %d of topic '%s'; allowed are -2 (earliest), -1 (latest) and offsets from 0",
		option, o, e.part.Partition, e.topic.Name)
}

// byTime looks up the offsets of a bound given by timestamps. A time before 1970 is that of any record: negative ones mean something else to a broker.
func (p *planner) byTime(ctx context.Context, b Bound, take func(e *extent, at listed, asked int64) error) error {
	if b.Kind != AtTimestamp && b.Kind != AtTimestamps || len(p.extents) == 0 {
		return nil
	}
	asked := func(t *TopicState, s *PartitionState) int64 {
		if b.Kind == AtTimestamp {
			return max(b.Timestamp, 0)
		}
		return max(b.Timestamps[t.Name][s.Partition], 0)
	}
	byPart := map[*PartitionState]*extent{}
	for i := range p.extents {
		byPart[p.extents[i].part] = &p.extents[i]
	}
	ask := func(t *TopicState, s *PartitionState) (int64, bool) { return asked(t, s), true }
	return p.lookUp(ctx, ask, func(t *target, at listed) error { return take(byPart[t.part], at, asked(t.topic, t.part)) })
}

func (p *planner) lookUp(ctx context.Context, ask func(*TopicState, *PartitionState) (int64, bool), take func(*target, listed) error) error {
	cl, err := p.cluster.group.controlClient()
	if err != nil {
		return err
	}
	defer p.cluster.group.release(cl)
	if err := cl.connect(ctx, p.cluster.cfg, true); err != nil {
		return err
	}
	return p.list(p.spec.Isolation, ask).run(ctx, cl, take)
}

// check brings start and end in order, or says why they cannot be.
func (p *planner) check(e *extent) error {
	if e.From > e.To && !e.open && !e.earliest {
		return sqlerr.New(sqlerr.KafkaOffsets, "partition %d of topic '%s' would start at offset %d, after its end at %d", e.part.Partition, e.topic.Name, e.From, e.To)
	}
	switch {
	case e.From > e.part.HighWatermark:
		if err := p.lost(e, scan.Range{From: e.part.HighWatermark, To: e.From}, "starting offset %d lies beyond the end of the log, %d", e.From, e.part.HighWatermark); err != nil {
			return err
		}
	case !e.open && e.To < e.part.LogStart:
		gone := scan.Range{From: e.From, To: e.To}
		if e.earliest {
			gone.From = 0
		}
		if err := p.lost(e, gone, "the range ends at offset %d, and the log starts at %d", e.To, e.part.LogStart); err != nil {
			return err
		}
	case e.From < e.part.LogStart:
		if err := p.lost(e, scan.Range{From: e.From, To: min(e.part.LogStart, e.To)}, "starting offset %d lies before the log's first, %d", e.From, e.part.LogStart); err != nil {
			return err
		}
	}
	e.From = max(e.From, e.part.LogStart)
	e.To = max(e.To, e.From)
	if limit := e.part.End(p.spec.Isolation); e.To > limit {
		e.To = limit
	}
	e.From = min(e.From, e.To)
	return nil
}

// lost reports that r of a partition cannot be read: as an error, or as a warning with the number of offsets.
func (p *planner) lost(e *extent, r scan.Range, format string, args ...any) error {
	why := fmt.Sprintf(format, args...)
	if p.spec.FailOnDataLoss {
		return dataLoss(e.topic.Name, e.part.Partition, r, why)
	}
	p.warnings = append(p.warnings, lossWarning(e.topic.Name, e.part.Partition, r, why))
	return nil
}

func dataLoss(topic string, partition int32, r scan.Range, why string) error {
	return sqlerr.New(sqlerr.KafkaDataLoss, "offsets %v of partition %d of topic '%s' cannot be read: %s", r, partition, topic, why).
		WithHint("With 'failOnDataLoss' => false the statement reads what is left and warns.")
}

func lossWarning(topic string, partition int32, r scan.Range, why string) string {
	return fmt.Sprintf("%d offsets, %v of partition %d of topic '%s', cannot be read: %s", r.To-r.From, r, partition, topic, why)
}

// heldBack warns of records that an open transaction hides from read_committed.
func (p *planner) heldBack() {
	var offsets int64
	var where []string
	for i := range p.extents {
		e := &p.extents[i]
		if n := e.part.HighWatermark - e.part.LastStable; p.spec.Isolation == ReadCommitted && e.open && n > 0 {
			offsets += n
			where = append(where, fmt.Sprintf("%s/%d", e.topic.Name, e.part.Partition))
		}
	}
	if offsets > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("%d offsets at the end of %s are held back by open transactions", offsets, some(where)))
	}
}

// prune leaves what the predicates can want.
func (p *planner) prune(b scan.Bounds) {
	var out []extent
	for _, e := range p.extents {
		for _, r := range b.OffsetsOf(e.topic.Name, e.part.Partition) {
			part := e
			if part.Range = e.Intersect(r); !part.Empty() {
				out = append(out, part)
			}
		}
	}
	p.extents = out
}

// since moves starts to the first record at or after the predicate's lower bound of timestamps. It is looked up after the ends are fixed, so that no
// record below the end is left out: none found means that none below the end qualifies.
func (p *planner) since(ctx context.Context, b scan.Bounds) error {
	if !b.HasMinTimestamp || b.MinTimestamp < 0 || len(p.extents) == 0 {
		return nil
	}
	wanted := map[*PartitionState]bool{}
	for i := range p.extents {
		wanted[p.extents[i].part] = true
	}
	found := map[*PartitionState]listed{}
	ask := func(_ *TopicState, s *PartitionState) (int64, bool) { return b.MinTimestamp, wanted[s] }
	if err := p.lookUp(ctx, ask, func(t *target, at listed) error { found[t.part] = at; return nil }); err != nil {
		return err
	}
	unsure := p.unsure(ctx, found, b.MinTimestamp)
	p.extents = slices.DeleteFunc(p.extents, func(e extent) bool {
		at := found[e.part]
		return !at.noTimestamps && !unsure[e.part] && (at.offset < 0 || at.offset >= e.To)
	})
	for i := range p.extents {
		e := &p.extents[i]
		if at := found[e.part]; !at.noTimestamps && !unsure[e.part] {
			e.From = max(e.From, at.offset)
		}
	}
	return nil
}
