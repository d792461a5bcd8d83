package planner

import (
	"strings"
	"testing"
)

// Functions that the generated queries hold are computed by the scan where that is meant, not only with the same result.
func TestFunctionsAreComputedByTheScan(t *testing.T) {
	e := newTestEngine(t, generate(7, 100))
	for _, q := range []string{
		"SELECT to_timestamp(concat('3.1.2026 ', `partition`), 'd.M.yyyy H') FROM records()",
		"SELECT try_to_timestamp({`value`:s}, \"'s'd\"), `offset` FROM records() WHERE try_to_timestamp({`value`:s}, \"'s'd\") > '1970-01-02'",
		"SELECT json_extract({`value`?::JSON}, '$.o.p[1]'), json_unquote(json_extract({`value`?::JSON}, '$.s')) FROM records()",
		"SELECT COUNT(*), json_unquote(json_extract({`value`?::JSON}, '$.s')) FROM records() GROUP BY json_unquote(json_extract({`value`?::JSON}, '$.s'))",
		"SELECT `offset` % `partition`, 7 % (`offset` - 3), `offset` % length(`key`) FROM records() WHERE `offset` % (`partition` + 2) = 1",
		"SELECT SUM(`partition` + CAST(1 AS UNSIGNED)), MAX(`partition` + CAST(1 AS UNSIGNED)) FROM records()",
	} {
		e.both(q)
		if plan := e.plan(q); !strings.HasPrefix(plan, "Scan(") {
			t.Errorf("%s\n%s", q, plan)
		}
	}
}
