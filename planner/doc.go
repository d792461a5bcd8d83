// Package planner moves the hot part of a query from the SQL engine into the scan.
//
// The engine costs hundreds to thousands of nanoseconds a row; a loop over column batches costs a few. The engine also knows
// nothing of table functions: it pushes neither predicates nor columns nor limits into them. So the planner adds one batch of
// rules after all of the engine's own. It finds every Table in a finished plan and replaces the largest subtree above it that it
// understands by one node, Scan:
//
//	        engine's plan                                 after Install's rule
//
//	GroupBy count(*)                                 Scan events
//	  Filter partition = 0 AND offset >= 5             bounds   partition [0, 1), offset [5, ∞)
//	    SubqueryAlias v                                count(*) from batch headers
//	      Project …
//	        TableAlias read_kafka
//
// What it does not understand stays in the engine, above the Scan, on rows of the layout that the engine expects.
//
// # Meaning
//
// The engine is the authority. A predicate is pushed as one of
//
//   - exact: the source's bounds say precisely the same, nothing is checked again;
//   - inexact: the bounds leave out some records that cannot qualify, and a filter still checks every row. A LIMIT passes such a filter only
//     when the filter itself runs in the scan;
//   - compiled: a kernel of package ops computes it with the engine's result for every value that the column can hold;
//   - lent: it stays above a join or a union, and narrows the scans below as well;
//   - not: it stays in the engine.
//
// A bound on timestamps is never exact: records are in no order of time. An upper one ends a read only when the table's user has asserted how
// far they are out of order, and EXPLAIN then says trusted.
//
// SET SESSION pushdown = 'off' leaves every plan to the engine. Tests run generated queries both ways and compare.
//
// # Corrections
//
// Some rules run before the engine's, with pushdown or without, and one function replaces the engine's: columns of a Table are nullable when
// its schema says so, now() beside a record's time is an instant and not a wall clock, so is such a time in unix_timestamp, times are compared with
// numbers as MySQL does or not at all, a LIMIT that no table reaches is none, and SUM of integers and decimals is exact.
//
// # Scans that run again
//
// A Scan in a correlated subquery or on the inner side of a nested loop runs once for each outer row. Its own rows are the same each time,
// so they are kept, within a limit, from the first run on.
//
// # Columns
//
// Expressions in a finished plan name their columns twice: by position in the row, and by an id that is unique in the statement. In a
// correlated scope positions are shifted by the outer row, ids are not. The planner goes by ids throughout, so it works the same
// in every scope, and a predicate on an outer column is simply one that it does not understand.
package planner
