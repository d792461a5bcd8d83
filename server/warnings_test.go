package server

import (
	"strings"
	"testing"
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
