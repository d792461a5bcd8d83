package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"millrace/internal/testkit"
	"millrace/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestScripts(t *testing.T) {
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(f.Name(), func(t *testing.T) {
			s := newScript(t)
			datadriven.RunTest(t, filepath.Join("testdata", f.Name()), s.run)
		})
	}
}

// script is the state of one file: a server and a broker of its own, and the connection in use.
type script struct {
	t      *testing.T
	broker *testkit.Broker
	client *kgo.Client
	addr   string
	db     *sql.DB
}

func newScript(t *testing.T) *script {
	s := &script{t: t, broker: testkit.StartBroker(t)}
	s.client = s.broker.Client(t)
	ready := make(chan string, 1)
	srv, err := server.New(server.Config{Listen: "127.0.0.1:0", DataDir: t.TempDir(), MemoryLimit: "1GiB", DrainTimeout: 10 * time.Second,
		Announce: func(_, address string) { ready <- address }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, srv.Close()); err != nil {
			t.Error(err)
		}
	})
	select {
	case s.addr = <-ready:
	case err := <-done:
		done <- nil
		t.Fatal(err)
	}
	s.connect("root", "")
	return s
}

func (s *script) connect(user, password string) {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Passwd, cfg.Net, cfg.Addr, cfg.DBName, cfg.Logger = user, password, "tcp", s.addr, "main", &mysql.NopLogger{}
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	s.t.Cleanup(func() { _ = db.Close() })
	s.db = db
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	input := strings.ReplaceAll(d.Input, "$BROKER", s.broker.Addrs[0])
	var out string
	switch d.Cmd {
	case "topic":
		out = s.topic(t, d, input)
	case "exec":
		out = s.exec(input)
	case "query":
		out = s.query(input)
	case "prepared":
		var args []any
		for _, a := range d.CmdArgs {
			if a.Key == "args" {
				for _, v := range a.Vals {
					args = append(args, strings.ReplaceAll(v, "$BROKER", s.broker.Addrs[0]))
				}
			}
		}
		out = s.query(input, args...)
	case "user":
		user, password := "root", ""
		d.MaybeScanArgs(t, "name", &user)
		d.MaybeScanArgs(t, "password", &password)
		s.connect(user, password)
		out = "ok"
		if err := s.db.Ping(); err != nil {
			out = failure(err)
		}
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	return strings.ReplaceAll(strings.TrimRight(out, "\n"), s.broker.Addrs[0], "$BROKER") + "\n"
}

func (s *script) topic(t *testing.T, d *datadriven.TestData, input string) string {
	var name string
	partitions := 1
	d.ScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "partitions", &partitions)
	s.broker.Topic(t, name, int32(partitions), nil)
	n := 0
	for line := range strings.Lines(input) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(fields) != 3 {
			d.Fatalf(t, "record %q: partition, key and value are wanted", line)
		}
		p, err := strconv.Atoi(fields[0])
		if err != nil {
			d.Fatalf(t, "record %q: %v", line, err)
		}
		testkit.Produce(t, s.client, &kgo.Record{Topic: name, Partition: int32(p), Key: orNull(fields[1]), Value: orNull(fields[2]), Timestamp: time.UnixMilli(1_700_000_000_000 + int64(n)*1000)})
		n++
	}
	return fmt.Sprintf("%d records", n)
}

func orNull(s string) []byte {
	if s == "-" {
		return nil
	}
	return []byte(s)
}

func (s *script) exec(input string) string {
	var out strings.Builder
	for statement := range strings.SplitSeq(input, ";\n") {
		statement = strings.TrimSuffix(strings.TrimSpace(statement), ";")
		if statement == "" {
			continue
		}
		res, err := s.db.Exec(statement)
		if err != nil {
			out.WriteString(failure(err) + "\n")
			continue
		}
		n, err := res.RowsAffected()
		if err != nil {
			out.WriteString(failure(err) + "\n")
			continue
		}
		fmt.Fprintf(&out, "ok %d\n", n)
	}
	return out.String()
}

func (s *script) query(input string, args ...any) string {
	rows, err := s.db.Query(input, args...)
	if err != nil {
		return failure(err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		return failure(err)
	}
	var out strings.Builder
	out.WriteString(strings.Join(names, " | ") + "\n")
	values, to := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		to[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return failure(err)
		}
		cells := make([]string, len(values))
		for i, v := range values {
			if cells[i] = "NULL"; v.Valid {
				cells[i] = v.String
			}
		}
		out.WriteString(strings.TrimRight(strings.Join(cells, " | "), " ") + "\n")
	}
	if err := rows.Err(); err != nil {
		out.WriteString(failure(err) + "\n")
	}
	return out.String()
}

func failure(err error) string {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return fmt.Sprintf("error %d (%s): %s", e.Number, e.SQLState, e.Message)
	}
	return "error: " + err.Error()
}
