package readkafka

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"millrace/internal/kafka"
	"millrace/internal/sqlerr"
)

// side names the arguments for one end of a read, in their precedence: a timestamp for all partitions, a timestamp each, an offset each.
type side struct {
	timestamp, byTimestamp, offsets string
}

var (
	starting = side{"startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets"}
	ending   = side{"endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets"}
)

// bounds binds both ends of the read.
func (b *binder) bounds() error {
	spec := &b.args.Spec
	spec.Start.Kind, spec.End.Kind = kafka.AtEarliest, kafka.AtLatest
	if b.args.Stream {
		spec.Start.Kind = kafka.AtLatest
	}
	if err := b.bound(starting, &spec.Start); err != nil {
		return err
	}
	if err := b.bound(ending, &spec.End); err != nil {
		return err
	}
	if spec.Start.Kind == kafka.AtTimestamp || spec.Start.Kind == kafka.AtTimestamps {
		spec.Start.NoMatchError = b.String("startingOffsetsByTimestampStrategy") == "error"
	}
	return nil
}

// Times of Kafka are milliseconds. A number between these two is of this century when it is taken for seconds, and of the early seventies
// as it stands.
const secondsFrom, secondsTo = 946_684_800, 100_000_000_000

// bound takes the argument of s that wins. The others are not even parsed, as in Spark, but a warning names them.
func (b *binder) bound(s side, to *kafka.Bound) error {
	var given []string
	for _, name := range []string{s.timestamp, s.byTimestamp, s.offsets} {
		if b.Has(name) {
			given = append(given, name)
		}
	}
	if len(given) == 0 {
		return nil
	}
	for _, loser := range given[1:] {
		b.warn("'%s' is ignored: '%s' takes precedence", b.As(loser), b.As(given[0]))
	}
	switch given[0] {
	case s.timestamp:
		*to = kafka.Bound{Kind: kafka.AtTimestamp, Timestamp: b.Int(s.timestamp)}
		if to.Timestamp >= secondsFrom && to.Timestamp < secondsTo {
			b.warn("'%s' is %d, which in milliseconds is in %d: did you mean %d000?", b.As(s.timestamp), to.Timestamp,
				time.UnixMilli(to.Timestamp).UTC().Year(), to.Timestamp)
		}
		return nil
	case s.byTimestamp:
		times, err := parseTimestamps(b.String(s.byTimestamp))
		if err != nil {
			return b.malformed(s.byTimestamp, "", err)
		}
		*to = kafka.Bound{Kind: kafka.AtTimestamps, Timestamps: times}
		return nil
	}
	return b.offsets(s, to)
}

// offsets binds startingOffsets or endingOffsets: a word or JSON.
func (b *binder) offsets(s side, to *kafka.Bound) error {
	as, isStart := b.As(s.offsets), s == starting
	switch strings.ToLower(strings.TrimSpace(b.String(s.offsets))) {
	case "earliest":
		if !isStart {
			return sqlerr.New(sqlerr.OptionInvalid, "'%s' is 'earliest': ending offset can't be earliest", as).WithHint("leave it out to read to the end, or give an offset for every partition")
		}
		*to = kafka.Bound{Kind: kafka.AtEarliest}
		return nil
	case "latest":
		if isStart && !b.args.Stream {
			return b.latestInBatch("'%s' is 'latest': starting offset can't be latest for batch queries on Kafka", as)
		}
		*to = kafka.Bound{Kind: kafka.AtLatest}
		return nil
	}
	offsets, err := parseOffsets(b.String(s.offsets))
	if err != nil {
		words := "latest or "
		if isStart {
			words = "earliest or "
			if b.args.Stream {
				words = "earliest, latest or "
			}
		}
		return b.malformed(s.offsets, words, err)
	}
	for _, p := range partitionsOf(offsets) {
		switch offset := offsets[p.topic][p.number]; {
		case offset == -1 && isStart && !b.args.Stream:
			return b.latestInBatch("'%s' is latest (-1) for %s: starting offset can't be latest for batch queries on Kafka", as, p)
		case offset == -2 && !isStart:
			return sqlerr.New(sqlerr.OptionInvalid, "'%s' is earliest (-2) for %s: ending offset can't be earliest", as, p).WithHint("-1 is the end; other offsets are exclusive")
		}
	}
	*to = kafka.Bound{Kind: kafka.AtOffsets, Offsets: offsets}
	return nil
}

func (b *binder) latestInBatch(format string, args ...any) error {
	return sqlerr.New(sqlerr.OptionInvalid, format, args...).WithHint("a read from the end to the end is empty; to see records as they arrive, write FROM STREAM read_kafka(…)")
}

// partition is a partition of a topic, in messages "partition 3 of topic 'orders'".
type partition struct {
	topic  string
	number int32
}

func (p partition) String() string {
	return fmt.Sprintf("partition %d of topic '%s'", p.number, p.topic)
}

func partitionsOf[V any](byTopic map[string]map[int32]V) []partition {
	var all []partition
	for _, topic := range slices.Sorted(maps.Keys(byTopic)) {
		for _, number := range slices.Sorted(maps.Keys(byTopic[topic])) {
			all = append(all, partition{topic, number})
		}
	}
	return all
}

// crossCheck finds bounds that contradict each other or the selection, as far as that shows without a broker.
func (b *binder) crossCheck() error {
	start, end := &b.args.Spec.Start, &b.args.Spec.End
	for _, e := range []struct {
		side  side
		bound *kafka.Bound
	}{{starting, start}, {ending, end}} {
		name, partitions := e.side.offsets, partitionsOf(e.bound.Offsets)
		if e.bound.Kind == kafka.AtTimestamps {
			name, partitions = e.side.byTimestamp, partitionsOf(e.bound.Timestamps)
		}
		if partitions != nil {
			if err := b.fitSelection(b.As(name), partitions); err != nil {
				return err
			}
		}
	}
	if b.args.Stream || start.Kind != end.Kind {
		return nil
	}
	switch start.Kind {
	case kafka.AtTimestamp:
		if start.Timestamp > end.Timestamp {
			return sqlerr.New(sqlerr.OptionConflict, "'%s' is %d, later than '%s', which is %d", b.As(starting.timestamp), start.Timestamp, b.As(ending.timestamp), end.Timestamp)
		}
	case kafka.AtTimestamps:
		return ordered(b.As(starting.byTimestamp), b.As(ending.byTimestamp), start.Timestamps, end.Timestamps)
	case kafka.AtOffsets:
		return ordered(b.As(starting.offsets), b.As(ending.offsets), start.Offsets, end.Offsets)
	}
	return nil
}

// fitSelection wants the partitions of a JSON bound to be those that assign names, or their topics to be those that subscribe names. Which partitions a
// topic has, and which topics a pattern matches, only the broker knows.
func (b *binder) fitSelection(as string, partitions []partition) error {
	s := b.args.Spec.Select
	if s.Assign != nil {
		assigned := map[string]map[int32]bool{}
		for topic, numbers := range s.Assign {
			assigned[topic] = map[int32]bool{}
			for _, n := range numbers {
				assigned[topic][n] = true
			}
		}
		return sameSet("'"+as+"'", "'"+b.As("assign")+"'", partitions, partitionsOf(assigned))
	}
	if s.Topics != nil {
		named := make([]string, len(partitions))
		for i, p := range partitions {
			named[i] = p.topic
		}
		return sameSet("'"+as+"'", "'"+b.As("subscribe")+"'", unique(named), s.Topics)
	}
	return nil
}

// ordered wants two JSON bounds to name the same partitions, and no start beyond its end; negative offsets are resolved by the broker.
func ordered(startAs, endAs string, start, end map[string]map[int32]int64) error {
	if err := sameSet("'"+startAs+"'", "'"+endAs+"'", partitionsOf(start), partitionsOf(end)); err != nil {
		return err
	}
	for _, p := range partitionsOf(start) {
		if from, to := start[p.topic][p.number], end[p.topic][p.number]; from >= 0 && to >= 0 && from > to {
			return sqlerr.New(sqlerr.KafkaOffsets, "'%s' is %d for %s, beyond '%s', which is %d", startAs, from, p, endAs, to)
		}
	}
	return nil
}

// sameSet wants a and b, which hold nothing twice, to hold the same.
func sameSet[T comparable](aName, bName string, a, b []T) error {
	const hint = "every partition that is read needs an entry, and no other may have one"
	if m := without(b, a); m != nil {
		return sqlerr.New(sqlerr.KafkaOffsets, "%s leaves out what %s names: %s", aName, bName, few(m)).WithHint(hint)
	}
	if m := without(a, b); m != nil {
		return sqlerr.New(sqlerr.KafkaOffsets, "%s names what %s does not: %s", aName, bName, few(m)).WithHint(hint)
	}
	return nil
}

// without gives what list holds and other does not.
func without[T comparable](list, other []T) (rest []T) {
	in := make(map[T]bool, len(other))
	for _, x := range other {
		in[x] = true
	}
	for _, x := range list {
		if !in[x] {
			rest = append(rest, x)
		}
	}
	return rest
}

// few names the first of list and counts the others.
func few[T any](list []T) string {
	const shown = 5
	var parts []string
	for _, x := range list[:min(shown, len(list))] {
		parts = append(parts, fmt.Sprint(x))
	}
	if more := len(list) - shown; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}
