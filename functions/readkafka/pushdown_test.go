package readkafka

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/scan"
)

// reading is what the scans of a session have read.
type reading struct {
	scan.Source
	into *[]scan.Stats
}

func (r reading) Close() {
	*r.into = append(*r.into, r.Stats())
	r.Source.Close()
}

// watched is a session whose scans leave their counters in stats.
func watched(t *testing.T, broker string) (s *session, stats *[]scan.Stats) {
	stats = new([]scan.Stats)
	s = newSessionWith(t, broker, func(_ *sql.Context, src scan.Source) scan.Source { return reading{src, stats} })
	return s, stats
}

func TestPushdownReadsWhatIsNeeded(t *testing.T) {
	s, stats := watched(t, newBroker(t))
	for _, c := range []struct {
		name, query, want string
		// most is the number of records that the scan may deliver, counted the number of batches that their headers must have answered for.
		most, counted int64
	}{
		{"newest by offset", "SELECT `partition`, `offset` FROM $('subscribe', 'events') WHERE `partition` = 1 ORDER BY `offset` DESC LIMIT 2", "1 99 1 98 ", 64, 0},
		{"newest by timestamp", "SELECT `partition`, `offset` FROM $('subscribe', 'events', 'timestampSkew', '0s') ORDER BY `timestamp` DESC LIMIT 2", "2 99 1 99 ", 80, 0},
		{"newest by timestamp, not trusted", "SELECT `partition`, `offset` FROM $('subscribe', 'events') ORDER BY `timestamp` DESC LIMIT 2", "2 99 1 99 ", 300, 0},
		{"between, trusted", "SELECT COUNT(*) FROM $('subscribe', 'events', 'timestampSkew', '0s') WHERE `timestamp` BETWEEN '2026-01-02 03:05:00' AND '2026-01-02 03:05:10'", "11 ", 12, 0},
		{"between, not trusted", "SELECT COUNT(*) FROM $('subscribe', 'events') WHERE `timestamp` BETWEEN '2026-01-02 03:05:00' AND '2026-01-02 03:05:10'", "11 ", 300, 0},
		{"a skew that is wide", "SELECT COUNT(*) FROM $('subscribe', 'events', 'timestampSkew', '30s') WHERE `timestamp` < '2026-01-02 03:05:05'", "60 ", 90, 0},
		{"extremes", "SELECT MIN(`offset`), MAX(`offset`), MAX(`timestamp`), COUNT(*) FROM $('subscribe', 'events')", "0 99 2026-01-02 03:09:04 +0000 UTC 300 ", 300, 1},
		{"extremes by partition", "SELECT `partition`, MAX(`offset`) FROM $('subscribe', 'events') WHERE `partition` > 0 GROUP BY `partition` ORDER BY 1", "1 99 2 99 ", 200, 1},
		{"the greatest offset", "SELECT MAX(`offset`) FROM $('subscribe', 'events') WHERE `partition` = 1", "99 ", 64, 0},
		{"the greatest offset of some", "SELECT MAX(`offset`) FROM $('subscribe', 'events') WHERE `value` = 'value-240'", "80 ", 150, 0},
		{"the greatest timestamp, trusted", "SELECT MAX(`timestamp`) FROM $('subscribe', 'events', 'timestampSkew', '1h') WHERE `partition` = 0", "2026-01-02 03:09:02 +0000 UTC ", 64, 0},
		{"from where readers left off", "SELECT COUNT(*) FROM $('subscribe', 'events') WHERE `partition` = 0 AND `offset` >= 90 OR `partition` = 1 AND `offset` >= 20", "90 ", 90, 0},
		{"extremes of no records", "SELECT MAX(`offset`), MIN(`offset`) FROM $('subscribe', 'empty')", "<nil> <nil> ", 0, 0},
		{"topics by range", "SELECT COUNT(*) FROM $('subscribePattern', '.*') WHERE topic > 'ev' AND topic <> 'f'", "300 ", 300, 1},
		{"the other topics", "SELECT COUNT(*) FROM $('subscribePattern', '.*') WHERE topic NOT IN ('events')", "0 ", 0, 0},
	} {
		*stats = nil
		var out strings.Builder
		for _, row := range s.mustQuery(c.query) {
			for _, v := range row {
				fmt.Fprint(&out, v, " ")
			}
		}
		if out.String() != c.want {
			t.Errorf("%s: got %s, want %s", c.name, out.String(), c.want)
		}
		if len(*stats) != 1 || (*stats)[0].Records > c.most || (*stats)[0].BatchesCounted < c.counted {
			t.Errorf("%s: %+v", c.name, *stats)
		}
	}
}

func TestExplainSaysWhatIsTrusted(t *testing.T) {
	s := newSession(t, newBroker(t))
	const between = " WHERE `timestamp` >= '2026-01-02 03:05:00' AND `timestamp` < '2026-01-02 03:05:10' "
	for _, c := range []struct{ args, query, want, not string }{
		{"'timestampSkew', '1s'", between, "timestamp below 2026-01-02 03:05:10.000, trusted", "LogAppendTime"},
		{"'failOnDataLoss', 'true'", between, "timestamp below 2026-01-02 03:05:10.000 (LogAppendTime only)", "trusted"},
		{"'timestampSkew', '1s'", "ORDER BY `timestamp` DESC LIMIT 3", "DESC, read backwards from the end, trusted", ""},
		{"'failOnDataLoss', 'true'", "ORDER BY `timestamp` DESC LIMIT 3", "order: read_kafka.timestamp DESC", "backwards"},
		{"'failOnDataLoss', 'true'", "ORDER BY `offset` DESC LIMIT 3", "DESC, read backwards from the end", "trusted"},
		{"'timestampSkew', '1s'", "ORDER BY `timestamp` LIMIT 3", "order: read_kafka.timestamp", "backwards"},
		// A live read has no end to begin at.
		{"'#stream', 1, 'maxReadTimeSeconds', '1'", "ORDER BY `offset` DESC LIMIT 3", "order: read_kafka.offset DESC", "backwards"},
	} {
		got := s.explain("SELECT `value` FROM $('subscribe', 'events', " + c.args + ") " + c.query)
		if !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s %s: want %q, not %q, in\n%s", c.args, c.query, c.want, c.not, got)
		}
	}
}

// TestStatementSeesOneMoment: records that come while a statement runs are seen by none of its references or by all, whatever their arguments.
func TestStatementSeesOneMoment(t *testing.T) {
	broker := newBroker(t)
	s := newSession(t, broker)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	outside := s.ctx
	count := func(call string) string { return fmt.Sprint(s.mustQuery("SELECT COUNT(*) FROM " + call)) }
	for range 2 {
		before := count("$('subscribe', 'events')")
		s.ctx = outside.WithContext(WithStatement(context.Background()))
		for i, call := range []string{
			"$('subscribe', 'events')", "$('subscribePattern', 'ev.*')", "$('assign', '{\"events\":[0,1,2]}')", "$('subscribe', 'events,empty')",
			"$('subscribe', 'events', 'isolationLevel', 'read_uncommitted')", "$('subscribe', 'events') WHERE `value` IS NULL OR `value` IS NOT NULL",
		} {
			if got := count(call); got != before {
				t.Errorf("%s: %s, want %s", call, got, before)
			}
			if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "events", Partition: int32(i % 3)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		s.ctx = outside
	}
}
