package writekafka

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var rewriting = flag.Bool("rewrite", false, "rewrite the generated docs")

const docHead = `# write_kafka

Generated from the tables in the code by ` + "`make generate`" + `; edit those. [Sinks](sinks.md) says what the columns of a row become.

` + "```sql" + `
INSERT INTO write_kafka(bootstrapServers => 'localhost:9092', topic => 'shipments') SELECT 'c1' AS key, 'sent' AS value;
` + "```" + `

Names match without regard to case, and each may be written in camelCase or in snake_case. A name with a dot stands in back-ticks. One argument under two names
with different values is an error, and so are an unknown name and NULL. Properties of clients that read_kafka takes for connections (` + "`kafka.security.protocol`" + `, …) are those
of [options.md](options.md#client-properties).

`

func TestOptionsDocIsCurrent(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(docHead)
	if err := Arguments.WriteMarkdown(&b, false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "docs", "write-kafka.md")
	if *rewriting {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, b.Bytes()) {
		t.Errorf("docs/write-kafka.md is not what the table says; run make generate")
	}
}

// TestEveryArgumentIsExplained wants docs/sinks.md to speak of each argument that is this function's own.
func TestEveryArgumentIsExplained(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "sinks.md"))
	if err != nil {
		t.Fatal(err)
	}
	shared := map[string]bool{}
	for _, o := range connectionArguments() {
		shared[o.Name] = true
	}
	for _, o := range Arguments.Options() {
		if !shared[o.Name] && o.Batch == 0 && !strings.Contains(string(text), o.Name+" =>") && !strings.Contains(string(text), "`"+o.Name+"`") {
			t.Errorf("docs/sinks.md does not speak of %s", o.Name)
		}
	}
}

// The hint for an argument that does not exist named the page of read_kafka.
func TestTheHintNamesThePageOfWriteKafka(t *testing.T) {
	if err := CheckName("zzzzzz"); err == nil || !strings.Contains(err.Error(), "docs/write-kafka.md lists every argument") {
		t.Errorf("got %v", err)
	}
}
