package readkafka

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryArgumentIsExplained wants docs/read-kafka.md to speak of each argument.
func TestEveryArgumentIsExplained(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "read-kafka.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range Arguments.Options() {
		if text := string(data); !strings.Contains(text, o.Name+" =>") && !strings.Contains(text, "`"+o.Name+"`") {
			t.Errorf("docs/read-kafka.md does not speak of %s", o.Name)
		}
	}
}
