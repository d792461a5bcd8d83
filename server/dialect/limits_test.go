package dialect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"millrace/internal/sqlerr"
)

func TestHostileTextIsRefusedOrCheap(t *testing.T) {
	const n = 50_000
	many := func(s string) string { return strings.Repeat(s, n) }
	for name, text := range map[string]string{
		"parentheses":        "SELECT key FROM " + many("("),
		"cases":              "SELECT key, " + many("CASE "),
		"casts":              "SELECT a" + many("::int"),
		"paths":              "SELECT a" + many(":b"),
		"path steps":         "SELECT a:b" + many(".c") + many("[0]"),
		"dots":               "SELECT key" + many(".a"),
		"expressions":        "SELECT " + many("a::int, ") + "b::int",
		"list of databases":  "SHOW key " + many("IN a "),
		"colons":             many("::"),
		"labels":             "CREATE PROCEDURE p() " + many("l: LOOP "),
		"version comments":   many("/*!40101 key "),
		"semicolons":         many("key;"),
		"open strings":       many("'"),
		"argument names":     "SELECT f(" + many("a => ") + ")",
		"streams":            "SELECT * FROM " + many("STREAM "),
		"unclosed, nested f": many("f(a => "),
	} {
		start := time.Now()
		r, err := Rewrite(text, Mode{})
		if err == nil {
			r.Heading("millrace_cast(a, 'INT')")
			r.Origin(len(r.SQL) / 2)
		} else if len(err.Error()) > 2000 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
		Split(text, Mode{})
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s: %v for %d bytes", name, d, len(text))
		}
	}
}

func TestLimitsAreNamed(t *testing.T) {
	var arguments []string
	for i := range maxNamed + 1 {
		arguments = append(arguments, fmt.Sprintf("a%d => %d", i, i))
	}
	for text, want := range map[string]string{
		"SELECT key FROM " + strings.Repeat("(", maxDepth+1):                "nested more than 1000 deep",
		"SELECT * FROM f(" + strings.Join(arguments, ", ") + ")":            "at most 256 named arguments",
		"SELECT * FROM f(" + strings.Join(arguments[:maxNamed], ", ") + ")": "",
	} {
		_, err := Rewrite(text, Mode{})
		switch {
		case want == "" && err == nil:
		case want == "" || err == nil || !strings.Contains(err.Error(), want) || !sqlerr.HasKind(err, sqlerr.Syntax):
			t.Errorf("%.40s…: %v, want %q", text, err, want)
		}
	}
}
