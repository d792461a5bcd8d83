// Package sketch has summaries of many values in little memory: how many are different, and where their quantiles lie. Both say how far off they may be, both are
// exact while there are few values, and two of them can be merged. The engine and the batch operators use the same ones, so that they answer alike.
//
// A sketch is used by one goroutine at a time.
package sketch
