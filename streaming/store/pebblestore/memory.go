package pebblestore

import "github.com/cockroachdb/pebble/v2/vfs"

// OpenMemory opens a store that is gone when it is closed: for tools and tests that keep nothing.
func OpenMemory(o Options) (*Store, error) {
	o.FS = vfs.NewMem()
	return Open("store", o)
}
