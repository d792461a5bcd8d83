package writekafka

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"millrace/functions/readkafka"
	"millrace/internal/kafka"
	"millrace/internal/option"
	"millrace/internal/sqlerr"
)

// Args are the arguments of one call, checked as far as that is possible without asking a broker.
type Args struct {
	Cluster  kafka.Config
	Producer kafka.ProducerOptions
	// Topic is empty for the column of that name.
	Topic          string
	IncludeHeaders bool
	// ErrorTopic is where rows go that cannot be written, empty for an error.
	ErrorTopic string
	Format     Format
	// ExactlyOnce writes in transactions.
	ExactlyOnce bool
	// Listed says that the statement has a list that names the columns, Values that the rows are VALUES: for hints.
	Listed, Values bool
	// Warnings say what was given and changes nothing.
	Warnings []string

	settings []option.Setting
	// timed and named are set when the call gives a time-out for transactions, and an id.
	timed, named bool
	// buffered is set when it gives the size of the buffer.
	buffered bool
}

// Bind turns the pairs of a call, in their order, into Args. Errors are *sqlerr.Error and hold no secret.
func Bind(pairs []option.Pair, env readkafka.ArgsEnv) (*Args, error) {
	v, config, err := readkafka.BindConnection(Arguments, pairs, env)
	if err != nil {
		return nil, err
	}
	a := &Args{Cluster: config, IncludeHeaders: v.Bool("includeHeaders")}
	if err := a.bindTopic(v); err != nil {
		return nil, err
	}
	if err := a.bindProducer(v, env.MaxBatchBytes); err != nil {
		return nil, err
	}
	if a.Format, err = bindFormat(v, env); err != nil {
		return nil, err
	}
	a.Warnings, a.settings = v.Warnings, v.Settings()
	return a, nil
}

func (a *Args) bindTopic(v *option.Values) (err error) {
	if v.Has("topic") {
		a.Topic = strings.TrimSpace(v.String("topic"))
		if err := readkafka.CheckTopic(a.Topic); err != nil {
			return v.Invalid("topic", "%w", err)
		}
	}
	if !v.Has("errorHandling") {
		return nil
	}
	if a.ErrorTopic, err = readkafka.ErrorOutput(v); err != nil {
		return err
	}
	if err := readkafka.CheckTopic(a.ErrorTopic); err != nil {
		return v.Invalid("errorHandling", "%w", err)
	}
	if a.ErrorTopic == a.Topic {
		return v.Invalid("errorHandling", "is '%s', which is the topic of the other rows", a.Topic).WithHint("name a topic of its own")
	}
	return nil
}

var partitioners = map[string]kafka.Partitioner{"murmur2": kafka.PartitionByKey, "sticky": kafka.PartitionSticky, "roundrobin": kafka.PartitionRoundRobin}

// The share of the largest batch that may be read, itself a share of the memory limit, which waits to be acknowledged unless told otherwise; and the most.
const (
	bufferShare = 4
	mostBuffer  = 32 << 20
)

// statementTimeout is that of the transaction of a statement, in milliseconds: brokers allow 15 minutes.
const statementTimeout = 600_000

func (a *Args) bindProducer(v *option.Values, limit int64) error {
	p := &a.Producer
	p.Partitioner = partitioners[v.String("partitioner")]
	p.Compression = v.String("compression")
	p.Unsafe = !v.Bool("kafka.enable.idempotence")
	p.Linger = time.Duration(v.Int("kafka.linger.ms")) * time.Millisecond
	p.DeliveryTimeout = time.Duration(v.Int("kafka.delivery.timeout.ms")) * time.Millisecond
	p.BatchBytes = int32(v.Int("kafka.max.request.size")) // the table bounds it
	p.BufferBytes, a.buffered = v.Int("kafka.buffer.memory"), v.Has("kafka.buffer.memory")
	switch {
	case limit > 0 && p.BufferBytes > limit:
		return v.Invalid("kafka.buffer.memory", "is %d, more than the %d bytes that the memory limit leaves for it", p.BufferBytes, limit)
	case p.BufferBytes == 0 && limit > 0:
		p.BufferBytes = min(mostBuffer, limit/bufferShare)
	}
	switch acks := strings.ToLower(strings.TrimSpace(v.String("acks"))); acks {
	case "all", "-1":
	case "1":
		p.Acks = kafka.AcksLeader
	case "0":
		p.Acks = kafka.AcksNone
	default:
		return v.Invalid("acks", "is '%s', expected all, -1, 1 or 0", option.Show(acks))
	}
	if a.ExactlyOnce = v.Bool("exactlyOnce"); a.ExactlyOnce && (p.Acks != kafka.AcksAll || p.Unsafe) {
		name := "acks"
		if p.Unsafe {
			name = "kafka.enable.idempotence"
		}
		return sqlerr.New(sqlerr.OptionConflict, "'%s' and '%s' exclude each other: a transaction needs the acknowledgement of all replicas, and idempotence", v.As("exactlyOnce"), v.As(name)).
			WithHint("leave one of them out")
	}
	for _, name := range []string{"transactionalId", "kafka.transaction.timeout.ms"} {
		if v.Has(name) && !a.ExactlyOnce {
			return sqlerr.New(sqlerr.OptionConflict, "'%s' is given without 'exactlyOnce'", v.As(name)).WithHint("add exactlyOnce => true, or leave it out")
		}
	}
	a.timed, a.named = v.Has("kafka.transaction.timeout.ms"), v.Has("transactionalId")
	if a.ExactlyOnce {
		p.TransactionalID = cmp.Or(v.String("transactionalId"), "millrace-"+rand.Text())
		p.TransactionTimeout = time.Duration(cmp.Or(v.Int("kafka.transaction.timeout.ms"), statementTimeout)) * time.Millisecond
	}
	if p.Acks != kafka.AcksAll && v.Has("kafka.enable.idempotence") && !p.Unsafe {
		return sqlerr.New(sqlerr.OptionConflict, "'%s' is true and '%s' is '%s': an idempotent write needs the acknowledgement of all replicas", v.As("kafka.enable.idempotence"), v.As("acks"), v.String("acks")).
			WithHint("leave one of them out")
	}
	return nil
}

// CheckName is the error for an argument name that write_kafka does not have, nil for one it has.
func CheckName(name string) error {
	if Arguments.Lookup(name) == nil {
		return Arguments.Unknown(name)
	}
	return nil
}

// Describe lists the arguments, one a line and with secrets redacted, for EXPLAIN.
func (a *Args) Describe() []string {
	lines := make([]string, len(a.settings))
	for i, s := range a.settings {
		lines[i] = fmt.Sprintf("%s: %s", s.Name, s.Value)
	}
	return lines
}
