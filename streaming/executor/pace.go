package executor

import (
	"sync/atomic"
	"time"
)

// Pace spaces the commits of the caught-up tables of a process. A commit of one row costs nearly as much as one of a hundred, so with hundreds of tables
// it pays to let rows gather for a moment; with a few, they commit at once.
type Pace struct{ tables atomic.Int64 }

// perTable is what each table that follows its topics adds to the time between two commits of one.
const perTable = 500 * time.Microsecond

func (p *Pace) enter() { p.tables.Add(1) }
func (p *Pace) leave() { p.tables.Add(-1) }

// gap is the time between two commits of a table.
func (p *Pace) gap() time.Duration { return time.Duration(p.tables.Load()-1) * perTable }
