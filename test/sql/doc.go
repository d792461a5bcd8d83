// Package sqltest runs the scripts in testdata, one for each feature: what a client sees of the SQL that Millrace speaks, right and wrong.
// Package script describes their commands. go test -rewrite refreshes what they expect.
package sqltest
