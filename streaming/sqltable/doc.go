// Package sqltable shows tables of a store to the SQL engine.
//
// Both streaming tables and ordinary ones (CREATE TABLE) are store tables. This package is where the engine's types and the store's meet:
//
//	sql.Type ─ FieldOf ─▶ column.Field            which kind of vector holds a column of SQL
//	sql.Row  ─ Appender ─▶ column.Batch           INSERT, and queries of streaming tables that the engine computes
//	Table    ─ OpenStored ─▶ store.Snapshot.Scan  the planner's scan: needed columns, conditions, limit
//
// All tables of one statement are read from one snapshot of the store, taken when the first of them is opened (WithStatement).
package sqltable
