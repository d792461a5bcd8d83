package executor

import (
	"context"
	"time"

	"millrace/internal/column"
	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/streaming/schedule"
)

// Query is the query of a streaming table, compiled once. Its methods are called by the table's owner only, one at a time.
type Query interface {
	// Columns describes the batches that Run gives, by the names of the table's columns. Columns of what Checks ask for follow them in the batches.
	Columns() []column.Field
	// Checks are what each row is checked against.
	Checks() []Check
	// Read says what the query reads.
	Read() Read
	// Run computes the query over the records of one source, which open makes of the request that the plan has for it, and closes it. The batches that
	// take is given are valid until it returns. Run returns an error of open, of the source or of take as it is; others are about a record's content, or
	// faults. Rows may have been taken before an error: the caller drops them.
	//
	// bad are the records that their format could not decode, nil when there are none: the columns of ErrorColumns without the last one. They are the caller's.
	Run(ctx context.Context, open Open, take func(*column.Batch) error) (bad *column.Batch, err error)
	// Close gives back what the query holds.
	Close()
}

// Open fixes what a run reads.
type Open func(ctx context.Context, req scan.Request) (scan.Source, error)

// Read is the STREAM read_kafka(…) of a query.
type Read struct {
	Cluster kafka.Config
	// Spec says what is read and where it starts. FailOnDataLoss is the policy of the table.
	Spec kafka.ReadSpec
	// Latest is set when the user has named no start: then it is the end, as of the statement that made the table.
	Latest bool
	// Discovery is how often new topics and partitions are looked for, 0 for the default.
	Discovery time.Duration
	// MaxOffsets and MinOffsets bound a trigger in offsets, 0 for no bound; fewer than MinOffsets wait for up to MaxDelay.
	MaxOffsets, MinOffsets int64
	MaxDelay               time.Duration
	Mirror                 Mirror
	Evolution              Evolution
}

// Evolution says what a table does when records come of a newer schema than that which its columns were taken of.
type Evolution uint8

// The ways to deal with it.
const (
	// KeepsColumns: what is new in the records is left out.
	KeepsColumns Evolution = iota
	// AddsColumns: the table gets the new columns before it reads on.
	AddsColumns
	// StopsForColumns: the table fails, and gets the columns when somebody resumes it, or with a start of the server.
	StopsForColumns
)

// Settings are the properties of a table that its executor obeys.
type Settings struct {
	// Manual tables read only when they are refreshed, or when Schedule says so.
	Manual bool
	// Schedule is nil without one.
	Schedule *schedule.Schedule
	// MaxRows and MaxBytes bound a commit.
	MaxRows, MaxBytes int64
	// Interval is the most that commits of a caught-up table wait for each other when there are many tables.
	Interval time.Duration
	// ErrorBytes bounds the table of bad records.
	ErrorBytes int64
	// Discovery, when not 0, replaces Read.Discovery.
	Discovery time.Duration
}

// Defaults of Settings.
const (
	DefaultMaxRows    = 500_000
	DefaultMaxBytes   = 64 << 20
	DefaultInterval   = 100 * time.Millisecond
	DefaultErrorBytes = 64 << 20
	DefaultDiscovery  = 5 * time.Second
)

func (s Settings) withDefaults() Settings {
	set := func(field *int64, value int64) {
		if *field <= 0 {
			*field = value
		}
	}
	set(&s.MaxRows, DefaultMaxRows)
	set(&s.MaxBytes, DefaultMaxBytes)
	set(&s.ErrorBytes, DefaultErrorBytes)
	if s.Interval <= 0 {
		s.Interval = DefaultInterval
	}
	return s
}
