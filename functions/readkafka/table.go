package readkafka

import (
	"context"
	"slices"

	"millrace/internal/scan"
)

// A streaming table runs its query over records that it has chosen itself: a part of a backlog, or what a tail has brought. It plans the query once and
// gives each run the source to use through the context.

type sourceKey struct{}

// OpenSource gives the source for what a call asks of one.
type OpenSource func(ctx context.Context, req scan.Request) (scan.Source, error)

// WithSource makes calls of read_kafka that run under the context that it returns read what open gives, whatever their arguments say.
func WithSource(ctx context.Context, open OpenSource) context.Context {
	return context.WithValue(ctx, sourceKey{}, open)
}

func sourceOf(ctx context.Context) OpenSource {
	open, _ := ctx.Value(sourceKey{}).(OpenSource)
	return open
}

// IsStream reports whether the call is STREAM read_kafka(…).
func (n *Node) IsStream() bool { return n.streams() }

// startNames are the arguments that say where a read begins.
var startNames = []string{"startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp"}

// NamesStart reports whether the call says where it begins.
func (a *Args) NamesStart() bool {
	for _, s := range a.settings {
		o := Arguments.Lookup(s.Name)
		if o != nil && slices.Contains(startNames, o.Name) {
			return true
		}
	}
	return false
}
