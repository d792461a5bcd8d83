//go:build unix

package crash

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// database is a server of PostgreSQL of its own, to be treated badly.
type database struct{ dir string }

const postgresScript = "../../scripts/postgres/server"

// run runs a command of the script: start, stop, restart, promote, or standby with the directory of the primary.
func (d database) run(t *testing.T, command string, more ...string) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		out, err := exec.Command(postgresScript, append([]string{command, d.dir}, more...)...).CombinedOutput()
		if err == nil {
			return
		}
		if attempt == 20 { // processes of one that was killed hold its memory for a moment
			t.Fatalf("%s %s: %v\n%s", postgresScript, command, err, out)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// processes are the server's, itself first.
func (d database) processes(t *testing.T) []int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(d.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	list := []int{pid}
	children, err := exec.Command("ps", "-o", "pid=", "--ppid", strconv.Itoa(pid)).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range strings.Fields(string(children)) {
		if n, err := strconv.Atoi(f); err == nil {
			list = append(list, n)
		}
	}
	return list
}

func (d database) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	for _, pid := range d.processes(t) {
		_ = syscall.Kill(pid, s) // one may have ended meanwhile
	}
}

// url is where the server is, for a user who may do all.
func (d database) url(t *testing.T) string {
	t.Helper()
	env, err := os.ReadFile(filepath.Join(d.dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	_, url, _ := strings.Cut(string(env), "POSTGRES_URL='")
	url, _, _ = strings.Cut(url, "'")
	return url
}
