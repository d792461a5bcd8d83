package kafka

import (
	"regexp"
	"time"
)

// Isolation is Kafka's isolation.level.
type Isolation int8

// The isolation levels; the zero value is Kafka's wire value of read_uncommitted.
const (
	ReadUncommitted Isolation = 0
	ReadCommitted   Isolation = 1
)

// Selection names what to read. Exactly one of Topics, Pattern and Assign is set.
type Selection struct {
	// Topics must exist.
	Topics []string
	// Pattern selects every topic whose whole name matches; none is no error. Internal topics (names with a leading "__") are left out.
	Pattern *regexp.Regexp
	// Assign names partitions.
	Assign map[string][]int32
	// Missing says what to do about a topic or partition that is named and does not exist.
	Missing Missing
}

// Missing is what to do about a topic that does not exist.
type Missing uint8

// What can be done about a missing topic: fail, leave it out with a warning, or, in a read without an end, wait for it to be created.
const (
	MissingFails Missing = iota
	MissingSkipped
	MissingAwaited
)

// Bound is one end of a read: where it starts (inclusive) or where it ends (exclusive).
type Bound struct {
	Kind BoundKind
	// Offsets by topic and partition, for AtOffsets: -2 earliest, -1 latest. It must name exactly the partitions selected.
	Offsets map[string]map[int32]int64
	// Timestamp in milliseconds since 1970, for AtTimestamp.
	Timestamp int64
	// Timestamps by topic and partition, for AtTimestamps. It must name exactly the partitions selected.
	Timestamps map[string]map[int32]int64
	// NoMatchError makes a partition without a record at or after the timestamp an error; else its end is taken. Only for a start.
	NoMatchError bool
}

// BoundKind says how a Bound is given.
type BoundKind uint8

// The kinds of Bound.
const (
	AtEarliest BoundKind = iota
	AtLatest
	AtOffsets
	AtTimestamp
	AtTimestamps
)

// ReadSpec is a bounded read as the user's arguments describe it: what to read, from where to where.
type ReadSpec struct {
	Select     Selection
	Start, End Bound
	Isolation  Isolation
	// FailOnDataLoss makes a range that the log no longer holds an error; else it is clamped, with a warning and a count.
	FailOnDataLoss bool
	// MinPartitions and MaxRecordsPerPartition are hints for the number of splits; 0 for none.
	MinPartitions          int
	MaxRecordsPerPartition int64
	// MaxTime, when not 0, ends a read so long after it began to run; MaxRecords, when not 0, after so many records of all partitions together. A
	// warning names what was not read.
	MaxTime    time.Duration
	MaxRecords int64
	// TimestampSkew, when not nil, is the user's assertion of how far records may be out of the order of their timestamps: with it, and only
	// with it, a bound of timestamps ends a read early and the newest by timestamp are looked for from the end.
	TimestampSkew *time.Duration
}
