// Package ops runs the hot part of a query on column batches: filter, project, aggregate, limit.
//
// The SQL engine above costs hundreds of nanoseconds a row; a loop over a column costs a few. The planner therefore cuts the maximal
// supported subtree out of an engine plan, describes it as a Pipeline and runs it here, so that the engine sees few rows.
//
//	Pipeline ── Compile ──▶ Plan         immutable, shared, checked once
//	                          │ Run
//	                          ▼
//	  scan.Source ── lane 0: filter → project ─┐
//	              ── lane 1: filter → project ─┼─▶ queue ──▶ Rows.Next
//	              ── lane n: …                 ┘   bounded in bytes
//
// What sits behind the filter is a scan.Sink of one of two sorts. A projectSink hands rows on as they come. A partial
// (aggregateSink, sortSink) keeps a state per lane; when all lanes have ended the states are combined and the result is handed out
// through the same queue, or, from groups, pushed into the sink of a pipeline that follows (Pipeline.Then), which filters, computes, sorts and limits
// them. A new operator is one more partial. Groups are numbered by keys, one
// table for all aggregates of a lane, and each accumulator is a set of arrays by group number; so a new aggregate knows nothing
// of keys, and a lane that runs out of memory can write its groups out and start over.
//
// # Expressions
//
// An Expr is immutable and typed when it is built; a constructor refuses what has no kernel with the meaning of the engine, and the
// planner then leaves it in the engine. Each lane binds the expressions to evaluators with scratch memory of their own. An evaluator works
// on a whole batch and a selection: the ascending numbers of the rows that count, nil for all. Its result is a Vector indexed by the row
// number of the batch, defined only at the selected rows, so a column reference is free and a filter costs no copy.
//
// Predicates do not compute booleans. They choose: from a selection, the rows where the predicate is TRUE, or those where it is
// FALSE; rows in neither are NULL. Three-valued logic falls out of that: TRUE(a AND b) is TRUE(b) within TRUE(a), FALSE(a AND b)
// is the union of FALSE(a) and FALSE(b), NOT swaps the question. Rows that a conjunct has excluded are not evaluated by the next.
//
// Expressions that occur more than once are computed once a batch (memo), and all paths into one JSON column share one pass over
// each record (located).
//
// # Memory
//
// All memory of evaluators and sinks is used again; a batch costs no allocation once the sizes have settled. Rows are copied when
// they leave the lane, only those that passed, only the output columns. What is queued, and what groups and sorts hold, is taken from
// RunOptions.Memory. Groups and sorted rows that it has no room for go to a temporary file: groups by parts of their hashes (parts), each of which is read back
// by itself, rows as sorted runs (sortedRun), which are merged while they are handed out. Results are the same either way.
//
// # Errors
//
// An evaluator that fails names the first failing row. Rows before it in the lane are still delivered, as by an engine that works row by
// row, so a LIMIT that is met earlier wins. The text gets topic, partition and offset from the columns that Pipeline.Position names.
package ops
