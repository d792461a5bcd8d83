package executor

import (
	"fmt"
	"slices"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

// Check is a rule that each row of a table is checked against before it is committed.
type Check struct {
	// Name is that of the expectation, or of the column that is NOT NULL; Condition is the expectation's text.
	Name, Condition string
	// Column is the place of what is looked at in the batches of a run: for an expectation an integer that is 1 where the row meets it, else a column of the table.
	Column int
	Kind   CheckKind
}

// CheckKind is what happens to a row that does not pass.
type CheckKind uint8

// The kinds of checks. The first three are expectations.
const (
	// Counted rows are kept.
	Counted CheckKind = iota
	// Dropped rows are left out.
	Dropped
	// Fatal rows fail the table.
	Fatal
	// NotNull is Fatal for a row whose column is NULL, unless an expectation drops the row.
	NotNull
)

// String is the kind as SQL has it.
func (k CheckKind) String() string {
	return [...]string{"WARN", "DROP ROW", "FAIL UPDATE", "NOT NULL"}[k]
}

// Tally counts the rows that an expectation has seen.
type Tally struct {
	Name           string `json:"name"`
	Passed, Failed int64
}

// checker applies the checks of a query to what its runs give. The zero checker has none.
type checker struct {
	columns []column.Field // of the table
	checks  []Check
	// tallies are those of the expectations, in the order of checks; NOT NULL has none.
	tallies []Tally
	// dropped is how many rows were left out.
	dropped int64
	view    column.Batch
	sel     []int32
}

func newChecker(q Query) checker {
	c := checker{columns: q.Columns(), checks: q.Checks()}
	for _, k := range c.checks {
		if k.Kind != NotNull {
			c.tallies = append(c.tallies, Tally{Name: k.Name})
		}
	}
	return c
}

// counts are what a checker has counted.
type counts struct {
	tallies []Tally
	dropped int64
}

// counts gives what was counted, to be kept.
func (c *checker) counts() counts { return counts{slices.Clone(c.tallies), c.dropped} }

// restore goes back to what was counted.
func (c *checker) restore(to counts) {
	copy(c.tallies, to.tallies)
	c.dropped = to.dropped
}

// reset forgets what was counted.
func (c *checker) reset() {
	c.dropped = 0
	for i := range c.tallies {
		c.tallies[i].Passed, c.tallies[i].Failed = 0, 0
	}
}

// violation is the error for a row that a table must not have. The run that gave it knows the row and not its record.
type violation struct {
	check Check
	row   string
}

func (v *violation) Error() string {
	if v.check.Kind == NotNull {
		return fmt.Sprintf("column '%s' is NOT NULL, and a row has NULL there", v.check.Name)
	}
	return fmt.Sprintf("expectation '%s' is violated", v.check.Name)
}

// of gives the error for the record that the row is of.
func (v *violation) of(topic string, partition, offset int64) error {
	place := fmt.Sprintf("the record at topic '%s', partition %d, offset %d", topic, partition, offset)
	if v.check.Kind == NotNull {
		return sqlerr.New(sqlerr.RuleViolated, "column '%s' is NOT NULL, and %s gives NULL; its row: %s", v.check.Name, place, v.row).
			WithHint("give a value in the query, such as coalesce(…), or filter such rows, by CREATE OR REFRESH STREAMING TABLE; the table then goes on at that record")
	}
	return sqlerr.New(sqlerr.RuleViolated, "expectation '%s' is violated by %s: (%s) is not true; its row: %s", v.check.Name, place, v.check.Condition, v.row).
		WithHint("CREATE OR REFRESH STREAMING TABLE changes the query or the expectation, for example to ON VIOLATION DROP ROW; the table then goes on at that record")
}

// apply counts, and gives what is left of a batch, without the columns of checks. It is valid until the next call. The error is a *violation.
func (c *checker) apply(b *column.Batch) (*column.Batch, error) {
	if len(c.checks) == 0 {
		return b, nil
	}
	c.view.N, c.view.Sel, c.view.Cols = b.N, b.Sel, b.Cols[:len(c.columns)]
	tally := 0
	for i := range c.checks {
		k := &c.checks[i]
		v := &b.Cols[k.Column]
		if k.Kind == NotNull {
			if row := c.firstNull(v); row >= 0 {
				return nil, &violation{*k, c.rowText(b, row)}
			}
			continue
		}
		failed, first := count(v, b)
		c.tallies[tally].Failed += failed
		c.tallies[tally].Passed += int64(b.Live()) - failed
		tally++
		switch {
		case failed == 0:
		case k.Kind == Fatal:
			return nil, &violation{*k, c.rowText(b, first)}
		case k.Kind == Dropped:
			c.drop(v)
		}
	}
	c.dropped += int64(b.Live() - c.view.Live())
	return &c.view, nil
}

// passes reports whether row i meets an expectation whose results are v.
func passes(v *column.Vector, i int) bool { return v.Int[i] != 0 && !v.IsNull(i) }

// count is how many live rows do not pass, and the first of them.
func count(v *column.Vector, b *column.Batch) (failed int64, first int) {
	first = -1
	see := func(i int) {
		if !passes(v, i) {
			if failed == 0 {
				first = i
			}
			failed++
		}
	}
	if b.Sel != nil {
		for _, i := range b.Sel {
			see(int(i))
		}
		return failed, first
	}
	for i := range b.N {
		see(i)
	}
	return failed, first
}

// drop leaves out the rows of the view that do not pass.
func (c *checker) drop(v *column.Vector) {
	if c.view.Sel == nil {
		c.sel = slices.Grow(c.sel[:0], c.view.N)
		for i := range c.view.N {
			if passes(v, i) {
				c.sel = append(c.sel, int32(i))
			}
		}
	} else {
		// The selection may be c.sel itself, from which rows are only taken, or the batch's, which is not written to.
		kept := c.sel[:0]
		for _, i := range c.view.Sel {
			if passes(v, int(i)) {
				kept = append(kept, i)
			}
		}
		c.sel = kept
	}
	if c.sel == nil {
		c.sel = []int32{} // nil would be all rows
	}
	c.view.Sel = c.sel
}

// firstNull is the first row of the view that is NULL, -1 for none.
func (c *checker) firstNull(v *column.Vector) int {
	if v.Valid == nil {
		return -1
	}
	if c.view.Sel == nil {
		for i := range c.view.N {
			if v.IsNull(i) {
				return i
			}
		}
		return -1
	}
	for _, i := range c.view.Sel {
		if v.IsNull(int(i)) {
			return int(i)
		}
	}
	return -1
}

func (c *checker) rowText(b *column.Batch, row int) string { return rowText(c.columns, b, row) }
