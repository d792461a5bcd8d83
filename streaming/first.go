package streaming

import (
	"context"

	"millrace/internal/column"
	"millrace/internal/scan"
)

// firstRecord is a sink that has seen enough with the first batch.
type firstRecord struct{}

// Push implements scan.Sink.
func (firstRecord) Push(context.Context, *column.Batch) error { return scan.Stop }

// Finish implements scan.Sink.
func (firstRecord) Finish(context.Context) error { return nil }
