package sqlerr

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

//go:generate go test -tags gms_pure_go . -run TestErrorsDocIsCurrent -rewrite

var rewrite = flag.Bool("rewrite", false, "write docs/errors.md")

// ours are the numbers that Millrace has given out itself.
const ours = 31001

const docHead = `# Errors

Generated from the kinds in the code by ` + "`make generate`" + `; edit those.

Every error has a MySQL number, an SQLSTATE and a text. The text begins with what is wrong, on one line: the option or column in quotes, what was found,
what is allowed. Lines that begin with "detail:" and "hint:" may follow. Numbers below 31001 are MySQL's and mean what they mean there; those from 31001 on
are Millrace's own and are never used for something else. The symbol stands in logs and in the metric ` + "`millrace_statements_total`" + `.

"Again" says whether the same statement may succeed later without a change, and "whose" who can mend it: the user with the statement, its options or grants;
somebody at the system that Millrace talks to (external); or Millrace itself (internal).

`

func errorsDoc() string {
	var b strings.Builder
	b.WriteString(docHead)
	table := func(title string, which func(*Kind) bool) {
		fmt.Fprintf(&b, "## %s\n\n| number | SQLSTATE | symbol | meaning | what to do | whose | again |\n| --- | --- | --- | --- | --- | --- | --- |\n", title)
		kinds := slices.DeleteFunc(Kinds(), func(k *Kind) bool { return !which(k) })
		slices.SortStableFunc(kinds, func(a, b *Kind) int { return cmp.Compare(a.Errno, b.Errno) })
		for _, k := range kinds {
			again := "no"
			if k.Retry {
				again = "yes"
			}
			fmt.Fprintf(&b, "| %d | %s | `%s` | %s | %s | %s | %s |\n", k.Errno, k.State, k.Symbol, k.Doc, k.Advice(), k.Fault, again)
		}
	}
	table("Of Kafka and of Millrace", func(k *Kind) bool { return k.Errno >= ours })
	b.WriteString("\n")
	table("Of SQL", func(k *Kind) bool { return k.Errno < ours })
	return b.String()
}

// TestErrorsDocIsCurrent compares docs/errors.md with the kinds; -rewrite writes it.
func TestErrorsDocIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "errors.md")
	want := errorsDoc()
	if *rewrite {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the kinds say; run make generate", path)
	}
}

func TestEveryKindIsOneOfItsOwnAndSaysWhatToDo(t *testing.T) {
	symbols, numbers := map[string]bool{}, map[uint16]bool{}
	for _, k := range Kinds() {
		if symbols[k.Symbol] || k.Symbol == "" || k.Symbol != strings.ToUpper(k.Symbol) {
			t.Errorf("%q is not a symbol, or not the only one", k.Symbol)
		}
		symbols[k.Symbol] = true
		if k.Errno >= ours && numbers[k.Errno] {
			t.Errorf("%s: number %d is taken", k.Symbol, k.Errno)
		}
		numbers[k.Errno] = true
		if len(k.State) != 5 {
			t.Errorf("%s: SQLSTATE %q", k.Symbol, k.State)
		}
		for _, text := range []string{k.Doc, k.Advice()} {
			if !strings.HasSuffix(text, ".") || strings.ContainsAny(text, "|\n") {
				t.Errorf("%s: %q is no sentence for the docs", k.Symbol, text)
			}
		}
		if _, own := advice[k]; k.Errno >= ours && !own {
			t.Errorf("%s has no advice of its own", k.Symbol)
		}
	}
}
