package bad

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"

	"millrace/test/script"
)

// TestReadersOfTablesThatChange reads tables from many connections, as text and prepared, while they are dropped, made again, emptied, filled and
// refreshed: a reader sees whole states only, or that there is no such table.
func TestReadersOfTablesThatChange(t *testing.T) {
	b := filled(t, 2, 300, 10)
	s := script.StartServer(t)
	admin := s.Login(t, "root", "")
	exec := func(statement string) {
		t.Helper()
		if _, err := admin.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	create := "CREATE TABLE t AS SELECT partition AS p, offset AS o, value:id::bigint AS id FROM " + call(b, "t")
	stream := fmt.Sprintf("CREATE STREAMING TABLE st AS SELECT partition AS p, offset AS o, value:id::bigint AS id FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 't', startingOffsets => 'earliest')", b.Addrs[0])
	exec(create)
	exec(stream)
	exec("CREATE VIEW v AS SELECT count(*) AS n, coalesce(sum(id), 0) AS s, count(DISTINCT p, o) AS d FROM st")

	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	var reads atomic.Int64
	pool := s.Pool(t, "root", "")
	read := func(query string, whole func(n, sum, distinct int64) bool, args ...any) {
		for ctx.Err() == nil {
			var n, sum, distinct int64
			err := pool.QueryRowContext(ctx, query, args...).Scan(&n, &sum, &distinct)
			var e *mysql.MySQLError
			switch {
			case ctx.Err() != nil:
			case errors.As(err, &e) && (e.Number == 1146 || e.Number == 1356): // no table; a view of no table
			case err != nil:
				t.Errorf("%s: %v", query, err)
			case !whole(n, sum, distinct):
				t.Errorf("%s: %d rows, %d different, with sum %d", query, n, distinct, sum)
			default:
				reads.Add(1)
			}
		}
	}
	table := func(n, sum, distinct int64) bool {
		return n == distinct && (n == 0 && sum == 0 || n == 600 && sum == 2*44850 || n == 900 && sum == 3*44850)
	}
	following := func(n, sum, distinct int64) bool { return n == distinct && n <= 600 && (n < 600 || sum == 2*44850) }
	for range 8 {
		readers.Go(func() { read("SELECT count(*), coalesce(sum(id), 0), count(DISTINCT p, o) FROM t", table) })
		readers.Go(func() {
			read("SELECT count(*), coalesce(sum(id), 0), count(DISTINCT p, o) FROM t WHERE o >= ?", table, 0)
		})
		readers.Go(func() {
			read("SELECT count(*), coalesce(sum(a.id), 0), count(DISTINCT a.p, a.o) FROM t a JOIN t b ON a.p = b.p AND a.o = b.o", table)
		})
		readers.Go(func() { read("SELECT n, s, d FROM v", following) })
		readers.Go(func() {
			read("SELECT count(*), coalesce(sum(id), 0), count(DISTINCT p, o) FROM st WHERE soundex(p) IS NOT NULL AND o >= ?", following, 0)
		})
	}
	for range 3 {
		exec("TRUNCATE TABLE t")
		exec("INSERT INTO t SELECT partition, offset, value:id::bigint FROM " + call(b, "t"))
		exec("REFRESH STREAMING TABLE st FULL")
		exec("INSERT INTO t SELECT p + 10, o, id FROM t WHERE p = 0")
		exec("DROP TABLE t")
		exec(create)
		exec("DROP STREAMING TABLE st")
		exec(stream)
		exec("ALTER STREAMING TABLE st PAUSE")
		exec("ALTER STREAMING TABLE st RESUME")
	}
	stop()
	readers.Wait()
	if reads.Load() == 0 {
		t.Error("nothing was read")
	}
}
