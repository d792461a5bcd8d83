// Package functions has the SQL functions that Millrace adds to the engine.
//
// They are one table (table.go): name, arguments, a sentence, an example with its result. The engine's functions, docs/functions.md and the test
// that runs every example come from it, so none can say something else than the others.
//
// Casts and paths are functions only on the way from the dialect to the engine, as millrace_cast and millrace_path; their meaning is in
// planner/expr.
package functions

//go:generate go test -tags gms_pure_go -run TestFunctionsDocIsCurrent -rewrite .
