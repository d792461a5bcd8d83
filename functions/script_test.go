package functions

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"millrace/internal/sqlerr"
	"millrace/server/dialect"
)

// TestScripts runs testdata/*: a statement of the dialect in, its rows or its error out. `exec` is for set-up and shows nothing but errors; `eval` is a list of
// expressions, one a line.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		e := newTestEngine(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "exec":
				if _, err := e.query(d.Input); err != nil {
					return show(err)
				}
				return ""
			case "query":
				return run(e, d.Input) + "\n"
			case "eval":
				var b strings.Builder
				for line := range strings.SplitSeq(d.Input, "\n") {
					b.WriteString(line + "\n    " + run(e, "SELECT "+line) + "\n")
				}
				return b.String()
			}
			t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			return ""
		})
	})
}

func run(e *testEngine, statement string) string {
	rewritten, err := dialect.Rewrite(statement, dialect.Mode{})
	if err != nil {
		return show(err)
	}
	text := rewritten.SQL
	if _, ok := rewritten.Statement.(dialect.Explain); ok {
		text = "EXPLAIN FORMAT=TREE " + text
	}
	out, err := e.query(text)
	if err != nil {
		return show(err)
	}
	return out
}

func show(err error) string {
	text := strings.ReplaceAll(err.Error(), "\n", "\n    ")
	if e, ok := sqlerr.As(err); ok {
		return "error " + e.Kind.Symbol + ": " + text
	}
	return "error: " + text
}
