package dialect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/internal/sqlerr"
)

var ctx = context.Background()

// TestScripts runs testdata/*. Commands, each with SQL as input:
//
//	rewrite [mode=(…)] [engine-refuses]   the rewritten text, "same" if unchanged, or the error; checked with the engine's parser
//	headings                              the heading of each expression of the select list
//	statement                             the typed statement
//	text                                  CREATE STREAMING TABLE as Text writes it, which must be read as the same
//	split                                 the statements of a text, one a line
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "/fuzz/") {
			return
		}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			m := modeOf(d)
			switch d.Cmd {
			case "rewrite":
				return rewriteCommand(t, d, m)
			case "headings":
				return headingsCommand(t, d, m)
			case "statement":
				r, err := Rewrite(d.Input, m)
				if err != nil {
					return err.Error()
				}
				if r.Statement == nil {
					return "of the engine"
				}
				return fmt.Sprintf("%T%+v\nparams=%d sql=%s", r.Statement, r.Statement, r.Params, r.SQL)
			case "text":
				r, err := Rewrite(d.Input, m)
				if err != nil {
					return err.Error()
				}
				c, ok := r.Statement.(CreateStreamingTable)
				if !ok {
					return fmt.Sprintf("a %T", r.Statement)
				}
				checkText(t, c, m)
				return c.Text(m)
			case "split":
				var b strings.Builder
				for rest := d.Input; rest != ""; {
					var first string
					first, rest = Split(rest, m)
					fmt.Fprintf(&b, "%q\n", first)
				}
				return b.String()
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func modeOf(d *datadriven.TestData) Mode {
	return Mode{AnsiQuotes: d.HasArg("ansi-quotes"), NoBackslashEscapes: d.HasArg("no-backslash-escapes"), PipesAsConcat: d.HasArg("pipes-as-concat")}
}

func rewriteCommand(t *testing.T, d *datadriven.TestData, m Mode) string {
	r, err := Rewrite(d.Input, m)
	if err != nil {
		var e *sqlerr.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: not an *sqlerr.Error: %v", d.Pos, err)
		}
		return e.Error()
	}
	if r.Statement != nil {
		t.Fatalf("%s: a statement of our own: %+v", d.Pos, r.Statement)
	}
	if err := engineParses(r.SQL, m); (err != nil) != d.HasArg("engine-refuses") {
		t.Errorf("%s: the engine's parser says %v to\n%s", d.Pos, err, r.SQL)
	}
	if r.Changed != (r.SQL != d.Input) {
		t.Errorf("%s: Changed is %v", d.Pos, r.Changed)
	}
	if !r.Changed {
		return "same"
	}
	return r.SQL
}

func parserOptions(m Mode) sqlparser.ParserOptions {
	return sqlparser.ParserOptions{AnsiQuotes: m.AnsiQuotes, PipesAsConcat: m.PipesAsConcat}
}

func engineParses(sql string, m Mode) error {
	_, err := sqlparser.ParseWithOptions(ctx, sql, parserOptions(m))
	return err
}

// headingsCommand does what the server does: parse the rewritten text, and ask for the heading of what the parser kept.
func headingsCommand(t *testing.T, d *datadriven.TestData, m Mode) string {
	r, err := Rewrite(d.Input, m)
	if err != nil {
		return err.Error()
	}
	statement, err := sqlparser.ParseWithOptions(ctx, r.SQL, parserOptions(m))
	if err != nil {
		t.Fatalf("%s: %v\n%s", d.Pos, err, r.SQL)
	}
	list, ok := statement.(*sqlparser.Select)
	if !ok {
		t.Fatalf("%s: not a SELECT", d.Pos)
	}
	var b strings.Builder
	for _, e := range list.SelectExprs {
		x, ok := e.(*sqlparser.AliasedExpr)
		if !ok {
			continue
		}
		heading := x.InputExpression
		if c, ok := x.Expr.(*sqlparser.ColName); ok {
			heading = c.Name.String()
		}
		if h, ok := r.Heading(x.InputExpression); ok {
			heading = h
		}
		if !x.As.IsEmpty() {
			heading = x.As.String()
		}
		fmt.Fprintln(&b, heading)
	}
	return b.String()
}
