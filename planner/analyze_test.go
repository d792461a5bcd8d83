package planner

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"
)

// explain gives the rows of an EXPLAIN in a format of the engine.
func (e *testEngine) explain(query, format string, analyze bool) (string, error) {
	e.t.Helper()
	query = dialect(query)
	ast, err := sqlparser.Parse(query)
	if err != nil {
		return "", err
	}
	_, iter, _, err := e.engine.QueryWithBindings(e.ctx, query, &sqlparser.Explain{Statement: ast, ExplainFormat: format, Analyze: analyze}, nil, nil)
	if err != nil {
		return "", err
	}
	rows, err := sql.RowIterToRows(e.ctx, iter)
	var lines []string
	for _, r := range rows {
		lines = append(lines, r[0].(string))
	}
	return strings.Join(lines, "\n") + "\n", err
}

// What differs from run to run.
var volatile = []struct {
	at *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`time [0-9.]+(ns|µs|ms|s)`), "time …"},
	{regexp.MustCompile(`("time_ms": )[0-9.]+`), "$1…"},
	{regexp.MustCompile(`[0-9]+( bytes of groups)`), "…$1"},
	{regexp.MustCompile(`[0-9]+( bytes in all)`), "…$1"},
	{regexp.MustCompile(`("(state|peak)_bytes": )[0-9]+`), "$1…"},
}

func masked(text string) string {
	for _, v := range volatile {
		text = v.at.ReplaceAllString(text, v.by)
	}
	return text
}

// TestAnalyze runs the scripts in testdata/analyze: EXPLAIN ANALYZE and EXPLAIN FORMAT=JSON. -rewrite refreshes them.
func TestAnalyze(t *testing.T) {
	datadriven.Walk(t, "testdata/analyze", func(t *testing.T, path string) {
		e := newTestEngine(t, generate(1, 50))
		e.log.lanes = 1 // figures of joins depend on the order of the rows
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			input := strings.TrimSpace(d.Input)
			format, analyze := sqlparser.TreeStr, d.HasArg("analyze")
			switch d.Cmd {
			case "pushdown":
				e.pushdown(input)
				return ""
			case "tree":
			case "json":
				format = ExplainJSON
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			out, err := e.explain(input, format, analyze)
			if err != nil {
				return "error: " + err.Error() + "\n"
			}
			if format == ExplainJSON && !json.Valid([]byte(out)) {
				t.Errorf("%s is no JSON", d.Pos)
			}
			return masked(out)
		})
	})
}

// The figures of an analysed query agree with its answer.
func TestAnalyzeCountsTheRowsOfTheQuery(t *testing.T) {
	e := newTestEngine(t, generate(1, 300))
	for _, query := range []string{
		"SELECT * FROM records()",
		"SELECT `partition`, count(*) FROM records() GROUP BY 1",
		"SELECT * FROM records() WHERE `offset` > 3 ORDER BY `offset` DESC LIMIT 4",
		"SELECT * FROM numbers JOIN records() r ON r.`offset` = n",
		"SELECT n, (SELECT count(*) FROM records() r WHERE r.`offset` < n) FROM numbers",
		"SELECT n FROM numbers WHERE EXISTS (SELECT 1 FROM records() r WHERE r.`partition` = n)",
		"SELECT `offset` FROM records() UNION ALL SELECT n FROM numbers",
		"WITH c AS (SELECT `partition` AS p FROM records()) SELECT DISTINCT p FROM c",
		"SELECT upper(topic), row_number() OVER (ORDER BY `offset`) FROM v",
	} {
		for _, pushdown := range []string{"on", "off"} {
			e.pushdown(pushdown)
			want := len(e.mustQuery(query))
			out, err := e.explain(query, ExplainJSON, true)
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			var got struct {
				Rows int
				Plan struct {
					Actual struct {
						RowsOut int `json:"rows_out"`
					}
				}
			}
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatal(err)
			}
			if got.Rows != want || got.Plan.Actual.RowsOut != want {
				t.Errorf("pushdown %s: %s gives %d rows, analysed it is\n%s", pushdown, query, want, out)
			}
		}
	}
}
