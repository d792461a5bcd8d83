// Package columns measures the vectors of internal/column against apache/arrow-go arrays: filling them from a decompressed record
// batch, which is what a scan does a million times a second, and the first kernels on them. docs/adr/0002-own-vectors.md has the
// figures.
//
//	go test -tags gms_pure_go -bench . -count 6 ./bench/columns
package columns
