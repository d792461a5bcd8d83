package script

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/testkit"
)

// script is the state of one file: a server and a broker of its own, and the session in use.
type script struct {
	broker         *testkit.Broker
	producers      map[string]*kgo.Client
	open           map[*kgo.Client]bool // those whose transaction is open
	clock          int64                // the timestamp of the last record
	server         *Server
	user, password string
	database       string
	db             *sql.DB
}

// Run runs the script of a file against a broker as opts say.
func Run(t *testing.T, path string, opts ...kfake.Opt) {
	s := &script{
		broker: testkit.StartBroker(t, opts...), producers: map[string]*kgo.Client{}, open: map[*kgo.Client]bool{}, clock: firstRecord - 1000,
		server: StartServer(t), user: "root", database: "main",
	}
	s.login(t)
	datadriven.RunTest(t, path, s.run)
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	input := strings.ReplaceAll(d.Input, "$BROKER", s.broker.Addrs[0])
	var out string
	switch d.Cmd {
	case "topic":
		out = s.topic(t, d, input)
	case "produce":
		out = s.produce(t, d, input)
	case "end":
		var id, how string
		d.ScanArgs(t, "id", &id)
		d.ScanArgs(t, "transaction", &how)
		s.end(t, s.producer(t, "", id, how), how)
		out = "ok"
	case "trim":
		out = s.trim(t, d)
	case "partitions":
		out = s.partitions(t, d)
	case "compact":
		s.broker.Compact()
		out = "ok"
	case "exec":
		out = s.exec(input)
	case "query":
		out = s.query(t, d, input)
	case "prepared":
		out = s.prepared(d, input)
	case "multi":
		db := s.server.Login(t, s.user, s.password, func(c *mysql.Config) { c.MultiStatements = true })
		out = read(db, input, false)
	case "user":
		s.user, s.password, s.database = "root", "", "main"
		d.MaybeScanArgs(t, "name", &s.user)
		d.MaybeScanArgs(t, "password", &s.password)
		d.MaybeScanArgs(t, "database", &s.database)
		out = s.login(t)
	case "reconnect":
		out = s.login(t)
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	return strings.ReplaceAll(strings.TrimRight(out, "\n"), s.broker.Addrs[0], "$BROKER") + "\n"
}

func (s *script) login(t *testing.T) string {
	s.db = s.server.Login(t, s.user, s.password, func(c *mysql.Config) { c.DBName = strings.TrimPrefix(s.database, "none") })
	if err := s.db.Ping(); err != nil {
		return failure(err)
	}
	return "ok"
}

// partitions gives a topic more partitions.
func (s *script) partitions(t *testing.T, d *datadriven.TestData) string {
	req := kmsg.NewPtrCreatePartitionsRequest()
	topic := kmsg.NewCreatePartitionsRequestTopic()
	d.ScanArgs(t, "name", &topic.Topic)
	d.ScanArgs(t, "count", &topic.Count)
	req.TimeoutMillis, req.Topics = 10_000, append(req.Topics, topic)
	resp, err := req.RequestWith(t.Context(), s.producer(t, "", "", ""))
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatal(err)
	}
	clear(s.producers) // they would have to hear of it first
	return "ok"
}

func (s *script) trim(t *testing.T, d *datadriven.TestData) string {
	var name string
	var partition int32
	var offset int64
	d.ScanArgs(t, "name", &name)
	d.ScanArgs(t, "partition", &partition)
	d.ScanArgs(t, "offset", &offset)
	if err := s.broker.DeleteRecords(name, partition, offset); err != nil {
		t.Fatal(err)
	}
	return "ok"
}
