// Package server is the process: one SQL engine, its users and databases, the listeners in front of it, and their life from start to drain.
//
//	wire.Conn ──▶ session ──▶ statement: dialect → parse ──▶ one of our statements, or the engine ──▶ rows or column batches ──▶ wire.Results
//	                 │
//	                 └── engine (go-mysql-server as a library): databases and views of internal/catalog, grant tables, functions, read_kafka
//
// The engine is the authority on what SQL means; package planner takes the hot part of a plan away from it. This package joins the two
// to the protocol: it owns contexts, the process list, KILL, time-outs, warnings, prepared statements, redaction, and the one place where
// errors of the engine become errors that a client understands (fault.go).
package server
