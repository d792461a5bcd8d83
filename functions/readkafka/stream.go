package readkafka

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/functions/named"
	"millrace/internal/option"
	"millrace/planner"
)

var _ planner.Streaming = (*Node)(nil)

// streams reports whether the call is a STREAM.
func (n *Node) streams() bool {
	return slices.ContainsFunc(n.named, func(a named.Arg) bool { return a.Name == StreamFlag })
}

// Streaming implements planner.Streaming. Arguments that cannot be evaluated yet, or are wrong, bound nothing.
func (n *Node) Streaming(ctx *sql.Context) (live, endless bool) {
	if sourceOf(ctx) != nil || !n.streams() {
		return false, false
	}
	args, err := n.Args(ctx)
	return true, err != nil || args.Spec.MaxTime == 0 && args.Spec.MaxRecords == 0
}

// The bounds of partitionDiscoveryInterval: below the first, metadata requests would be most of what a tail does.
const (
	leastDiscovery = 10 * time.Millisecond
	mostDiscovery  = 24 * time.Hour
)

// discovery binds how often new partitions are looked for: a time with a unit, or a number of seconds, as the alias of pipelines says.
func (b *binder) discovery() error {
	const name = "partitionDiscoveryInterval"
	if !b.Has(name) {
		return nil
	}
	text := strings.TrimSpace(b.String(name))
	var every time.Duration
	seconds, err := strconv.ParseFloat(text, 64)
	if err == nil && seconds >= 0 && seconds <= mostDiscovery.Seconds() {
		every = time.Duration(seconds * float64(time.Second))
	} else if err != nil {
		if every, err = option.ParseDuration(text); err != nil {
			return b.Invalid(name, "is '%s': %w", option.Show(text), err).WithHint("give a time such as '5s', or a number of seconds")
		}
	}
	if every < leastDiscovery || every > mostDiscovery {
		return b.Invalid(name, "is '%s', allowed is '10ms' to '24h'", option.Show(text))
	}
	b.args.DiscoveryInterval = every
	return nil
}
