package readkafka

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/sqlerr"
)

// both runs a check with pushdown and without.
func both(t *testing.T, s *session, check func(t *testing.T)) {
	for _, pushdown := range []string{"on", "off"} {
		t.Run("pushdown "+pushdown, func(t *testing.T) {
			s.mustQuery("SET SESSION pushdown = '" + pushdown + "'")
			check(t)
		})
	}
}

// withDeadline bounds the statements of a session: one that should be refused and is not would never end.
func (s *session) withDeadline(t *testing.T) *session {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	bounded := *s
	bounded.ctx = sql.NewContext(ctx, sql.WithSession(s.ctx.Session))
	return &bounded
}

const endlessCall = "$('#stream', 1, 'subscribe', 'events', 'startingOffsets', 'earliest')"

func TestAStreamIsRefusedWhereItsEndIsAwaited(t *testing.T) {
	s := newSession(t, newBroker(t)).withDeadline(t)
	s.mustQuery("CREATE TABLE few (p INT)")
	s.mustQuery("INSERT INTO few VALUES (0), (1)")
	s.mustQuery("CREATE TABLE sink (p INT)")
	both(t, s, func(t *testing.T) {
		for _, c := range []struct{ query, says string }{
			{"SELECT COUNT(*) FROM STREAM", "GROUP BY, or an aggregate"},
			{"SELECT `partition`, MAX(`offset`) FROM STREAM GROUP BY `partition`", "GROUP BY"},
			{"SELECT * FROM STREAM ORDER BY `offset`", "ORDER BY"},
			{"SELECT * FROM STREAM ORDER BY `offset` LIMIT 3", "ORDER BY"},
			{"SELECT `offset` FROM STREAM ORDER BY `offset` DESC LIMIT 3", "ORDER BY"},
			{"SELECT DISTINCT `partition` FROM STREAM", "DISTINCT"},
			{"SELECT ROW_NUMBER() OVER (PARTITION BY `partition` ORDER BY `offset`) FROM STREAM", "window"},
			{"SELECT * FROM few WHERE p IN (SELECT `partition` FROM STREAM)", ""},
			{"SELECT (SELECT MAX(`offset`) FROM STREAM)", "aggregate"},
			{"SELECT * FROM few WHERE EXISTS (SELECT 1 FROM STREAM WHERE `partition` = p AND `offset` < p)", ""},
			{"SELECT * FROM STREAM a JOIN STREAM b ON a.`offset` = b.`offset`", "join"},
			{"SELECT `offset` FROM STREAM UNION SELECT p FROM few", "set operation"},
			{"SELECT `offset` FROM STREAM UNION ALL SELECT p FROM few", "set operation"},
			{"SELECT p FROM few EXCEPT SELECT `offset` FROM STREAM", "set operation"},
			{"INSERT INTO sink SELECT `partition` FROM STREAM", "INSERT"},
			{"CREATE TABLE copied AS SELECT `partition` FROM STREAM", ""},
			{"SELECT c FROM (SELECT COUNT(*) AS c FROM STREAM) t LIMIT 1", "aggregate"},
			{"WITH w AS (SELECT * FROM STREAM) SELECT COUNT(*) FROM w", "aggregate"},
			{"EXPLAIN SELECT COUNT(*) FROM STREAM", "aggregate"},
		} {
			_, err := s.query(strings.ReplaceAll(c.query, "STREAM", endlessCall))
			if e, ok := sqlerr.As(err); !ok || e.Kind != sqlerr.StreamEndless || !strings.Contains(e.Msg, c.says) || !strings.Contains(e.Hint, "max_read_time_seconds") {
				t.Errorf("%s: got %v", c.query, err)
			}
		}
	})
}

func TestAStreamGivesRowsWhereNoEndIsAwaited(t *testing.T) {
	s := newSession(t, newBroker(t)).withDeadline(t)
	s.mustQuery("CREATE TABLE few (p INT)")
	s.mustQuery("INSERT INTO few VALUES (0), (1)")
	s.mustQuery("CREATE VIEW v AS SELECT `partition` AS p, `offset` AS o FROM " + s.call("'#stream', 1, 'subscribe', 'events', 'startingOffsets', 'earliest'"))
	both(t, s, func(t *testing.T) {
		for _, c := range []struct {
			query string
			rows  int
		}{
			{"SELECT * FROM STREAM LIMIT 5", 5},
			{"SELECT `offset` FROM STREAM WHERE `partition` = 1 AND `offset` >= 90 LIMIT 10", 10},
			{"SELECT `value` FROM STREAM WHERE `value` LIKE 'value-1%' LIMIT 3 OFFSET 2", 3},
			{"SELECT upper(hex(`key`)) FROM STREAM WHERE length(`key`) > 0 LIMIT 3", 3},
			{"SELECT DISTINCT `partition` FROM STREAM LIMIT 3", 3},
			{"SELECT COUNT(*) FROM (SELECT * FROM STREAM LIMIT 7) t", 1},
			{"SELECT * FROM (SELECT * FROM STREAM LIMIT 7) t ORDER BY `offset` DESC", 7},
			{"SELECT * FROM v WHERE o > 10 LIMIT 4", 4},
			{"SELECT p FROM few UNION ALL SELECT `offset` FROM STREAM LIMIT 9", 9},
			{"SELECT /*+ JOIN_ORDER(s, few) */ s.`offset` FROM STREAM s LEFT JOIN few ON p = s.`partition` LIMIT 6", 6},
			// With a time or a number of records to end it, everything is allowed.
			{"SELECT `partition`, COUNT(*) FROM $('#stream', 1, 'subscribe', 'events', 'startingOffsets', 'earliest', 'max_read_time_seconds', 0.3) GROUP BY `partition`", 3},
			{"SELECT `offset` FROM $('#stream', 1, 'subscribe', 'events', 'startingOffsets', 'earliest', 'max_num_records', 50) ORDER BY `offset` DESC", 50},
			{"SELECT * FROM $('#stream', 1, 'subscribe', 'events', 'max_read_time_seconds', 0.1)", 0},
		} {
			if rows, err := s.query(strings.ReplaceAll(c.query, "STREAM", endlessCall)); err != nil || len(rows) != c.rows {
				t.Errorf("%s: %d rows, %v", c.query, len(rows), err)
			}
		}
	})
	for _, row := range s.mustQuery("SELECT COUNT(*) FROM $('#stream', 1, 'subscribe', 'events', 'startingOffsets', 'earliest', 'max_read_time_seconds', 0.5)") {
		if fmt.Sprint(row[0]) != "300" {
			t.Errorf("counted %v", row[0])
		}
	}
}

func TestExplainShowsATail(t *testing.T) {
	s := newSession(t, newBroker(t))
	var text strings.Builder
	for _, row := range s.mustQuery("EXPLAIN FORMAT=TREE SELECT `value` FROM " + endlessCall + " WHERE `partition` = 1 LIMIT 3") {
		fmt.Fprintln(&text, row[0])
	}
	for _, want := range []string{"live tail: 1 partitions", "split: events/1 [0, ∞)", "limit: 3"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
}

func TestArgumentsOfAStream(t *testing.T) {
	s := newSession(t, newBroker(t)).withDeadline(t)
	for _, c := range []struct {
		args string
		kind *sqlerr.Kind
		says string
	}{
		{"'subscribe', 'events', 'partitionDiscoveryInterval', '5'", nil, ""},
		{"'subscribe', 'events', 'partition_discovery_interval', '2m'", nil, ""},
		{"'subscribe', 'events', 'dynamic_read_poll_interval_seconds', 0.5", nil, ""},
		{"'subscribe', 'nowhere', 'missingTopic', 'wait'", nil, ""},
		{"'subscribe', 'events', 'partitionDiscoveryInterval', 'soon'", sqlerr.OptionInvalid, "partitionDiscoveryInterval"},
		{"'subscribe', 'events', 'partitionDiscoveryInterval', '1ms'", sqlerr.OptionInvalid, "10ms"},
		{"'subscribe', 'events', 'endingOffsets', 'latest'", sqlerr.OptionForbidden, "endingOffsets"},
		{"'subscribe', 'nowhere'", sqlerr.KafkaTopicNotFound, "nowhere"},
	} {
		_, err := s.query("SELECT * FROM $('#stream', 1, " + c.args + ", 'max_read_time_seconds', 0.05)")
		if c.kind == nil && err == nil {
			continue
		}
		if e, ok := sqlerr.As(err); !ok || e.Kind != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v", c.args, err)
		}
	}
}
