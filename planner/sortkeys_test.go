package planner

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression"
	"github.com/dolthub/go-mysql-server/sql/plan"
	"github.com/dolthub/go-mysql-server/sql/types"

	"millrace/internal/memory"
)

// countedKey counts how often a key is evaluated.
type countedKey struct {
	sql.Expression
	evaluated *atomic.Int64
}

func (k countedKey) Eval(ctx *sql.Context, row sql.Row) (any, error) {
	k.evaluated.Add(1)
	return k.Expression.Eval(ctx, row)
}

func TestKeysOfAnOrderAreComputedOncePerRow(t *testing.T) {
	const rows = 500
	tuples := make([][]sql.Expression, rows)
	for i := range tuples {
		tuples[i] = []sql.Expression{expression.NewLiteral(int64(i*7919%rows), types.Int64)}
	}
	e := newTestEngine(t, nil)
	for _, limit := range []int64{-1, 1, 3} {
		var evaluated atomic.Int64
		values := plan.NewValueDerivedTable(e.ctx, plan.NewValues(tuples), "v")
		key := countedKey{expression.NewGetField(0, types.Int64, "n", false), &evaluated}
		by := sql.SortConditions{{Expr: key, Order: sql.Descending, NullOrdering: sql.NullsFirst}}
		var n sql.Node = plan.NewSort(by, values)
		if limit > 0 {
			n = plan.NewTopN(by, expression.NewLiteral(limit, types.Int64), values)
		}
		iter, err := e.engine.Analyzer.ExecBuilder.Build(e.ctx, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := sql.RowIterToRows(e.ctx, iter)
		if err != nil {
			t.Fatal(err)
		}
		want := int64(rows)
		if limit > 0 {
			want = limit
		}
		for i, row := range got {
			if len(row) != 1 || row[0] != int64(rows-1-i) {
				t.Fatalf("limit %d: row %d is %v", limit, i, row)
			}
		}
		if int64(len(got)) != want || evaluated.Load() != rows {
			t.Errorf("limit %d: %d rows, %d keys computed of %d rows", limit, len(got), evaluated.Load(), rows)
		}
	}
}

func TestOrdersByComputedKeysAreThoseOfTheEngine(t *testing.T) {
	e := newTestEngine(t, generate(4, 300))
	for _, limit := range []string{"", " LIMIT 1", " LIMIT 7", " LIMIT 7 OFFSET 4", " LIMIT 0"} {
		for _, by := range []string{
			"datediff(`timestamp`, '2026-01-01') DESC, topic, `partition`, `offset`", "`partition`, week(`timestamp`), `offset` DESC, topic", "1 + 1, soundex(topic) DESC, topic, `partition`, `offset`",
			"(SELECT MAX(n) FROM numbers WHERE n <= r.`offset` % 5) DESC, topic, `partition`, `offset`",
		} {
			e.both("SELECT topic, `partition`, `offset` FROM records() r ORDER BY " + by + ", topic" + limit) // no two rows tie
		}
	}
	if rows := e.mustQuery("SELECT n, (SELECT `offset` FROM records() r WHERE r.`offset` >= n ORDER BY week(`timestamp`) * 0, `offset` LIMIT 1) FROM numbers ORDER BY crc32(n), n LIMIT 3"); len(rows) == 0 {
		t.Error("no rows")
	}
	shuffled := e.mustQuery("SELECT topic, `partition`, `offset` FROM records() ORDER BY rand()")
	plain := e.mustQuery("SELECT topic, `partition`, `offset` FROM records()")
	slices.Sort(shuffled)
	slices.Sort(plain)
	if !slices.Equal(shuffled, plain) {
		t.Error("ORDER BY rand() loses rows")
	}
}

// The keys that rows carry count: those here are larger than the rows.
func TestKeysOfAnOrderAreCounted(t *testing.T) {
	const limit = 4 << 20
	budget := memory.New(64 << 20)
	e := newTestEngineWith(t, generate(2, 3000), Options{Memory: budget, MemoryBytes: limit})
	e.ctx = e.ctx.WithContext(WithStatement(e.ctx.Context))
	_, err := e.query(fmt.Sprintf("SELECT `offset` FROM records() ORDER BY rpad(soundex(topic), %d, 'x'), `offset`", 4000))
	if err == nil || !strings.Contains(err.Error(), "the rows of ORDER BY need more than the statement's") {
		t.Errorf("got %v", err)
	}
}
