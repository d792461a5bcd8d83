package planner

import (
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// splits is what EXPLAIN adds about the moment; the scripts leave it out.
var splits = regexp.MustCompile(`(?m)^.*(splits: \d+ with|split: ).*\n?`)

// TestExplain runs the scripts in testdata/explain. A script has a query and its plan; every pushdown stands beside a query where it must
// not happen. -rewrite refreshes them.
func TestExplain(t *testing.T) {
	datadriven.Walk(t, "testdata/explain", func(t *testing.T, path string) {
		e := newTestEngine(t, generate(1, 50))
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "pushdown":
				e.pushdown(strings.TrimSpace(d.Input))
				return ""
			case "trusted": // whether there is a timestampSkew
				e.log.trusted = strings.TrimSpace(d.Input) == "on"
				return ""
			case "explain":
				plan := e.plan(strings.TrimSpace(d.Input))
				return lastBranch(splits.ReplaceAllString(plan+"\n", ""))
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
				return ""
			}
		})
	})
}

// lastBranch redraws the corner of a tree whose last lines were taken off.
func lastBranch(plan string) string {
	lines := strings.Split(strings.TrimRight(plan, "\n"), "\n")
	for i, line := range lines {
		at := strings.Index(line, "├─")
		if at < 0 {
			continue
		}
		last := true
		for _, below := range lines[i+1:] {
			if !strings.HasPrefix(below, line[:at]) {
				break
			}
			if r := below[at:]; strings.HasPrefix(r, "├") || strings.HasPrefix(r, "└") {
				last = false
				break
			} else if !strings.HasPrefix(r, "│") && !strings.HasPrefix(r, " ") {
				break
			}
		}
		if last {
			lines[i] = line[:at] + "└─" + line[at+len("├─"):]
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
