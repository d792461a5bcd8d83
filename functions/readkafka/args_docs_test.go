package readkafka

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryArgumentIsExplained wants docs/read-kafka.md or docs/formats.md to speak of each argument.
func TestEveryArgumentIsExplained(t *testing.T) {
	var text string
	for _, name := range []string{"read-kafka.md", "formats.md"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		text += string(data)
	}
	for _, o := range Arguments.Options() {
		if !strings.Contains(text, o.Name+" =>") && !strings.Contains(text, "`"+o.Name+"`") {
			t.Errorf("the documentation does not speak of %s", o.Name)
		}
	}
}
