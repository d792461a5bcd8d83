// Package agg has the aggregate functions that the engine lacks or has wrong, as expressions of the engine. They work wherever the engine aggregates: over
// tables, in HAVING, as windows. Package planner computes the same functions on batches where it can, with the same results.
//
// A Function is what the engine sees; a state is what one group keeps. A new aggregate is a state and an entry in kinds.
package agg
