package server

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/vt/sqlparser"

	"millrace/planner"
	"millrace/server/dialect"
)

// shape is a look-up without its keys.
func shape(ast sqlparser.Statement) string {
	for _, c := range lookupOf(ast).conditions {
		c.value.Val = []byte("0")
	}
	return sqlparser.String(ast)
}

// Two texts of one form are one statement with other keys: the parser reads the keys that the form leaves out, and the same for the rest.
func FuzzTextForm(f *testing.F) {
	for _, text := range []string{
		"SELECT name FROM kv WHERE id = 5", "select `na me` from a.b as x where x.id=7 and (name='it') limit 3", "SELECT * FROM t WHERE a = 'x' 'y'", "SELECT a FROM t WHERE a = 5.5", "SELECT a FROM t WHERE a = 05",
		"SELECT a FROM t WHERE a = 5e3", "SELECT a FROM t WHERE a = N'x'", "SELECT a = 5 FROM t WHERE b = 6", "SELECT a FROM t WHERE a = 1 AND b = 'x' LIMIT 2", "SELECT a FROM t WHERE a = 'x''y'", `SELECT a FROM t WHERE a = 'x\'y'`,
		"SELECT a FROM t WHERE a = DATE '2026-01-02'", "SELECT a FROM t WHERE a = '' COLLATE utf8mb4_bin", "SELECT a FROM t WHERE a =1 IS TRUE", "SELECT a FROM t WHERE a = 5 OR b = 6", "SELECT`a`FROM`t`WHERE`a`=1",
		"SELECT a FROM t WHERE a = 99999999999999999999", "SELECT 1a FROM t WHERE 1a = 1", "SELECT a.5 FROM a WHERE a = 5", "SELECT a FROM t WHERE a = 'é'",
	} {
		f.Add(text, int64(70000), "other")
	}
	f.Fuzz(func(t *testing.T, text string, number int64, word string) {
		if number < 0 || strings.ContainsAny(word, "'\\") || strings.ContainsFunc(word, func(r rune) bool { return r < ' ' }) {
			t.Skip()
		}
		form, keys, ok := textForm(nil, text)
		if !ok {
			return
		}
		for _, mode := range []dialect.Mode{{}, {AnsiQuotes: true, PipesAsConcat: true, NoBackslashEscapes: true}} {
			options := sqlparser.ParserOptions{AnsiQuotes: mode.AnsiQuotes, PipesAsConcat: mode.PipesAsConcat}
			first, err := parseIn(text, mode, options, sql.NewEmptyContext())
			if err != nil || first.lookup == nil {
				continue
			}
			parsed, ok := first.lookup.keys(nil)
			if !ok || !slices.EqualFunc(parsed, keys, func(k planner.Key, v any) bool { return k.Value == v }) {
				continue // it would not be kept
			}
			var b strings.Builder
			for _, c := range form {
				switch c {
				case integerKey:
					b.WriteString(strconv.FormatInt(number, 10))
				case textKey:
					b.WriteString("'" + word + "'")
				default:
					b.WriteByte(c)
				}
			}
			other, err := parseIn(b.String(), mode, options, sql.NewEmptyContext())
			if err != nil || other.lookup == nil {
				t.Fatalf("%q is no look-up like %q: %v", b.String(), text, err)
			}
			again, ok := other.lookup.keys(nil)
			if !ok || len(again) != len(parsed) {
				t.Fatalf("%q has keys %v, %q has %v", b.String(), again, text, parsed)
			}
			for i, k := range again {
				want := any(word)
				if _, ok := keys[i].(int64); ok {
					want = number
				}
				if k.Column != parsed[i].Column || k.Value != want {
					t.Fatalf("key %d of %q is %v", i, b.String(), k)
				}
			}
			if a, b := shape(first.ast), shape(other.ast); a != b {
				t.Fatalf("one form, two statements:\n%s\n%s", a, b)
			}
			if f, k, ok := textForm(nil, b.String()); len(b.String()) <= lookupText && (!ok || string(f) != string(form) || len(k) != len(keys)) {
				t.Fatalf("%q has the form %q, %q has %q", b.String(), f, text, form)
			}
		}
	})
}
