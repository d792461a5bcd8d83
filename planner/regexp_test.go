package planner

import (
	"strings"
	"testing"
)

// A regular expression runs in the scan when it is a constant over text; what the engine refuses or makes NULL of stays there.
func TestRegularExpressionsAreCheckedInTheScan(t *testing.T) {
	e := newTestEngine(t, generate(7, 80))
	for _, tc := range []struct {
		predicate string
		pushed    bool
	}{
		{"{`value`:s} REGEXP '^s[0-9]'", true},
		{"topic NOT REGEXP 'a|b'", true},
		{"regexp_like(topic, 'A', 'i')", true},
		{"regexp_like(topic, 'A', 'x')", false},
		{"topic REGEXP `key`", false},
		{"topic REGEXP NULL", false},
		{"topic REGEXP ''", false},
		{"topic REGEXP '('", false},
		{"`value` REGEXP 'a'", false},
		{"`offset` REGEXP '1'", false},
	} {
		query := "SELECT `offset` FROM records() r WHERE " + tc.predicate
		plan := e.plan(query)
		if pushed := strings.Contains(plan, "checked in the scan") && !strings.Contains(plan, "Filter"); pushed != tc.pushed {
			t.Errorf("%s: pushed is %v\n%s", tc.predicate, pushed, plan)
		}
		if tc.pushed {
			e.both(query)
		}
	}
}
