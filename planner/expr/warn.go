package expr

import (
	"sync"

	"github.com/dolthub/go-mysql-server/sql"
)

// warnings guards those of all sessions: the engine computes groups on one goroutine while it reads rows on another, and its sessions have no lock. Warnings
// are few, or soon bounded, so one lock will do.
var warnings sync.Mutex

// Warn adds a warning to the session. Whatever warns while rows are computed or read uses it.
func Warn(ctx *sql.Context, code int, format string, args ...any) {
	GuardWarnings(func() { ctx.Warn(code, format, args...) })
}

// GuardWarnings runs f, which reads or changes a session's warnings while a statement may be running.
func GuardWarnings(f func()) {
	warnings.Lock()
	defer warnings.Unlock()
	f()
}
