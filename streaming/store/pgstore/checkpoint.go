package pgstore

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"millrace/internal/sqlerr"
	"millrace/streaming/store"
)

type positions map[store.Partition]store.Position

// encode gives the positions in order, so that equal ones are equal.
func (p positions) encode() []byte {
	keys := slices.SortedFunc(maps.Keys(p), func(a, b store.Partition) int {
		if c := strings.Compare(a.Source, b.Source); c != 0 {
			return c
		}
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return int(int64(a.Partition) - int64(b.Partition))
	})
	b := binary.AppendUvarint(nil, uint64(len(keys)))
	for _, k := range keys {
		at := p[k]
		b = append(binary.AppendUvarint(b, uint64(len(k.Source))), k.Source...)
		b = append(binary.AppendUvarint(b, uint64(len(k.Topic))), k.Topic...)
		b = binary.AppendVarint(b, int64(k.Partition))
		b = append(b, at.TopicID[:]...)
		b = binary.AppendVarint(b, at.Offset)
		b = binary.AppendVarint(b, int64(at.LeaderEpoch))
	}
	return b
}

var errPositions = errors.New("positions cannot be read")

func decodePositions(b []byte) (positions, error) {
	p := positions{}
	if len(b) == 0 {
		return p, nil
	}
	bad := false
	cut := func(n uint64) []byte {
		if n > uint64(len(b)) {
			bad, b = true, nil
			return nil
		}
		x := b[:n]
		b = b[n:]
		return x
	}
	unsigned := func() uint64 {
		x, n := binary.Uvarint(b)
		cut(uint64(max(n, 0)))
		bad = bad || n <= 0
		return x
	}
	signed := func() int64 {
		x, n := binary.Varint(b)
		cut(uint64(max(n, 0)))
		bad = bad || n <= 0
		return x
	}
	for range unsigned() {
		k := store.Partition{Source: string(cut(unsigned()))}
		k.Topic = string(cut(unsigned()))
		k.Partition = int32(signed())
		var at store.Position
		copy(at.TopicID[:], cut(16))
		at.Offset, at.LeaderEpoch = signed(), int32(signed())
		if bad {
			return nil, errPositions
		}
		p[k] = at
	}
	if bad || len(b) != 0 {
		return nil, errPositions
	}
	return p, nil
}

// move applies moves, each from where it is said to be.
func (p positions) move(moves []store.Move) error {
	for i := range moves {
		m := &moves[i]
		at, found := p[m.Partition]
		switch {
		case m.From == nil && found:
			return fenced("%s/%d has a position", m.Topic, m.Partition.Partition)
		case m.From != nil && (!found || at != *m.From):
			return fenced("%s/%d is not at offset %d", m.Topic, m.Partition.Partition, m.From.Offset)
		}
	}
	for i := range moves {
		if m := &moves[i]; m.To != nil {
			p[m.Partition] = *m.To
		} else {
			delete(p, m.Partition)
		}
	}
	return nil
}

// What a checkpoint says of progress: a byte, then the progress. Truncating leaves noProgress.
const (
	noProgress = iota
	someProgress
)

func encodeProgress(p []byte) []byte {
	if p == nil {
		return nil
	}
	return append([]byte{someProgress}, p...)
}

// newestPositions is the statement that finds the positions of a family as of a step.
const newestPositions = "select positions from {checkpoints} where family = $1 and step <= $2 and positions is not null order by step desc limit 1"

// checkpointAt reads the positions and the progress of a family as of a step.
func (s *Store) checkpointAt(ctx context.Context, c *pgx.Conn, id store.TableID, family, step int64) (*store.Checkpoint, error) {
	var at, progress []byte
	err := c.QueryRow(ctx, s.sql(newestPositions), family, step).Scan(&at)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	err = c.QueryRow(ctx, s.sql("select progress from {checkpoints} where family = $1 and step <= $2 and progress is not null order by step desc limit 1"), family, step).Scan(&progress)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	// What the janitor has removed was read as nothing.
	var collected int64
	err = c.QueryRow(ctx, s.sql("select collected from {families} where number = $1"), family).Scan(&collected)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, err
	}
	if step < collected {
		return nil, errTooOld
	}
	p, err := decodePositions(at)
	if err != nil {
		return nil, sqlerr.New(sqlerr.StoreCorrupt, "table '%s' at '%s' cannot be read: %w", id, s.address, err)
	}
	cp := &store.Checkpoint{Positions: p}
	if len(progress) > 0 && progress[0] == someProgress {
		cp.Progress = progress[1:]
	}
	return cp, nil
}

// Checkpoint implements store.Store.
func (s *Store) Checkpoint(ctx context.Context, id store.TableID) (*store.Checkpoint, error) {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	return snap.(*snapshot).checkpoint(ctx, id)
}
