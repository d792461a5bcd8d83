package pebblestore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"millrace/internal/sqlerr"
	"millrace/streaming/store"
	"millrace/streaming/store/segment"
)

// failed is what a caller learns of an error of Pebble's.
func (s *Store) failed(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pebble.ErrClosed):
		return store.ErrClosed
	case isOurs(err):
		return err
	case errors.Is(err, segment.ErrCorrupt):
		return sqlerr.New(sqlerr.StoreCorrupt, "%s: the store in '%s' is corrupt: %w", doing, s.dir, err)
	case pebble.IsCorruptionError(err):
		return sqlerr.New(sqlerr.StoreCorrupt, "%s: a file of the store in '%s' is corrupt: %w", doing, s.dir, err)
	default:
		return sqlerr.New(sqlerr.StoreFailed, "%s: the store in '%s' failed: %w", doing, s.dir, err)
	}
}

// corruptPart names the part of a table that cannot be read.
func (s *Store) corruptPart(t *table, blob uint64, part string, err error) error {
	if !errors.Is(err, segment.ErrCorrupt) && !pebble.IsCorruptionError(err) && !errors.Is(err, pebble.ErrNotFound) {
		return s.failed(fmt.Sprintf("reading table '%s'", t.id), err)
	}
	if errors.Is(err, pebble.ErrNotFound) {
		err = fmt.Errorf("%w: it is missing", segment.ErrCorrupt)
	}
	// Pebble's errors have stacks and marks on further lines, which the log has seen.
	cause, _, _ := strings.Cut(err.Error(), "\n")
	return sqlerr.New(sqlerr.StoreCorrupt, "table '%s', segment %d, %s in '%s' cannot be read: %s", t.id, blob, part, s.dir, cause).WithCause(err).
		WithHint("other segments and tables are not concerned; a streaming table is read anew by REFRESH STREAMING TABLE … FULL")
}

// isOurs reports whether err is for the user as it is.
func isOurs(err error) bool {
	_, ok := sqlerr.As(err)
	return ok
}
