package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/ops"
)

type betweenBatches struct{}

// WithBetweenBatches makes scans under ctx call f each time that the statement asks for more rows and new ones have to be read: on the goroutine
// that evaluates the statement, and when it has done with the rows before. A session may then look after what expressions left in it, such as
// a warning for each row.
func WithBetweenBatches(ctx context.Context, f func(*sql.Context)) context.Context {
	return context.WithValue(ctx, betweenBatches{}, f)
}

// callBetweenBatches calls what WithBetweenBatches was given.
func callBetweenBatches(ctx *sql.Context) {
	if f, ok := ctx.Value(betweenBatches{}).(func(*sql.Context)); ok {
		f(ctx)
	}
}

// faultWarnings tell what of the data a scan could not decode.
func faultWarnings(f ops.DecodeFaults) []string {
	if !f.Any() {
		return nil
	}
	reasons := make([]string, 0, len(f.Reasons))
	for _, r := range slices.Sorted(maps.Keys(f.Reasons)) {
		reasons = append(reasons, fmt.Sprintf("%s: %d", r, f.Reasons[r]))
	}
	why := " (" + strings.Join(reasons, ", ") + ")"
	if f.Dropped > 0 {
		return []string{fmt.Sprintf("%s not decoded and left out%s; mode => 'PERMISSIVE' shows them, with the reason in _error", counted(f.Dropped, "record was", "records were"), why)}
	}
	var parts []string
	if f.Records > 0 {
		parts = append(parts, counted(f.Records, "record", "records")+" could not be decoded")
	}
	if f.Fields > 0 {
		parts = append(parts, counted(f.Fields, "value does", "values do")+" not fit the column")
	}
	return []string{strings.Join(parts, ", ") + why + "; they are NULL, and _error says why"}
}

func counted(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
