// Package bad runs what has broken other systems that read Kafka: each entry of the lists of complaints that a bounded query can show is a script
// in testdata, named after the entry, with a layout of the log of its own. entries_test.go says where the others are tested, or why they do not
// apply yet. Beside them stand tests of hostile clients and hostile data.
package bad
