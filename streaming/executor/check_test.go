package executor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"millrace/internal/column"
	"millrace/internal/sqlerr"
)

var numberField = []column.Field{{Name: "n", Type: column.Type{Kind: column.Int64}, Nullable: true}}

// rulesQuery has one column and the results of expectations.
type rulesQuery struct {
	offsetsQuery
	checks []Check
}

func (q *rulesQuery) Columns() []column.Field { return numberField }
func (q *rulesQuery) Checks() []Check         { return q.checks }

// passing is a batch of n and the results of an expectation for each of results; NULLs are -1.
func passing(n []int64, results ...[]int64) *column.Batch {
	b := &column.Batch{N: len(n)}
	for _, list := range append([][]int64{n}, results...) {
		var v column.Vector
		v.Reset(column.Type{Kind: column.Int64})
		for _, x := range list {
			if x < 0 {
				v.AppendNull()
			} else {
				v.AppendInt(x)
			}
		}
		b.Cols = append(b.Cols, v)
	}
	return b
}

func TestExpectationsCountAndDrop(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows := rapid.IntRange(0, 100).Draw(rt, "rows")
		kinds := rapid.SliceOfN(rapid.SampledFrom([]CheckKind{Counted, Dropped}), 1, 4).Draw(rt, "kinds")
		n := make([]int64, rows)
		for i := range n {
			n[i] = int64(i)
		}
		q := &rulesQuery{}
		var results [][]int64
		for i := range kinds {
			results = append(results, rapid.SliceOfN(rapid.Int64Range(-1, 1), rows, rows).Draw(rt, "results"))
			q.checks = append(q.checks, Check{Name: string(rune('a' + i)), Column: i + 1, Kind: kinds[i]})
		}
		b := passing(n, results...)
		live := n
		if rapid.Bool().Draw(rt, "selected") {
			b.Sel, live = []int32{}, nil
			for i := range rows {
				if rapid.Bool().Draw(rt, "live") {
					b.Sel, live = append(b.Sel, int32(i)), append(live, int64(i))
				}
			}
		}
		var want []int64
		tallies := make([]Tally, len(kinds))
		for _, i := range live {
			kept := true
			for k, r := range results {
				if r[i] == 1 {
					tallies[k].Passed++
					continue
				}
				tallies[k].Failed++
				kept = kept && kinds[k] == Counted
			}
			if kept {
				want = append(want, i)
			}
		}
		c := newChecker(q)
		for range 2 { // memory is used again
			c.reset()
			out, err := c.apply(b)
			if err != nil || out.Live() != len(want) || len(out.Cols) != 1 || c.dropped != int64(len(live)-len(want)) {
				rt.Fatalf("%d rows of %d, %d dropped, %v", out.Live(), len(want), c.dropped, err)
			}
			var rows column.Batch
			rows.Reset(numberField)
			rows.AppendRows(out, -1)
			for i, x := range want {
				if rows.Cols[0].Int[i] != x {
					rt.Fatalf("row %d is %d, not %d", i, rows.Cols[0].Int[i], x)
				}
			}
			for k := range tallies {
				if got := c.tallies[k]; got.Passed != tallies[k].Passed || got.Failed != tallies[k].Failed {
					rt.Fatalf("expectation %d counts %+v, not %+v", k, got, tallies[k])
				}
			}
		}
	})
}

func TestRowsThatATableMustNotHave(t *testing.T) {
	fatal := Check{Name: "positive", Condition: "n > 0", Column: 1, Kind: Fatal}
	notNull := Check{Name: "n", Column: 0, Kind: NotNull}
	dropped := Check{Name: "known", Column: 1, Kind: Dropped}
	for name, c := range map[string]struct {
		checks []Check
		batch  *column.Batch
		want   string
	}{
		"all are good":                           {[]Check{fatal, notNull}, passing([]int64{1, 2}, []int64{1, 1}), ""},
		"an expectation is violated":             {[]Check{fatal, notNull}, passing([]int64{1, 2}, []int64{1, 0}), "expectation 'positive' is violated by the record at topic 't', partition 3, offset 7: (n > 0) is not true; its row: n=2"},
		"an expectation is NULL":                 {[]Check{fatal}, passing([]int64{5}, []int64{-1}), "its row: n=5"},
		"a column is NULL":                       {[]Check{notNull}, passing([]int64{1, -1}), "column 'n' is NOT NULL, and the record at topic 't', partition 3, offset 7 gives NULL; its row: n=NULL"},
		"a column is NULL in a row that is gone": {[]Check{dropped, notNull}, passing([]int64{1, -1}, []int64{1, 0}), ""},
	} {
		x := newChecker(&rulesQuery{checks: c.checks})
		_, err := x.apply(c.batch)
		var v *violation
		switch {
		case c.want == "" && err == nil:
		case c.want == "" || !errors.As(err, &v):
			t.Errorf("%s: %v", name, err)
		default:
			of := v.of("t", 3, 7)
			if !sqlerr.HasKind(of, sqlerr.RuleViolated) || !strings.Contains(of.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, of, c.want)
			}
			if mayPass(of) || !ofRecord(err) {
				t.Errorf("%s: the violation may pass, or is not a record's", name)
			}
		}
	}
}

func TestChecksAllocateNothing(t *testing.T) {
	q := &rulesQuery{checks: []Check{{Name: "a", Column: 1, Kind: Dropped}, {Name: "b", Column: 2}, {Name: "n", Kind: NotNull}}}
	n := make([]int64, 1000)
	ones, some := make([]int64, 1000), make([]int64, 1000)
	for i := range ones {
		ones[i], some[i] = 1, int64(i%2)
	}
	b := passing(n, some, ones)
	c := newChecker(q)
	if allocated := testing.AllocsPerRun(100, func() {
		if _, err := c.apply(b); err != nil {
			t.Fatal(err)
		}
	}); allocated > 0 {
		t.Errorf("%v allocations a batch", allocated)
	}
}

// A violation among many records is found, and named; what the runs before it counted does not count twice.
func TestTheRecordThatViolatesARuleIsFound(t *testing.T) {
	r := gathered(5000, 300)
	q := &violatingQuery{at: 3210}
	x := &Table{columns: numberField, checker: newChecker(q)}
	x.begins()
	_, err := x.isolate(t.Context(), q, r)
	if err == nil || !strings.Contains(err.Error(), "partition 0, offset 3210") {
		t.Fatal(err)
	}
	q.at = -1
	x.begins()
	if _, err := x.isolate(t.Context(), q, r); err != nil || x.rows.N != 5000 || x.checker.tallies[0].Passed != 5000 {
		t.Errorf("%v, %d rows, %+v", err, x.rows.N, x.checker.tallies)
	}
}

// violatingQuery gives the offsets of records; that at violates an expectation.
type violatingQuery struct {
	offsetsQuery
	at int64
}

func (q *violatingQuery) Columns() []column.Field { return numberField }
func (q *violatingQuery) Checks() []Check         { return []Check{{Name: "e", Column: 1, Kind: Fatal}} }

func (q *violatingQuery) Run(ctx context.Context, open Open, take func(*column.Batch) error) (*column.Batch, error) {
	return q.offsetsQuery.Run(ctx, open, func(b *column.Batch) error {
		result := make([]int64, b.N)
		for i, x := range b.Cols[0].Int[:b.N] {
			if x != q.at {
				result[i] = 1
			}
		}
		return take(passing(b.Cols[0].Int[:b.N], result))
	})
}

func BenchmarkChecks(b *testing.B) {
	q := &rulesQuery{checks: []Check{{Name: "a", Column: 1, Kind: Dropped}, {Name: "b", Column: 2}, {Name: "n", Kind: NotNull}}}
	n, ones := make([]int64, 4096), make([]int64, 4096)
	for i := range ones {
		ones[i] = 1
	}
	batch := passing(n, ones, ones)
	c := newChecker(q)
	b.ReportAllocs()
	b.SetBytes(4096)
	for b.Loop() {
		if _, err := c.apply(batch); err != nil {
			b.Fatal(err)
		}
	}
}
