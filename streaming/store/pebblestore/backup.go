package pebblestore

import (
	"context"
	"errors"
	"os"

	"github.com/cockroachdb/pebble/v2"

	"millrace/internal/sqlerr"
)

// Backup makes a store in dir, which must not exist, that has all that was committed before the call and no half of a commit after it. Files are linked where the file
// system allows it, else copied; commits go on meanwhile. After an error dir may be there in part.
func (s *Store) Backup(ctx context.Context, dir string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if err := s.space.admit(0); err != nil {
		return err
	}
	if err := s.db.Checkpoint(dir, pebble.WithFlushedWAL()); err != nil {
		if errors.Is(err, os.ErrExist) {
			return sqlerr.New(sqlerr.StoreFailed, "the directory '%s' of a backup exists", dir).WithCause(err).WithHint("name one that does not exist yet")
		}
		return s.failed("making a backup", err)
	}
	return nil
}
