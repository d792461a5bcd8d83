package bad

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"millrace/test/script"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		if err := serveForCrash(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// A request that kfake held when it was closed may leave its goroutine behind.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*Cluster).runControl.func1"))
}

// TestEntries runs the script of every entry that has one.
func TestEntries(t *testing.T) {
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(path, filepath.Join("testdata", "fuzz")) {
			return err
		}
		name, err := filepath.Rel("testdata", path)
		if err != nil {
			return err
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // some wait for what is not there
			script.Run(t, path)
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
