package kafkameta

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dolthub/go-mysql-server/sql"

	"millrace/internal/option"
)

//go:generate go test -tags gms_pure_go . -run TestDocIsCurrent -rewrite

var rewrite = flag.Bool("rewrite", false, "write docs/table-functions.md")

const docHead = `# Table functions that show a cluster or a schema registry

Generated from the tables in the code by ` + "`make generate`" + `; edit those.

These functions show a Kafka cluster as tables. They reach it as ` + "`read_kafka`" + ` does: the arguments for brokers, credentials and client properties are those of
docs/options.md, and so are errors, connections and the privilege, KAFKA_READ. They show what is there when the statement runs, once for the statement
however often it uses a call; there is no STREAM. What the Kafka user may not see is NULL, with a warning. The last one shows a schema registry instead, and is reached by the arguments
schemaRegistry… of docs/options.md.
`

func doc(t *testing.T) string {
	var b strings.Builder
	b.WriteString(docHead)
	for _, f := range Functions() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n```sql\n%s;\n```\n\nArguments besides those that reach it:\n\n", f.Name, f.Doc, f.Example)
		if err := option.New(f.Name, "argument", "", " => ", f.Own...).WriteMarkdown(&b, false); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\nColumns:\n\n| column | type | NULL | meaning |\n| --- | --- | --- | --- |\n")
		for _, c := range f.Columns {
			null := "no"
			if c.Nullable {
				null = "yes"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", c.Name, c.Type, null, c.Doc)
		}
	}
	return b.String()
}

// TestDocIsCurrent compares docs/table-functions.md with the functions; -rewrite writes it.
func TestDocIsCurrent(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "table-functions.md")
	want := doc(t)
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
		t.Errorf("%s is not what the functions say; run make generate", path)
	}
}

func TestEveryColumnIsDescribed(t *testing.T) {
	for _, f := range Functions() {
		if !strings.HasSuffix(f.Doc, ".") || f.Example == "" {
			t.Errorf("%s: doc %q, example %q", f.Name, f.Doc, f.Example)
		}
		seen := map[string]bool{}
		for _, c := range f.Columns {
			if !strings.HasSuffix(c.Doc, ".") || seen[c.Name] || c.Type == nil {
				t.Errorf("%s.%s: doc %q", f.Name, c.Name, c.Doc)
			}
			seen[c.Name] = true
		}
		for _, o := range f.reaching() {
			if f.Options.Lookup(o.Name) == nil {
				t.Errorf("%s does not take %s", f.Name, o.Name)
			}
		}
	}
}

// TestRowsOfGroupsFitTheirColumns covers what only a broken cluster shows, too.
func TestRowsOfGroupsFitTheirColumns(t *testing.T) {
	for name, rows := range map[string][]sql.Row{
		"without partitions": rowsOf(emptyGroup, nil), "of a topic that is gone": rowsOf(lateGroup, nil), "behind": rowsOf(lateGroup, lateEnds),
	} {
		for _, r := range rows {
			if len(r) != len(groups.Columns) {
				t.Errorf("a group %s has %d values, want %d", name, len(r), len(groups.Columns))
			}
		}
	}
}
