package planner

import (
	"github.com/dolthub/go-mysql-server/sql"
)

// identities numbers the rows that differ, from 0 on as they come. What it keeps counts against the statement's memory until it is closed.
type identities struct {
	rowIdentity
	numbers      map[string]int
	keeper       *keeper
	bytes, noted int64
}

// entryBytes is what a row takes beside its bytes: the entry of a map and what is kept of it elsewhere.
const entryBytes = 64

// identities are those of rows that id tells apart; what keeps them is for the error.
func (x explainer) identities(ctx *sql.Context, id rowIdentity, what string) *identities {
	budget := x.options.scanBudget(ctx)
	return &identities{
		rowIdentity: id,
		numbers:     map[string]int{},
		keeper:      &keeper{what: what, held: budget.Account(), limit: budget.Limit()},
	}
}

// add gives the number of row, and says whether it is the first of its kind.
func (s *identities) add(ctx *sql.Context, row sql.Row) (number int, first bool, err error) {
	key, err := s.of(ctx, row)
	if err != nil {
		return 0, false, err
	}
	if number, ok := s.numbers[string(key)]; ok {
		return number, false, nil
	}
	if err := s.grow(int64(len(key)) + entryBytes); err != nil {
		return 0, false, err
	}
	number = len(s.numbers)
	s.numbers[string(key)] = number
	return number, true, nil
}

// find gives the number of row, if there was one like it.
func (s *identities) find(ctx *sql.Context, row sql.Row) (number int, ok bool, err error) {
	key, err := s.of(ctx, row)
	if err != nil {
		return 0, false, err
	}
	number, ok = s.numbers[string(key)]
	return number, ok, nil
}

// grow notes that n more bytes are kept.
func (s *identities) grow(n int64) error {
	s.bytes += n
	if s.bytes-s.noted < noteEvery {
		return nil
	}
	s.noted = s.bytes
	return s.keeper.hold(s.bytes)
}

// close forgets all rows. It may be called again.
func (s *identities) close() {
	s.numbers = nil
	s.keeper.close()
}
