package sqlerr

import (
	"errors"
	"strings"
	"testing"
)

// A password was a word of a hint, and the hint lost it.
func TestMapChangesWhatIsQuotedAndNotTheWordsOfAnError(t *testing.T) {
	strike := func(s string) string { return strings.ReplaceAll(s, "column", "***") }
	e := New(NoColumn, "column '%s' of %d columns: %w", "my column", 3, errors.New("no column")).WithDetail("%v, %v", []string{"column a"}, true).WithHint("name a column such as %q", "column b")
	got := e.Map(strike)
	if want := "column 'my ***' of 3 columns: no ***\ndetail: [*** a], true\nhint: name a column such as \"*** b\""; got.Error() != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got.Err != nil || e.Msg != "column 'my column' of 3 columns: no column" {
		t.Errorf("%v, %v", got.Err, e)
	}
	if again := got.Map(strike); again.Error() != got.Error() {
		t.Errorf("a second time: %s", again)
	}
	if inner := New(Engine, "%s: %v", "column", New(NoColumn, "column '%s'", "column")).Map(strike); inner.Msg != "***: column '***'" {
		t.Error(inner)
	}
	fixed := New(NoColumn, "none").WithFixedHint("100% of a column")
	if got := fixed.Map(strike); got.Hint != fixed.Hint {
		t.Error(got)
	}
	replaced := New(NoColumn, "none")
	replaced.Hint = "column"
	if got := replaced.Map(strike); got.Hint != "***" {
		t.Error(got)
	}
}
