package functions

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	_ "github.com/cockroachdb/datadriven" // declares -rewrite, the flag by which scripts and generated docs are refreshed
)

const docPath = "../docs/functions.md"

const docHead = `# Functions

Generated from the table in the code by ` + "`make generate`" + `; edit that. Every example runs in the tests.

These come on top of the functions of MySQL 8. Unless said otherwise the result is NULL when an argument is NULL, and arguments are cast to the types shown.

## Casts and paths

| written | meaning |
|---|---|
| ` + "`x::TYPE`" + ` | converts x; text that is no value of the type, or a value that does not fit, is an error that shows the value |
| ` + "`x ?:: TYPE`, `try_cast(x AS TYPE)`" + ` | the same with NULL in place of the error; a pair of types that has no conversion is still one |
| ` + "`x:a.b[0]`" + ` | takes a part out of JSON: names (in any case), ` + "`` `names with blanks` ``, `['exactly this']`, `[0]`, `[*]`" + `; gives STRING from STRING and BINARY, JSON from JSON, where names always match exactly |

The types are STRING, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), BOOLEAN, TIMESTAMP, TIMESTAMP_NTZ, DATE, BINARY and JSON (or VARIANT).

* Numbers in text may have a fraction or an exponent; into an integer type they must be whole (` + "`'1e3'::INT`" + ` is 1000, ` + "`'1.5'::INT`" + ` an error). A number, in contrast to text, loses its fraction on the way to one. DECIMAL rounds half away from zero. Only DOUBLE and FLOAT pass through floating point.
* BOOLEAN reads true, t, yes, y, 1 and false, f, no, n, 0. Booleans show as 1 and 0, and are true and false as STRING.
* TIMESTAMP and DATE read ` + "`2026-03-01T12:34:56.789Z`, `2026-3-1 12:34`, `2026-03-01`, `2026-03`, `2026-03-01 12:34:56 Europe/Berlin`" + ` and the like. Without a zone the time is UTC. All times show in UTC. A number becomes a TIMESTAMP as seconds since 1970 and back.
* BINARY becomes STRING as UTF-8, with U+FFFD for each sequence that is not. BINARY has no other casts but to JSON.
* A text becomes JSON by being parsed, as in MySQL's ` + "`CAST(… AS JSON)`" + `. JSON keeps its text, so numbers keep all their digits.
* A path gives NULL when there is no such part, when it is null, and when the text is not JSON. When an object has a name in several spellings, a name without brackets is an error. Of duplicate keys the last counts. ` + "`[*]`" + ` gathers what the rest of the path finds in each element into one array.
`

const docPatterns = `
Letters of a format: ` + "`yyyy` `yy` year, `M` `MM` month, `MMM` `MMMM` its English name, `d` `dd` day, `H` `HH` hour 0-23, `h` `hh` hour 1-12, `a` AM or PM, `m` `mm` minute, `s` `ss` second, `S`…`SSSSSSSSS` fraction, `X` `XX` `XXX` offset or Z, `x` `xx` `xxx` offset, `VV` `z` zone, `'text'` literal text, `[…]`" + ` optional part. One letter reads a number with or without leading zeros, two read two digits. Digits beyond microseconds are cut off.
`

func document() string {
	var b strings.Builder
	b.WriteString(docHead)
	group := ""
	for _, f := range table {
		if f.Internal {
			continue
		}
		if f.Group != group {
			group = f.Group
			fmt.Fprintf(&b, "\n## %s\n", group)
			if group == groupTime {
				b.WriteString(docPatterns)
			}
		}
		fmt.Fprintf(&b, "\n### %s\n\n`%s%s` → %s\n\n%s\n\n```sql\nSELECT %s;  -- %s\n```\n", f.Name, f.Name, f.Args, f.Returns, f.Doc, f.example(), f.Result)
	}
	return b.String()
}

func TestFunctionsDocIsCurrent(t *testing.T) {
	want := document()
	if rewrite := flag.Lookup("rewrite"); rewrite != nil && rewrite.Value.String() == "true" {
		if err := os.WriteFile(docPath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(docPath)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/functions.md is not what the table says: run make generate")
	}
}
