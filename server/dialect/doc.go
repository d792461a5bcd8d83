// Package dialect turns the SQL that users of Millrace write into the MySQL that the engine's parser reads.
//
// Users write MySQL plus a few constructs of Databricks: named arguments, STREAM, `expr::type`, `expr:path`, catalog.schema.table,
// and columns called key and partition. The engine's parser knows none of them and cannot be extended, so the text is rewritten:
//
//	SELECT key::string:user_id AS u FROM read_kafka(subscribe => 'orders')
//	SELECT millrace_path(millrace_cast(`key`, 'STRING'), 'user_id') AS u FROM read_kafka('#named', 'subscribe', 'orders')
//
// Four promises follow from that choice:
//
//   - Text that uses none of the constructs comes back byte for byte.
//   - The user never sees rewritten text: Result.Origin leads a position back to what was written, Result.Heading a column heading.
//   - Errors of this package name line and column of the original and show the line with a caret under the place.
//   - This package and the engine read the same tokens. Where the engine's lexer departs from MySQL's (`1--1`, and backslashes under
//     NO_BACKSLASH_ESCAPES) the text is adapted, since a disagreement about where a string ends would be a way to inject SQL.
//
// # How it works
//
//	text ── lexer ──► tokens ──► statement  EXPLAIN, DESCRIBE f(…), later statements: a typed Statement, no rewriting
//	                      └────► rewriter   one walk over the tokens, collects edits
//	                                └─────► Result   edits applied, with a map of positions
//
// The added operators are postfix and bind tighter than everything else, so the walk needs no precedence table. It has to know only
// where the operand that ends here began: a stack of frames, one per open parenthesis or CASE, remembers the start of the last
// complete operand. Frames also hold the clause, which tells a table name from a column name. What the walk does not understand it
// leaves alone; the engine's parser has the last word on syntax. There is no recursion, so deep nesting cannot exhaust the stack.
//
// The package is pure: no I/O, no state. All functions may be called at once from several goroutines.
package dialect
