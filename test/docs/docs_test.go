package docs

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"millrace/internal/demo"
	"millrace/server"
	"millrace/server/dialect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start runs a broker with the demo's data and a server; the documentation's localhost:9092 and broker:9092 stand for the broker.
func start(t *testing.T) (db *sql.DB, broker, registry string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	b, err := demo.StartBroker("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	r, err := demo.StartRegistry("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	shop, err := demo.OpenShop(ctx, b.Addr(), r.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(shop.Close)
	if err := shop.Fill(ctx, time.Now()); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	t.Setenv("MILLRACE_KEY", strings.Repeat("ab", 32)) // the documentation stores secrets
	s, err := server.New(server.Config{Listen: "127.0.0.1:0", DataDir: t.TempDir(), ExportDir: t.TempDir(), Announce: func(name, a string) {
		if name == "mysql" {
			address <- a
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-address:
		if db, err = sql.Open("mysql", "root@tcp("+a+")/main"); err != nil {
			t.Fatal(err)
		}
	case err := <-ended:
		ended <- err
		t.Fatalf("the server ended while starting: %v", err)
	}
	db.SetMaxOpenConns(1) // user variables and USE live from one statement to the next
	t.Cleanup(func() { _ = db.Close() })
	return db, b.Addr(), r.Addr()
}

// A block that shows an error says so in the line above its fence: <!-- error: part of the message -->.
var block = regexp.MustCompile("(?s)(?:<!-- error: ([^\n]*?) -->\n)?```sql\n(.*?)```")

var comment = regexp.MustCompile(`(?m)--.*$`)

func TestEveryStatementOfTheDocumentationRuns(t *testing.T) {
	db, broker, registry := start(t)
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	statements := 0
	for _, file := range append([]string{"../../README.md", "../../ARCHITECTURE.md"}, files...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range block.FindAllStringSubmatch(string(text), -1) {
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(file), i+1), func(t *testing.T) {
				for rest := strings.NewReplacer("localhost:9092", broker, "broker:9092", broker, "localhost:8081", registry).Replace(m[2]); strings.TrimSpace(rest) != ""; {
					var one string
					if one, rest = dialect.Split(rest, dialect.Mode{}); strings.TrimSpace(comment.ReplaceAllString(one, "")) == "" {
						continue // results are shown as comments
					}
					statements++
					err := drain(db, one)
					switch {
					case m[1] == "" && err != nil:
						t.Errorf("%s\n%v", one, err)
					case m[1] != "" && (err == nil || !strings.Contains(err.Error(), m[1])):
						t.Errorf("%s\ngave %v, the documentation says %q", one, err, m[1])
					}
				}
			})
		}
	}
	if statements < 10 {
		t.Errorf("only %d statements found", statements)
	}
}

func drain(db *sql.DB, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
	}
	return rows.Err()
}

// Paths named in code spans of the documentation exist. Words with a slash that are no paths are listed.
var span = regexp.MustCompile("`((?:cmd|server|planner|functions|internal|bench|test|docs|scripts)(?:/[a-z0-9_.-]+)*/?)`")

func TestPathsOfTheDocumentationExist(t *testing.T) {
	files, err := filepath.Glob("../../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(append([]string{"../../README.md", "../../ARCHITECTURE.md", "../../CONTRIBUTING.md"}, files...), more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range span.FindAllStringSubmatch(string(text), -1) {
			// Packages of later versions may be named by what they will be, never as a path.
			if _, err := os.Stat("../../" + m[1]); err != nil {
				t.Errorf("%s names %s, which does not exist", filepath.Base(file), m[1])
			}
		}
	}
}

// Tests that docs/guarantees.md names as evidence exist.
func TestEvidenceOfGuaranteesExists(t *testing.T) {
	text, err := os.ReadFile("../../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	err = filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(code, -1) {
			have[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`").FindAllSubmatch(text, -1)
	if len(named) < 20 {
		t.Fatalf("only %d tests are named", len(named))
	}
	for _, m := range named {
		if !have[string(m[1])] {
			t.Errorf("docs/guarantees.md names %s, which does not exist", m[1])
		}
	}
}
