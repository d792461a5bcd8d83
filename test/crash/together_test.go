//go:build unix

package crash

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// atOnce runs a statement at all servers, twice at each, and wants it to succeed everywhere.
func atOnce(t *testing.T, servers []*child, statement string) {
	t.Helper()
	var done sync.WaitGroup
	for range 2 {
		for _, c := range servers {
			db := c.open(t)
			done.Go(func() {
				if _, err := db.Exec(statement); err != nil {
					t.Errorf("%s: %v", statement, err)
				}
			})
		}
	}
	done.Wait()
}

// What two servers of one database are told to make, or to read anew, at once is made once.
func TestServersDoTheSameAtOnceOnPostgres(t *testing.T) {
	at := onPostgres(t, postgres(t))
	b := connect(t)
	p := produce(t, b, steady)
	stop := sync.OnceFunc(func() { close(p.stop); p.done.Wait() })
	defer stop()
	servers := []*child{at().started(t), at().started(t)}
	defer func() {
		for _, c := range servers {
			c.kill()
		}
	}()
	for n := range 5 {
		atOnce(t, servers, fmt.Sprintf("CREATE TABLE IF NOT EXISTS made%d AS SELECT 7 AS n", n))
		servers[0].comes(t, fmt.Sprintf("SELECT concat(count(*), ' ', sum(n)) FROM made%d", n), "1 7", 10*time.Second)
	}
	atOnce(t, servers, strings.Replace(b.definition(""), "TABLE", "TABLE IF NOT EXISTS", 1))
	for range 3 {
		atOnce(t, servers, "REFRESH STREAMING TABLE t FULL")
	}
	stop()
	for _, c := range servers {
		c.check(t, p.sent.Load())
	}
}
