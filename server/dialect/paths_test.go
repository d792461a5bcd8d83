package dialect

import (
	"regexp"
	"strings"
	"testing"

	"millrace/internal/decode/json"
)

// The path goes through three hands: this package normalises it, the engine's lexer reads the string literal, and the decoder parses it.
// A name must arrive as it was written.
func TestNamesInPathsReachTheDecoder(t *testing.T) {
	names := []string{"a", "a b", "it's", "back`tick", `back\slash`, "quo\"te", "tab\there", "ünï", "", "[0]", "a.b", "*", "--", "'", "''", "`"}
	for _, name := range names {
		quoted := "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(name) + "'"
		for _, text := range []string{"SELECT value:[" + quoted + "]", "SELECT value:a." + quote(name)} {
			r, err := Rewrite(text, Mode{})
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			literal := regexp.MustCompile(`, ('.*')\)$`).FindStringSubmatch(r.SQL)
			if literal == nil {
				t.Errorf("%s: no path in %s", text, r.SQL)
				continue
			}
			w := rewriter{source: literal[1]}
			path, err := json.ParsePath(w.stringValue(token{kind: tokenString, end: len(literal[1])}))
			if err != nil {
				t.Errorf("%s: the decoder refuses %s: %v", text, literal[1], err)
				continue
			}
			if got := path[len(path)-1].Name; got != name {
				t.Errorf("%s: the decoder reads the name %q, written was %q", text, got, name)
			}
		}
	}
}
