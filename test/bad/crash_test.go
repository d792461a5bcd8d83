package bad

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"millrace/server"
	"millrace/test/script"
)

// crashDir makes the test binary a server on this data directory, so that a test can kill it as a process.
const crashDir = "MILLRACE_TEST_SERVE"

func serveForCrash(dir string) error {
	s, err := server.New(server.Config{Listen: "127.0.0.1:0", DataDir: dir, MemoryLimit: "1GiB", DrainTimeout: time.Second,
		Announce: func(_, address string) { fmt.Println(address) }})
	if err != nil {
		return err
	}
	return s.Run(context.Background())
}

// process starts a server on dir.
func process(t *testing.T, dir string) (*exec.Cmd, *script.Server) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		_ = cmd.Process.Kill()
		t.Fatalf("the server did not start: %v", cmd.Wait())
	}
	return cmd, &script.Server{Addr: lines.Text()}
}

// TestCatalogSurvivesKills kills the process while clients write views, users and grants, and wants everything that was acknowledged to be
// there afterwards, and nothing in halves.
func TestCatalogSurvivesKills(t *testing.T) {
	dir := t.TempDir()
	acknowledged := map[int]bool{}
	next := 0
	for round := range 6 {
		cmd, s := process(t, dir)
		db := s.Login(t, "root", "")
		checkCatalog(t, db, acknowledged)
		stop := time.AfterFunc(time.Duration(20+round*17)*time.Millisecond, func() { _ = cmd.Process.Kill() })
		for ; ; next++ {
			if _, err := db.Exec(fmt.Sprintf("CREATE OR REPLACE VIEW v%d AS SELECT %[1]d AS n", next)); err != nil {
				break
			}
			if _, err := db.Exec(fmt.Sprintf("CREATE USER IF NOT EXISTS u%d IDENTIFIED BY 'p'", next)); err != nil {
				break
			}
			if _, err := db.Exec(fmt.Sprintf("GRANT SELECT ON main.* TO u%d", next)); err != nil {
				break
			}
			acknowledged[next] = true
		}
		stop.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
		_ = db.Close()
		t.Logf("round %d: %d statements of each kind", round, len(acknowledged))
	}
	cmd, s := process(t, dir)
	checkCatalog(t, s.Login(t, "root", ""), acknowledged)
	for n := range acknowledged {
		if got := one[int](t, s.Login(t, fmt.Sprintf("u%d", n), "p"), fmt.Sprintf("SELECT n FROM v%d", n)); got != n {
			t.Errorf("user u%d reads %d", n, got)
		}
		break
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func checkCatalog(t *testing.T, db *sql.DB, acknowledged map[int]bool) {
	t.Helper()
	rows, err := db.Query("SELECT user FROM mysql.user")
	if err != nil {
		t.Fatal(err)
	}
	users := map[string]bool{}
	for rows.Next() {
		var u string
		if err := rows.Scan(&u); err != nil {
			t.Fatal(err)
		}
		users[u] = true
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	for n := range acknowledged {
		if !users[fmt.Sprintf("u%d", n)] {
			t.Errorf("user u%d was acknowledged and is gone", n)
		}
		if got := one[int](t, db, fmt.Sprintf("SELECT n FROM v%d", n)); got != n {
			t.Errorf("view v%d gives %d", n, got)
		}
	}
}
