package sqltest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"
	"go.uber.org/goleak"

	"millrace/test/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestScripts runs every script against a broker of today, and one that speaks as Apache Kafka 2.8 did.
func TestScripts(t *testing.T) {
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	brokers := map[string][]kfake.Opt{"today": nil, "2.8": {kfake.MaxVersions(kversion.V2_8_0())}}
	if rewriting() {
		delete(brokers, "2.8")
	}
	for _, f := range files {
		for name, opts := range brokers {
			t.Run(f.Name()+"/"+name, func(t *testing.T) {
				t.Parallel() // some wait for what is not there
				script.Run(t, filepath.Join("testdata", f.Name()), opts...)
			})
		}
	}
}

// rewriting tells whether the scripts are being refreshed.
func rewriting() bool {
	f := flag.Lookup("rewrite")
	return f != nil && f.Value.String() == "true"
}
