// Package expr has the expressions of the dialect that the engine does not know: casts (x::type, x ?:: type) and JSON paths (x:path).
//
// They live apart from the functions that build them so that the planner can recognise them in a plan and compile them into kernels
// over column batches. What stays in the engine is evaluated here, row by row, with the same conversions (internal/convert) and the same
// extractor (internal/decode/json), so that the answer does not depend on where an expression runs.
package expr
