package readkafka

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/sqlerr"
)

func (s *session) explain(q string) string {
	s.t.Helper()
	var lines []string
	for _, row := range s.mustQuery("EXPLAIN FORMAT=TREE " + q) {
		lines = append(lines, fmt.Sprint(row[0]))
	}
	return strings.Join(lines, "\n")
}

func TestExplainShowsWhatWouldBeRead(t *testing.T) {
	s := newSession(t, newBroker(t))
	got := s.explain("SELECT COUNT(*) FROM $('subscribe', 'events') WHERE `partition` IN (0, 2) AND `offset` >= 40")
	for _, want := range []string{
		"Scan(read_kafka)", "subscribe: events", "bounds: partition in [0, 1) ∪ [2, 3), offset in [40, ∞)", "aggregate: COUNT(1)", "reads: batch headers",
		"with 120 offsets, as of now", "events/0 [40, 100)", "events/2 [40, 100)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "events/1") {
		t.Errorf("partition 1 is not pruned:\n%s", got)
	}
}

// hiddenWord is a password that must not be seen anywhere.
const hiddenWord = "swordfish-7"

func TestSecretsStaySecret(t *testing.T) {
	s := newSession(t, "127.0.0.1:1")
	args := `'subscribe', 'events', 'kafka.security.protocol', 'SASL_PLAINTEXT', 'kafka.sasl.mechanism', 'PLAIN', 'kafka.sasl.jaas.config', 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="` + hiddenWord + `";'`
	q := "SELECT `value` FROM " + s.call(args) + " WHERE `partition` = 0"
	if got := s.explain(q); strings.Contains(got, hiddenWord) || !strings.Contains(got, "splits: not known") {
		t.Errorf("EXPLAIN shows\n%s", got)
	}
	if _, err := s.query(q); err == nil || strings.Contains(err.Error(), hiddenWord) {
		t.Errorf("the error is %v", err)
	}
	node, err := s.engine.AnalyzeQuery(s.ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(node) + sql.DebugString(s.ctx, node); strings.Contains(text, hiddenWord) {
		t.Errorf("the plan shows\n%s", text)
	}
	s.mustQuery("SET SESSION pushdown = 'off'")
	if got := s.explain(q); strings.Contains(got, hiddenWord) {
		t.Errorf("without pushdown EXPLAIN shows\n%s", got)
	}
}

func TestColumnsAreUndecidedUntilTheirArgumentIsKnown(t *testing.T) {
	s := newSession(t, newBroker(t))
	prepare := func(query string) error {
		_, err := s.query("PREPARE p FROM '" + strings.ReplaceAll(query, "'", "''") + "'")
		return err
	}
	if err := prepare("SELECT headers FROM " + s.call("'subscribe', 'events', 'includeHeaders', ?")); err != nil {
		t.Errorf("headers may be there: %v", err)
	}
	s.mustQuery("SET @h = 'false'")
	if _, err := s.query("EXECUTE p USING @h"); err == nil {
		t.Error("headers is there without includeHeaders")
	}
	if err := prepare("SELECT * FROM " + s.call("'subscribe', ?, 'startingOfsets', ?")); !sqlerr.HasKind(err, sqlerr.OptionUnknown) {
		t.Errorf("an unknown name is found at PREPARE: %v", err)
	}
}
