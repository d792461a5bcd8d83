// Package json finds the values of several paths in a JSON record in one pass, and says whether the record is JSON at all.
//
// A query that reads three fields of a record needs neither a tree of the record nor three searches. Compile turns the paths into a
// trie once; an Extractor then walks each record once, follows the trie where it leads somewhere, skips the rest, and reports
// where in the record each value lies. Nothing is copied or allocated per record:
//
//	plan := json.Compile(paths)          // immutable, shared by all lanes of a scan
//	x := plan.NewExtractor()             // scratch, one per goroutine
//	for _, record := range records {
//		err := x.Extract(record, values) // values[i] belongs to paths[i]
//	}
//
// # Strictness
//
// The whole record is checked, skipped parts too: grammar (RFC 8259), UTF-8, depth, nothing after the value. A result therefore never
// depends on which paths were asked for. Of duplicate keys the last one counts, also when the key is that of an object on the way
// to a path. Numbers are never converted here: a Value is a piece of the record, digits as written.
//
// Package encoding/json together with unicode/utf8 is the oracle in the tests.
package json
