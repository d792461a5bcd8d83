// Package scan is the contract between what reads records and what computes on them.
//
// A Request says what a query wants of a topic; a Source is that request bound to a cluster, with its splits fixed. Run reads
// the splits on several lanes at once and pushes column batches into one Sink per lane:
//
//	planner ── Request ──▶ Source (internal/kafka)
//	                          │ Run: lanes × (fetch → decompress → parse)
//	                          ▼
//	                        Sink (internal/ops)  filter → project → aggregate, one per lane
//
// Pushing, not pulling: a lane owns its batch, fills it, pushes it down and may reuse it when Push returns. No batch crosses a
// goroutine unless a Sink copies it.
package scan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"millrace/internal/column"
	"millrace/internal/memory"
)

// Field is a column that a record offers.
type Field uint8

// The fields of a record. KeyLength and ValueLength are the lengths in bytes (NULL for a NULL key or value): a scan that needs only
// these never touches the bytes. KeySchemaID and ValueSchemaID are the bytes of the header in which serializers of a schema registry put what names the schema of
// the key or value, NULL where there is none.
const (
	Key Field = iota
	Value
	Topic
	Partition
	Offset
	Timestamp
	TimestampType
	Headers
	KeyLength
	ValueLength
	KeySchemaID
	ValueSchemaID
	numFields
)

var fields = [numFields]column.Field{
	Key:           {Name: "key", Type: column.Type{Kind: column.Bytes}, Nullable: true},
	Value:         {Name: "value", Type: column.Type{Kind: column.Bytes}, Nullable: true},
	Topic:         {Name: "topic", Type: column.Type{Kind: column.Text}},
	Partition:     {Name: "partition", Type: column.Type{Kind: column.Int32}},
	Offset:        {Name: "offset", Type: column.Type{Kind: column.Int64}},
	Timestamp:     {Name: "timestamp", Type: column.Type{Kind: column.Timestamp, Scale: 3}, Nullable: true},
	TimestampType: {Name: "timestampType", Type: column.Type{Kind: column.Int32}},
	Headers:       {Name: "headers", Type: column.Type{Kind: column.JSON}, Nullable: true},
	KeyLength:     {Name: "length(key)", Type: column.Type{Kind: column.Int64}, Nullable: true},
	ValueLength:   {Name: "length(value)", Type: column.Type{Kind: column.Int64}, Nullable: true},
	KeySchemaID:   {Name: "header(__key_schema_id)", Type: column.Type{Kind: column.Bytes}, Nullable: true},
	ValueSchemaID: {Name: "header(__value_schema_id)", Type: column.Type{Kind: column.Bytes}, Nullable: true},
}

// Column describes the vector that f fills.
func (f Field) Column() column.Field { return fields[f] }

func (f Field) String() string { return fields[f].Name }

// Range is the half-open interval [From, To).
type Range struct{ From, To int64 }

// Full is the range of all offsets.
var Full = Range{0, math.MaxInt64}

// Empty reports whether r holds nothing.
func (r Range) Empty() bool { return r.From >= r.To }

// Intersect gives the part that r and o share.
func (r Range) Intersect(o Range) Range { return Range{max(r.From, o.From), min(r.To, o.To)} }

func (r Range) String() string {
	if r.To == math.MaxInt64 {
		return fmt.Sprintf("[%d, ∞)", r.From)
	}
	return fmt.Sprintf("[%d, %d)", r.From, r.To)
}

// TextRange is the texts from From on that are less than To, byte by byte; an empty To is no end.
type TextRange struct{ From, To string }

// Contains reports whether r holds s.
func (r TextRange) Contains(s string) bool { return s >= r.From && (r.To == "" || s < r.To) }

// Bounds are the predicates that a source applies before it reads: a conjunction of one set per dimension. All but those of timestamps
// and Boxes are exact (no record outside is ever delivered). nil means unbounded, an empty non-nil slice means nothing qualifies.
type Bounds struct {
	// Topics, when not nil, are the topics that qualify.
	Topics []string
	// TopicRanges, when not nil, are ascending, disjoint ranges of names that qualify; with Topics, both must hold.
	TopicRanges []TextRange
	// Partitions and Offsets are ascending, disjoint ranges.
	Partitions, Offsets []Range
	// MinTimestamp, when HasMinTimestamp, is a lower bound in milliseconds: records below it may be left out, and may still be
	// delivered. The caller filters exactly.
	MinTimestamp    int64
	HasMinTimestamp bool
	// MaxTimestamp, when HasMaxTimestamp, is an exclusive upper bound in the same way. Records are not in the order of their timestamps, so
	// it ends nothing early, unless the user has asserted how far they are out of it.
	MaxTimestamp    int64
	HasMaxTimestamp bool
	// Boxes, when there are any, hold every record that qualifies: records outside may be left out, and may still be delivered.
	Boxes []Box
}

// Box is a product of sets of topics, partitions and offsets.
type Box struct {
	Topics              []TextRange
	Partitions, Offsets []Range
}

// HoldsTopic reports whether records of a topic may qualify.
func (b *Bounds) HoldsTopic(name string) bool {
	if b.Topics != nil && !slices.Contains(b.Topics, name) {
		return false
	}
	return b.TopicRanges == nil || slices.ContainsFunc(b.TopicRanges, func(r TextRange) bool { return r.Contains(name) })
}

// OffsetsOf gives the ranges of offsets of a partition in which records may qualify, as far as b bounds topics, partitions and offsets: ascending and
// disjoint, none when no record does.
func (b *Bounds) OffsetsOf(topic string, partition int32) []Range {
	within := func(rs []Range) bool {
		return rs == nil || slices.ContainsFunc(rs, func(r Range) bool { return r.From <= int64(partition) && int64(partition) < r.To })
	}
	if !b.HoldsTopic(topic) || !within(b.Partitions) {
		return nil
	}
	ranges := b.Offsets
	if ranges == nil {
		ranges = []Range{Full}
	}
	if len(b.Boxes) == 0 {
		return ranges
	}
	var boxed []Range
	for _, x := range b.Boxes {
		if !within(x.Partitions) || x.Topics != nil && !slices.ContainsFunc(x.Topics, func(r TextRange) bool { return r.Contains(topic) }) {
			continue
		}
		of := x.Offsets
		if of == nil {
			of = []Range{Full}
		}
		for _, r := range of {
			for _, s := range ranges {
				if both := r.Intersect(s); !both.Empty() {
					boxed = append(boxed, both)
				}
			}
		}
	}
	slices.SortFunc(boxed, func(r, s Range) int { return cmp.Compare(r.From, s.From) })
	out := boxed[:0]
	for _, r := range boxed {
		if n := len(out); n > 0 && r.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, r.To)
			continue
		}
		out = append(out, r)
	}
	return out
}

// Newest asks a source to read backwards, from the end of each partition in growing windows, because the caller keeps only the Rows rows with
// the greatest By. The source stops when no record that it has not read can be among them; it asks its sinks what they have, see Keeper.
type Newest struct {
	// By is Offset or Timestamp.
	By   Field
	Rows int64
}

// Keeper is a Sink of a scan that asks for the newest rows.
type Keeper interface {
	Sink
	// Kept appends the values of Newest.By of the rows that the Sink keeps so far, in any order, math.MinInt64 for NULL. The source calls it
	// while the lane of the Sink does not push.
	Kept(values []int64) []int64
}

// Coder is a Sink that may do with codes.
type Coder interface {
	Sink
	// TakesCodes reports whether vectors of the Sink's batches may be column.Vector.Coded, without views.
	TakesCodes() bool
}

// FloatOrder is a number that is ordered as f is, so that a Keeper can tell what it has of a column of doubles. Both zeros are one; NaN, which has no place in an
// order of numbers, comes last.
func FloatOrder(f float64) int64 {
	switch {
	case f != f:
		return math.MaxInt64
	case f == 0:
		return 0
	}
	x := int64(math.Float64bits(f))
	return x ^ (x >> 63 & math.MaxInt64)
}

// Request is what a query wants of a source.
type Request struct {
	// Fields to fill, in the order of the batch's columns. Empty means that only the number of rows matters.
	Fields []Field
	Bounds Bounds
	// Limit is the number of rows after which the caller will stop, -1 for none. It is a hint for sizing fetches: the source may
	// deliver more, and the Sink must end the scan with Stop.
	Limit int64
	// Ordered asks for ascending offsets within a partition in each lane: a partition is then read by one lane, first split first.
	Ordered bool
	// Lanes bounds the number of lanes; 0 lets the source choose.
	Lanes int
	// Memory is what the source takes its buffers from, nil for no bound. What one answer takes it may always have; what it reads ahead it may not.
	Memory *memory.Budget
	// Faults is where those who decode the records will count bad ones, nil for nowhere.
	Faults *Faults
	// Newest, when not nil, allows reading backwards. A source that cannot may deliver everything.
	Newest *Newest
	// Extremes says that of the fields Offset and Timestamp only the extremes matter: the least and the greatest offset, and the greatest
	// timestamp, of the records of a batch. Where a batch's header tells them, its records may be delivered with other values of these
	// fields that have the same extremes.
	Extremes bool
}

// Sink takes the batches of one lane. All calls come from that lane's goroutine.
//
// Order of calls: Push any number of times, then Finish once, unless a Push failed or the scan was cancelled. After the last of these
// the source never touches the Sink again; whatever a Sink holds is released by whoever created it.
type Sink interface {
	// Push takes a batch, at least one row. The batch is valid until Push returns. Returning Stop ends the whole scan without
	// an error: other lanes are cancelled, Finish is not called. Any other error ends the scan with it.
	Push(ctx context.Context, b *column.Batch) error
	// Finish is called when the lane has delivered everything.
	Finish(ctx context.Context) error
}

// Follower is a Sink of a read without an end that is told how far each partition was read: a gap without records, left by compaction or by the
// markers of transactions, ends at no record's offset.
type Follower interface {
	Sink
	// Passed says how far partitions were read: everything below Next that is wanted has been pushed. It is called by the goroutine that pushes, before it waits for
	// more, also when no partition is to be named: what was pushed since the last call is then part of a step that goes on. Values of a partition ascend. The
	// slice is valid until it returns.
	Passed(reached []Reached)
}

// Reached is how far a partition was read.
type Reached struct {
	Topic     string
	Partition int32
	// Next is the offset after the last that was read or need not be read.
	Next int64
	// LeaderEpoch is one of a leader that has the records below Next, and no older than the last of them; -1 when brokers do not tell.
	LeaderEpoch int32
}

// Stop is returned by Sink.Push when no more rows are wanted.
var Stop = errors.New("scan: no more rows wanted")

// Source is a request bound to a cluster: what to read is fixed, nothing is read yet.
type Source interface {
	// Splits lists what Run will read, in order. The slice belongs to the source.
	Splits() []Split
	// Run reads all splits and returns when every lane has ended: nil when all was delivered or a Sink said Stop, ctx's cause when
	// it was cancelled, else the first error. It may be called once. newSink is called once per lane, before the lane starts,
	// from Run's goroutine.
	Run(ctx context.Context, newSink func(lane int) (Sink, error)) error
	// Stats may be called at any time from any goroutine.
	Stats() Stats
	// Warnings lists what the user should know (rows removed by retention, offsets held back by open transactions). Complete once
	// Run has returned.
	Warnings() []string
	// Close releases connections. It is safe to call twice and after a Run that failed; it must not be called during Run.
	Close()
}

// Split is a contiguous range of one partition.
type Split struct {
	Topic     string
	Partition int32
	Range     Range
}

func (s Split) String() string { return fmt.Sprintf("%s/%d %v", s.Topic, s.Partition, s.Range) }

// Stats counts what a scan has done so far.
type Stats struct {
	Splits, SplitsDone int64
	// Offsets is the sum of the lengths of all splits, OffsetsDone how many of them are passed: the progress of the scan. Offsets
	// are not records (compaction, transaction markers).
	Offsets, OffsetsDone int64
	// Records delivered, batches read, batches skipped by their header (timestamp, aborted, control) and batches counted by their
	// header alone.
	Records, Batches, BatchesSkipped, BatchesCounted int64
	// BytesFetched came over the network as record batches; BytesDecoded is what they decompressed to.
	BytesFetched, BytesDecoded int64
	Requests, Retries          int64
	// MemoryBytes is about what the scan holds now to read ahead: answers of brokers and decompressed batches.
	MemoryBytes int64
	// RedistributeLanes is the number of lanes that compute what others read, 0 where each lane computes what it reads.
	RedistributeLanes int64
}

// Add adds up what two parts of a scan have done.
func (s Stats) Add(o Stats) Stats {
	return Stats{
		Splits: s.Splits + o.Splits, SplitsDone: s.SplitsDone + o.SplitsDone,
		Offsets: s.Offsets + o.Offsets, OffsetsDone: s.OffsetsDone + o.OffsetsDone,
		Records: s.Records + o.Records, Batches: s.Batches + o.Batches, BatchesSkipped: s.BatchesSkipped + o.BatchesSkipped, BatchesCounted: s.BatchesCounted + o.BatchesCounted,
		BytesFetched: s.BytesFetched + o.BytesFetched, BytesDecoded: s.BytesDecoded + o.BytesDecoded,
		Requests: s.Requests + o.Requests, Retries: s.Retries + o.Retries, MemoryBytes: s.MemoryBytes + o.MemoryBytes,
		RedistributeLanes: max(s.RedistributeLanes, o.RedistributeLanes),
	}
}

// Fetches is the part of s that says what was asked of brokers.
func (s Stats) Fetches() Stats {
	return Stats{BytesFetched: s.BytesFetched, Requests: s.Requests, Retries: s.Retries}
}
