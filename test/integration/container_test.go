//go:build integration

package integration

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The commands of the Dockerfile and of docker-compose.yml, run without containers: the same arguments, but for ports and the data directory.
func TestContainerCommandsStart(t *testing.T) {
	for file, line := range map[string]*regexp.Regexp{
		"../../Dockerfile":         regexp.MustCompile(`(?m)^CMD (\[.*\])$`),
		"../../docker-compose.yml": regexp.MustCompile(`(?m)^    command: (\["serve".*\])$`),
	} {
		t.Run(strings.TrimPrefix(file, "../../"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			m := line.FindSubmatch(b)
			if m == nil {
				t.Fatalf("no command in %s", file)
			}
			var args []string
			if err := json.Unmarshal(m[1], &args); err != nil {
				t.Fatal(err)
			}
			if args[0] != "serve" {
				t.Fatalf("command %v, want serve", args)
			}
			args = args[1:]
			dir := t.TempDir()
			for i := range args {
				args[i] = strings.ReplaceAll(strings.NewReplacer(":3307", ":0", ":8307", ":0").Replace(args[i]), "/data", dir)
			}
			if !slices.Contains(args, "--insecure") {
				t.Errorf("a container listens for other hosts and would refuse to start: %v", args)
			}
			// The last value of a flag given twice wins: the helper's loopback addresses first, those of the file after them.
			s := start(t, dir, args...)
			if got := one[int](t, s.open(t, ""), "SELECT 40 + 2"); got != 42 {
				t.Errorf("SELECT 40 + 2 gave %d", got)
			}
		})
	}
}
