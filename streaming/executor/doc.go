// Package executor runs streaming tables: one goroutine for each, which repeats
//
//	what do the topics hold?  internal/kafka      Snapshot
//	what is to be read?       streaming/checkpoint Compare, Limit
//	compute                   Query.Run            the same plan and operators as a SELECT
//	commit                    streaming/store      rows and positions in one atomic step
//
// and is the only one that touches its table. Everything else (statements, information_schema) tells it what to do by Pause, Resume and Refresh, and
// looks at Status. docs/adr/0010-streaming-executor.md says why.
//
// # Two ways to read
//
// A table that is far behind reads bounded ranges on all lanes (trigger.go), and the next ones while the former are committed (flight.go). One that is close follows its topics by one tail (follow.go): records and
// positions gather in memory until the owner takes them. Both ways end in commit (commit.go).
//
// A table with a schedule, or a manual one, reads in runs (runs.go), by the first way only.
//
// # What may go wrong
//
// A run that fails because of a record's content is repeated over halves until the record is found (isolate.go); it goes to the errors table. A fault that may
// pass makes the table stalled: it goes back to its checkpoint and tries again, ever more slowly. Any other makes it failed. Whatever had been read and not committed
// is dropped, and read again.
package executor
