package kafka

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"millrace/internal/sqlerr"
)

// ProducerOptions say how records are written. The zero value is a producer that waits for all in-sync replicas and writes nothing twice.
type ProducerOptions struct {
	// Acks is whose acknowledgement a record needs.
	Acks Acks
	// Unsafe turns idempotence off: a retry may then write a record twice. Acks other than AcksAll imply it.
	Unsafe bool
	// Compression is none, gzip, snappy, lz4 or zstd; empty for lz4.
	Compression string
	// Linger is how long a batch that is not full waits for more records.
	Linger time.Duration
	// DeliveryTimeout is after how long without any acknowledgement, while records wait for one, the producer gives up; 0 for two minutes.
	DeliveryTimeout time.Duration
	// BatchBytes bounds a record batch before compression, and so a record; 0 for Kafka's default of a megabyte.
	BatchBytes int32
	// BufferBytes bounds what waits to be acknowledged; a Send beyond it waits. 0 for 32 MiB.
	BufferBytes int64
	// Partitioner chooses the partitions of records that name none.
	Partitioner Partitioner
	// TransactionalID makes the producer transactional: records are sent between Begin and Commit or Abort, and a later producer with the same id ends what
	// this one has left open, and fences it. TransactionTimeout is after how long the broker aborts a transaction that nobody ends, 0 for a minute.
	TransactionalID    string
	TransactionTimeout time.Duration
}

// Acks is Kafka's acks.
type Acks uint8

// The levels of Acks.
const (
	AcksAll Acks = iota
	AcksLeader
	AcksNone
)

// Partitioner is a way to choose partitions.
type Partitioner uint8

// The partitioners.
const (
	// PartitionByKey hashes keys as Java's clients do (murmur2); records without a key fill one partition after the other, batch by batch.
	PartitionByKey Partitioner = iota
	// PartitionSticky fills one partition after the other, batch by batch, whatever the keys.
	PartitionSticky
	// PartitionRoundRobin takes the partitions in turn, record by record.
	PartitionRoundRobin
)

// AnyPartition is the partition of a record that names none.
const AnyPartition = -1

// The defaults of ProducerOptions.
const (
	defaultDeliveryTimeout    = 2 * time.Minute
	defaultProducerBatch      = 1_000_012
	defaultProducerBuffer     = 32 << 20
	defaultTransactionTimeout = time.Minute
	// recordOverhead is about what a record that waits takes besides its bytes.
	recordOverhead = 256
)

func (o ProducerOptions) withDefaults() ProducerOptions {
	if o.DeliveryTimeout <= 0 {
		o.DeliveryTimeout = defaultDeliveryTimeout
	}
	if o.BatchBytes <= 0 {
		o.BatchBytes = defaultProducerBatch
	}
	if o.BufferBytes <= 0 {
		o.BufferBytes = defaultProducerBuffer
	}
	if o.TransactionTimeout <= 0 {
		o.TransactionTimeout = defaultTransactionTimeout
	}
	return o
}

// compressions by name.
var compressions = map[string]kgo.CompressionCodec{
	"": kgo.Lz4Compression(), "none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// client gives the options of the franz-go client.
func (o ProducerOptions) client() ([]kgo.Opt, error) {
	codec, ok := compressions[o.Compression]
	if !ok {
		return nil, sqlerr.New(sqlerr.OptionInvalid, "compression '%s' is not known", o.Compression)
	}
	opts := []kgo.Opt{
		kgo.ProducerBatchCompression(codec),
		kgo.ProducerLinger(o.Linger),
		kgo.ProducerBatchMaxBytes(o.BatchBytes),
		// Half for the bytes of records, half for what is kept beside each: many small records must not take more than the buffer either.
		kgo.MaxBufferedBytes(int(max(o.BufferBytes/2, int64(o.BatchBytes)))),
		kgo.MaxBufferedRecords(int(max(o.BufferBytes/2/recordOverhead, 1))),
		kgo.RecordPartitioner(partitioners{o.inner()}),
		kgo.MetadataMaxAge(time.Minute), // partitions that were added get their share
		// A topic that is gone is noticed within two seconds: it is looked for so often, so many times.
		kgo.MetadataMinAge(producerLook),
		kgo.UnknownTopicRetries(4),
		kgo.MaxVersions(producerVersions()),
	}
	switch o.Acks {
	case AcksLeader:
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()))
	case AcksNone:
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()))
	}
	if o.Unsafe || o.Acks != AcksAll {
		opts = append(opts, kgo.DisableIdempotentWrite())
	}
	if o.TransactionalID != "" {
		opts = append(opts, kgo.TransactionalID(o.TransactionalID), kgo.TransactionTimeout(o.TransactionTimeout))
	}
	return opts, nil
}

// producerLook is how long a producer that looks for a topic or a leader waits before it looks again.
const producerLook = 300 * time.Millisecond

// producerVersions are the versions of requests that producers speak: later ones of those that marks need name topics by ids, which they do not know.
func producerVersions() *kversion.Versions {
	v := kversion.Stable()
	v.SetMaxKeyVersion(int16(kmsg.OffsetFetch), 9)
	v.SetMaxKeyVersion(int16(kmsg.TxnOffsetCommit), 5)
	return v
}

// stickyBytes is after how many bytes records without a key go on to another partition, as in Java's clients, where it is the size of a batch.
const stickyBytes = 64 << 10

func (o ProducerOptions) inner() kgo.Partitioner {
	switch o.Partitioner {
	case PartitionSticky:
		return kgo.UniformBytesPartitioner(stickyBytes, false, false, nil)
	case PartitionRoundRobin:
		return kgo.RoundRobinPartitioner()
	default:
		return kgo.UniformBytesPartitioner(stickyBytes, false, true, nil)
	}
}

// partitioners gives a record the partition that it names, else the one that another partitioner chooses.
type partitioners struct{ inner kgo.Partitioner }

// ForTopic implements kgo.Partitioner.
func (p partitioners) ForTopic(topic string) kgo.TopicPartitioner {
	return partitioner{p.inner.ForTopic(topic)}
}

type partitioner struct{ inner kgo.TopicPartitioner }

// RequiresConsistency implements kgo.TopicPartitioner: whether a record may go nowhere else while its partition has no leader.
func (p partitioner) RequiresConsistency(r *kgo.Record) bool {
	return r.Partition >= 0 || p.inner.RequiresConsistency(r)
}

// Partition implements kgo.TopicPartitioner. A partition that does not exist is an error of the client.
func (p partitioner) Partition(r *kgo.Record, n int) int {
	if r.Partition >= 0 {
		return int(r.Partition)
	}
	return p.inner.Partition(r, n)
}

// PartitionByBackup implements kgo.TopicBackupPartitioner, which takes the place of Partition: the inner one may be of either sort.
func (p partitioner) PartitionByBackup(r *kgo.Record, n int, backup kgo.TopicBackupIter) int {
	if inner, ok := p.inner.(kgo.TopicBackupPartitioner); ok && r.Partition < 0 {
		return inner.PartitionByBackup(r, n, backup)
	}
	return p.Partition(r, n)
}
