package functions

import (
	"context"
	"fmt"
	"strings"
	"testing"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"

	"github.com/dolthub/vitess/go/vt/sqlparser"
	"millrace/planner/agg"
)

// testEngine is the engine with our functions and nothing else of ours.
type testEngine struct {
	engine   *sqle.Engine
	provider *memory.DbProvider
}

func newTestEngine(t testing.TB) *testEngine {
	t.Helper()
	provider := memory.NewDBProvider(memory.NewDatabase("test"))
	engine := sqle.NewDefault(provider)
	engine.Analyzer.Catalog.RegisterFunction(sql.NewEmptyContext(), Functions()...)
	agg.RegisterNames()
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return &testEngine{engine, provider}
}

func (e *testEngine) context() *sql.Context {
	session := memory.NewSession(sql.NewBaseSession(), e.provider)
	ctx := sql.NewContext(context.Background(), sql.WithSession(session))
	ctx.SetCurrentDatabase("test")
	return ctx
}

// query runs a statement and shows its rows as a text client does, a line per row.
func (e *testEngine) query(statement string) (string, error) {
	ctx := e.context()
	schema, rows, _, err := e.engine.Query(ctx, statement)
	if err != nil {
		return "", err
	}
	all, err := sql.RowIterToRows(ctx, rows)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, row := range all {
		for i, v := range row {
			if i > 0 {
				b.WriteString(" | ")
			}
			if types.IsOkResult(row) {
				b.WriteString("ok")
				continue
			}
			if v == nil {
				b.WriteString("NULL")
				continue
			}
			wire, err := schema[i].Type.SQL(ctx, nil, v)
			if err != nil {
				return "", err
			}
			text := wire.ToString()
			// A DATETIME(6) goes out with all its zeros.
			if types.IsDatetimeType(schema[i].Type) && strings.Contains(text, ".") {
				text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
			}
			b.WriteString(text)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func TestExamplesOfTheDocsGiveTheirResults(t *testing.T) {
	e := newTestEngine(t)
	for _, f := range Table() {
		got, err := e.query("SELECT " + f.example())
		if err != nil || got != f.Result {
			t.Errorf("%s: %s gives %s (%v), the docs say %s", f.Name, f.Example, got, err, f.Result)
		}
	}
}

func TestEveryFunctionIsDescribed(t *testing.T) {
	for _, f := range Table() {
		if f.Group == "" || !strings.HasPrefix(f.Args, "(") || f.Returns == "" || !strings.HasSuffix(f.Doc, ".") || f.Example == "" || f.Result == "" {
			t.Errorf("%s lacks part of its description: %+v", f.Name, fmt.Sprint(f))
		}
	}
}

func TestParametersMayStandInArguments(t *testing.T) {
	e := newTestEngine(t)
	ctx := e.context()
	bindings := map[string]sqlparser.Expr{
		"v1": sqlparser.NewStrVal([]byte("12")), "v2": sqlparser.NewStrVal([]byte(`{"a":[1,2]}`)), "v3": sqlparser.NewStrVal([]byte("$.a[1]")), "v4": sqlparser.NewStrVal([]byte("yyyy")),
	}
	_, rows, _, err := e.engine.QueryWithBindings(ctx, "SELECT millrace_cast(?, 'INT') + 1, get_json_object(?, ?), to_timestamp('2026', ?)", nil, bindings, nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := sql.RowIterToRows(ctx, rows)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	if got := strings.TrimSpace(fmt.Sprintln(all[0]...)); got != "13 2 2026-01-01 00:00:00 +0000 UTC" {
		t.Error(got)
	}
}
