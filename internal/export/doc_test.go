package export

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
)

//go:generate go test -tags gms_pure_go . -run TestExportDocIsCurrent -rewrite

// TestExportDocIsCurrent compares the tables of options in docs/export.md with the code; -rewrite writes them.
func TestExportDocIsCurrent(t *testing.T) {
	const path = "../../docs/export.md"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for _, format := range Formats {
		begin, end := "<!-- options of "+format+" -->\n\n", "<!-- end -->"
		head, rest, ok := strings.Cut(text, begin)
		if !ok {
			t.Fatalf("%s has no %q", path, begin)
		}
		_, tail, ok := strings.Cut(rest, end)
		if !ok {
			t.Fatalf("%s has no %q behind %q", path, end, begin)
		}
		var table bytes.Buffer
		if err := Options[format].WriteMarkdown(&table, false); err != nil {
			t.Fatal(err)
		}
		text = head + begin + table.String() + "\n" + end + tail
	}
	if text == string(content) {
		return
	}
	if flag.Lookup("rewrite").Value.String() != "true" {
		t.Fatalf("%s is not current; run go generate", path)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
