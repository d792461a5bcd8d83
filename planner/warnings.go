package planner

import (
	"context"

	"github.com/dolthub/go-mysql-server/sql"
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
