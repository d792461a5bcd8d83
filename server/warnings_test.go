package server

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
)

// warningSink keeps the warnings of statements, and looks at the session while rows come.
type warningSink struct {
	session  *session
	most     int
	warnings []string
}

func (*warningSink) Done(uint64, uint64, string) error { return nil }
func (*warningSink) Begin([]ResultColumn) error        { return nil }
func (*warningSink) End() error                        { return nil }

func (s *warningSink) Row([][]byte) error {
	if s.session != nil {
		s.most = max(s.most, len(s.session.sql.Warnings()))
	}
	return nil
}

func (s *warningSink) Warning(_ int, message string) error {
	s.warnings = append(s.warnings, message)
	return nil
}

// A user saw the server grow to 362 MB by a statement that made a warning for each record: it kept them until the next statement.
func TestWarningsAreBoundedWhileAStatementRuns(t *testing.T) {
	const records = 40_000
	broker := topic(t, "orders", records)
	r := start(t)
	text := "SELECT abs(key::string) FROM read_kafka(bootstrapServers => '" + broker + "', subscribe => 'orders')"

	x := r.local()
	defer x.close()
	if err := x.use(t.Context(), MainDatabase); err != nil {
		t.Fatal(err)
	}
	s := &warningSink{session: x}
	if err := x.query(t.Context(), text, &localResults{out: s}); err != nil {
		t.Fatal(err)
	}
	if s.most == 0 || s.most > records/2 {
		t.Errorf("%d warnings were kept at a time", s.most)
	}
	if kept, all := len(x.sql.Warnings()), x.warningCount(); kept != defaultMaxErrorCount || all != records {
		t.Errorf("%d warnings of %d are kept", kept, all)
	}

	// millrace query prints those that are kept, and how many there are beside them.
	s = &warningSink{}
	if err := r.Query(t.Context(), text, s); err != nil {
		t.Fatal(err)
	}
	if len(s.warnings) != defaultMaxErrorCount+1 || !strings.HasPrefix(s.warnings[defaultMaxErrorCount], "38976 more warnings") {
		t.Errorf("%d warnings were told, the last: %q", len(s.warnings), s.warnings[len(s.warnings)-1])
	}
}

// A user saw after a statement that failed that bad values "are NULL, and _error says why", also after the next one, which failed for another reason.
func TestWarningsAfterAnErrorAreTheError(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 1, nil)
	testkit.Produce(t, b.Client(t), &kgo.Record{Topic: "orders", Value: []byte(`{"id":1}`)}, &kgo.Record{Topic: "orders", Value: []byte(`{`)})
	db := start(t).root(t)
	db.SetMaxOpenConns(1)
	call := func(mode string) string {
		return "SELECT id FROM read_kafka(bootstrapServers => '" + b.Addrs[0] + "', subscribe => 'orders', format => 'json', schema => 'id BIGINT', mode => '" + mode + "')"
	}
	const none = "Level|Code|Message"
	for _, statement := range []string{call("FAILFAST"), "SELECT nope", "SELEC 1", "SHOW STREAMING TABLES FROM nope", "CREATE CONNECTION", "KILL 4711", "SELECT ? + nope"} {
		want(t, db, call("PERMISSIVE"), "id\n1\nNULL")
		if got, err := rows(db, "SHOW WARNINGS"); err != nil || !strings.Contains(got, "they are NULL") {
			t.Fatalf("a statement with a bad record warns of %q, %v", got, err)
		}
		want(t, db, "SHOW ERRORS", none)
		want(t, db, "SHOW COUNT(*) ERRORS", "@@session.error_count\n0")
		var args []any
		if strings.Contains(statement, "?") {
			args = append(args, 1)
		}
		_, err := rows(db, statement, args...)
		var e *mysql.MySQLError
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", statement, err)
		}
		shown := fmt.Sprintf("%s\nError|%d|%s", none, e.Number, e.Message)
		for _, show := range []string{"SHOW WARNINGS", "SHOW ERRORS", "SHOW ERRORS LIMIT 1", "SHOW ERRORS LIMIT 0, 5"} {
			want(t, db, show, shown)
		}
		want(t, db, "SHOW ERRORS LIMIT 1, 1", none)
		want(t, db, "SHOW COUNT(*) ERRORS", "@@session.error_count\n1")
		want(t, db, "SHOW COUNT(*) WARNINGS", "@@session.warning_count\n1")
		want(t, db, "SELECT @@error_count, @@warning_count", "@@error_count|@@warning_count\n1|1")
		want(t, db, "SHOW WARNINGS", none)
	}
}
