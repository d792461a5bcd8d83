package readkafka

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/twmb/franz-go/pkg/kfake"

	"millrace/internal/testkit"
)

// TestGeneratedQueriesAgreeOnHistories compares pushdown with the engine on random queries over logs as brokers hold them: with transactions, gaps of
// compaction, removed records, timestamps in any order. 40 queries, in CI 400; package planner has the oracle of expressions.
func TestGeneratedQueriesAgreeOnHistories(t *testing.T) {
	n := 40
	if os.Getenv("CI") == "true" {
		n = 400
	}
	const perHistory = 20
	for seed := range uint64(n / perHistory) {
		b := testkit.StartBroker(t, kfake.NumBrokers(1))
		h := testkit.NewHistory(t, b, 7000+seed)
		b.Topic(t, "other", 2, nil)
		s := newSession(t, b.Addrs[0])
		rnd := rand.New(rand.NewPCG(seed, 9))
		for range perHistory {
			compareOnHistory(t, s, h, rnd)
		}
	}
}

// kafkaQuery is a random query. keys are its sort keys; then limit is not empty.
type kafkaQuery struct{ list, from, keys, limit string }

func (q kafkaQuery) String() string {
	s := "SELECT " + q.list + " FROM " + q.from
	if q.keys != "" {
		s += " ORDER BY " + q.keys
	}
	return s + q.limit
}

func compareOnHistory(t *testing.T, s *session, h *testkit.History, rnd *rand.Rand) {
	t.Helper()
	q := randomKafkaQuery(h, rnd)
	run := func(on, query string) []string {
		s.mustQuery("SET SESSION pushdown = '" + on + "'")
		// An execution is a statement of its own.
		outside := s.ctx
		s.ctx = outside.WithContext(WithStatement(context.Background()))
		defer func() { s.ctx = outside }()
		var out []string
		for _, row := range s.mustQuery(query) {
			out = append(out, showKafkaRow(t, s.ctx, row))
		}
		return out
	}
	want, got := run("off", q.String()), run("on", q.String())
	why := ""
	switch {
	case len(want) != len(got):
		why = fmt.Sprintf("%d rows, want %d", len(got), len(want))
	case q.limit != "":
		// Rows that tie may be others; their keys are the same, and they are rows of the whole result.
		whole := map[string]int{}
		for _, r := range run("off", kafkaQuery{list: q.list, from: q.from}.String()) {
			whole[r]++
		}
		for _, r := range got {
			if whole[r]--; whole[r] < 0 {
				why = "a row that is not there without LIMIT: " + r
			}
		}
		if q.keys != "" {
			keys := kafkaQuery{strings.ReplaceAll(q.keys, " DESC", ""), q.from, q.keys, q.limit}.String()
			if a, b := run("off", keys), run("on", keys); !slices.Equal(a, b) {
				why = fmt.Sprintf("sort keys\n%s\nwant\n%s", strings.Join(b, "\n"), strings.Join(a, "\n"))
			}
		}
	default:
		sort.Strings(want)
		sort.Strings(got)
		if !slices.Equal(want, got) {
			why = fmt.Sprintf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if why != "" {
		t.Fatalf("%s: %s\n%s\n%s", h.Topic, q, why, s.explain(q.String()))
	}
}

func showKafkaRow(t *testing.T, ctx *sql.Context, row sql.Row) string {
	t.Helper()
	var parts []string
	for _, v := range row {
		if w, ok := v.(sql.JSONWrapper); ok {
			x, err := w.ToInterface(ctx)
			if err != nil {
				t.Fatal(err)
			}
			v = x
		}
		parts = append(parts, fmt.Sprintf("%v", v))
	}
	return strings.Join(parts, "|")
}

func randomKafkaQuery(h *testkit.History, rnd *rand.Rand) kafkaQuery {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	args := pick("'subscribe', '"+h.Topic+"'", "'subscribe', '"+h.Topic+",other'", "'subscribePattern', '.*'") + ", 'includeHeaders', 'true'"
	args += pick("", ", 'isolationLevel', 'read_uncommitted'")
	// The timestamps of a history lie within 100 s, so this assertion is true.
	args += pick("", ", 'timestampSkew', '100s'")
	args += pick("", "", ", 'minPartitions', '7'")
	args += pick("", "", ", 'redistribute', 'true'", ", 'readers', '1', 'redistribute', 'true'")
	q := kafkaQuery{from: "$(" + args + ")"}
	op := func() string { return pick("=", "<>", "<", "<=", ">", ">=") }
	at := func() string {
		return fmt.Sprintf("from_unixtime(%d) + INTERVAL %d MICROSECOND", 1_700_000_000+rnd.IntN(110)-5, rnd.IntN(1_000_000))
	}
	var predicate func(depth int) string
	predicate = func(depth int) string {
		if depth > 0 {
			switch rnd.IntN(5) {
			case 0:
				return "(" + predicate(depth-1) + " OR " + predicate(depth-1) + ")"
			case 1:
				return "(" + predicate(depth-1) + " AND " + predicate(depth-1) + ")"
			case 2:
				return "NOT " + predicate(depth-1)
			}
		}
		switch rnd.IntN(8) {
		case 0:
			return fmt.Sprintf("`partition` %s %d", op(), rnd.IntN(4))
		case 1:
			return fmt.Sprintf("`offset` BETWEEN %d AND %d", rnd.IntN(100), rnd.IntN(400))
		case 2:
			return fmt.Sprintf("`offset` IN (%d, %d, %d)", rnd.IntN(50), rnd.IntN(50), rnd.IntN(300))
		case 3:
			return "`timestamp` " + op() + " " + at()
		case 4:
			return "`timestamp` BETWEEN " + at() + " AND " + at()
		case 5:
			return "topic " + op() + " '" + pick(h.Topic, "other", "i", "") + "'"
		case 6:
			return pick("headers IS NULL", "`key` IS NULL", "`value` IS NOT NULL", "length(`value`) > 30", "`offset` % 7 = 1")
		default:
			return fmt.Sprintf("`offset` %s %d", op(), rnd.IntN(200))
		}
	}
	if rnd.IntN(4) > 0 {
		q.from += " WHERE " + predicate(2)
	}
	switch rnd.IntN(5) {
	case 0:
		q.list = pick("COUNT(*)", "MAX(`offset`)", "MAX(`offset`)", "MIN(`offset`), MAX(`offset`), COUNT(*)", "MAX(`timestamp`)", "MAX(`timestamp`), MIN(`timestamp`)", "MAX(`offset`), COUNT(headers)")
	case 1:
		key := pick("topic", "`partition`", "timestampType", "topic, `partition`", "`key`")
		q.list = key + pick(", COUNT(*)", ", MAX(`offset`), MIN(`offset`)", ", MAX(`timestamp`), COUNT(*)")
		q.from += " GROUP BY " + key
	case 2:
		q.list = "topic, `partition`, `offset`, `timestamp`, `key`, `value`, headers"
	default:
		q.list = pick("topic, `partition`, `offset`", "`value`, `timestamp`", "headers, `key`")
		q.keys = pick("`offset` DESC", "`offset` DESC, `partition`", "`timestamp` DESC", "`timestamp` DESC, `offset`", "`timestamp`", "`offset`, topic DESC", "length(`value`) DESC", "`key`, `offset` DESC")
		q.limit = fmt.Sprintf(" LIMIT %d", 1+rnd.IntN(40)) + pick("", fmt.Sprintf(" OFFSET %d", rnd.IntN(30)))
	}
	return q
}
