package readkafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/analyzer"
	"github.com/sirupsen/logrus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/planner"
)

// topics of the test broker: events has three partitions with 100 records each, empty has none.
func newBroker(t *testing.T) string {
	t.Helper()
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(3, "events"), kfake.SeedTopics(1, "empty"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var records []*kgo.Record
	for i := range 300 {
		r := &kgo.Record{
			Topic: "events", Partition: int32(i % 3),
			Timestamp: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(i) * time.Second),
			Value:     []byte(fmt.Sprintf("value-%03d", i)),
		}
		if i%4 > 0 {
			r.Key = []byte(fmt.Sprintf("key-%d", i%7))
		}
		if i%10 == 0 {
			r.Headers = []kgo.RecordHeader{{Key: "h", Value: []byte("x")}, {Key: "n"}}
		}
		if i%50 == 49 {
			r.Value = nil
		}
		records = append(records, r)
	}
	if err := client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return broker.ListenAddrs()[0]
}

type provider struct {
	*memory.DbProvider
	function sql.TableFunction
}

func (p *provider) TableFunction(ctx *sql.Context, name string) (sql.TableFunction, bool) {
	if strings.EqualFold(name, Name) {
		return p.function, true
	}
	return p.DbProvider.TableFunction(ctx, name)
}

func (p *provider) Function(_ *sql.Context, _, name string) (sql.Function, bool) {
	i := slices.IndexFunc(planner.Functions(), func(f sql.Function) bool { return f.FunctionName() == name })
	if i < 0 {
		return nil, false
	}
	return planner.Functions()[i], true
}

type session struct {
	t      *testing.T
	engine *sqle.Engine
	ctx    *sql.Context
	broker string
}

func newSession(t *testing.T, broker string) *session { return newSessionWith(t, broker, nil) }

func newSessionWith(t *testing.T, broker string, observe func(*sql.Context, scan.Source) scan.Source) *session {
	t.Helper()
	logrus.SetLevel(logrus.ErrorLevel)
	pool := kafka.NewPool(kafka.PoolOptions{})
	t.Cleanup(pool.Close)
	registries := NewRegistries(nil, "")
	t.Cleanup(registries.Close)
	env := Env{Pool: pool, Registries: registries}
	if observe != nil {
		env.Observe = func(ctx *sql.Context, src scan.Source, _ scan.Request) scan.Source { return observe(ctx, src) }
	}
	pro := &provider{memory.NewDBProvider(memory.NewDatabase("db")), New(env)}
	a := analyzer.NewBuilder(pro).Build()
	planner.Install(a)
	engine := sqle.New(a, &sqle.Config{})
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	s := memory.NewSession(sql.NewBaseSession(), pro)
	s.SetCurrentDatabase("db")
	return &session{t, engine, sql.NewContext(context.Background(), sql.WithSession(s)), broker}
}

// call is the dialect's form of read_kafka(bootstrapServers => …, name => value, …).
func (s *session) call(args string) string {
	if args != "" {
		args = ", " + args
	}
	return fmt.Sprintf("read_kafka('#named', 'bootstrapServers', '%s'%s)", s.broker, args)
}

// query runs q, in which $(args) stands for a call.
func (s *session) query(q string) ([]sql.Row, error) {
	for {
		before, rest, ok := strings.Cut(q, "$(")
		if !ok {
			break
		}
		args, after, _ := strings.Cut(rest, ")")
		q = before + s.call(args) + after
	}
	_, iter, _, err := s.engine.Query(s.ctx, q)
	if err != nil {
		return nil, err
	}
	return sql.RowIterToRows(s.ctx, iter)
}

func (s *session) mustQuery(q string) []sql.Row {
	s.t.Helper()
	rows, err := s.query(q)
	if err != nil {
		s.t.Fatalf("%s: %v", q, err)
	}
	return rows
}

func TestPushedAndUnpushedAgreeOnABroker(t *testing.T) {
	s := newSession(t, newBroker(t))
	for _, q := range []string{
		"SELECT COUNT(*) FROM $('subscribe', 'events')",
		"SELECT COUNT(*), COUNT(`key`), SUM(length(`value`)), MIN(`offset`), MAX(`timestamp`) FROM $('subscribe', 'events')",
		"SELECT * FROM $('subscribe', 'events')",
		"SELECT * FROM $('subscribe', 'events', 'includeHeaders', 'true') WHERE headers IS NOT NULL",
		"SELECT `value` FROM $('subscribe', 'events') WHERE `partition` = 1 AND `offset` IN (3, 5, 99, 1000)",
		"SELECT `offset` FROM $('subscribe', 'events') WHERE `timestamp` >= '2026-01-02 03:08:00' AND `partition` <> 0",
		"SELECT `key`, COUNT(*) FROM $('subscribe', 'events') GROUP BY `key`",
		"SELECT COUNT(*) FROM $('subscribe', 'empty')",
		"SELECT * FROM $('subscribe', 'empty')",
		"SELECT COUNT(*) FROM $('subscribePattern', 'e.*') WHERE topic = 'events'",
		"SELECT COUNT(*) FROM $('subscribe', 'events', 'startingOffsets', '{\"events\":{\"0\":10,\"1\":-2,\"2\":100}}')",
		"SELECT payload IS NULL, COUNT(*) FROM $('subscribe', 'events', 'data_format', 'raw') GROUP BY 1",
		"SELECT `partition`, `offset` FROM $('subscribe', 'events') ORDER BY `offset` DESC, `partition` LIMIT 5 OFFSET 3",
		"SELECT `value` FROM $('subscribe', 'events', 'timestampSkew', '1s') ORDER BY `timestamp` DESC LIMIT 7",
		"SELECT `value` FROM $('subscribe', 'events', 'timestampSkew', '0s') WHERE `timestamp` BETWEEN '2026-01-02 03:05:00' AND '2026-01-02 03:06:00.0005' AND `key` IS NULL",
		"SELECT `key`, MAX(`offset`), MIN(`timestamp`) FROM $('subscribe', 'events') GROUP BY `key`",
		"SELECT a.`value` FROM $('subscribe', 'events') a LEFT JOIN $('subscribe', 'events') b ON a.`offset` = b.`offset` AND b.`partition` = 1 WHERE a.`partition` = 0 AND b.`value` IS NOT NULL",
		"SELECT a.`offset`, (SELECT COUNT(*) FROM $('subscribe', 'events') b WHERE b.`offset` < a.`offset` AND b.`partition` = 1) FROM $('subscribe', 'events') a WHERE a.`partition` = 0 AND a.`offset` < 5",
	} {
		var results [2][]string
		for i, on := range []string{"off", "on"} {
			s.mustQuery("SET SESSION pushdown = '" + on + "'")
			for _, row := range s.mustQuery(q) {
				var parts []string
				for _, v := range row {
					if w, ok := v.(sql.JSONWrapper); ok {
						var err error
						if v, err = w.ToInterface(s.ctx); err != nil {
							t.Fatal(err)
						}
					}
					parts = append(parts, fmt.Sprintf("%v", v))
				}
				results[i] = append(results[i], strings.Join(parts, "|"))
			}
			sort.Strings(results[i])
		}
		if !slices.Equal(results[0], results[1]) {
			t.Errorf("%s\nby the engine\n%s\npushed down\n%s", q, strings.Join(results[0], "\n"), strings.Join(results[1], "\n"))
		}
	}
}

func TestColumnsOfACall(t *testing.T) {
	s := newSession(t, newBroker(t))
	rows := s.mustQuery("SELECT `key`, `value`, topic, `partition`, `offset`, `timestamp`, timestampType, headers FROM $('subscribe', 'events', 'includeHeaders', 'true') WHERE `partition` = 0 AND `offset` = 10")
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	r := rows[0]
	h, err := r[7].(sql.JSONWrapper).ToInterface(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s|%s|%v|%v|%v|%v|%v|%v", r[0], r[1], r[2], r[3], r[4], r[5], r[6], h)
	if want := "key-2|value-030|events|0|10|2026-01-02 03:04:35 +0000 UTC|0|[map[key:h value:x] map[key:n value:<nil>]]"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := s.query("SELECT headers FROM $('subscribe', 'events')"); err == nil {
		t.Error("headers is there without includeHeaders")
	}
}

func TestLimitReadsLittle(t *testing.T) {
	s := newSession(t, newBroker(t))
	if rows := s.mustQuery("SELECT `value` FROM $('subscribe', 'events') LIMIT 5"); len(rows) != 5 {
		t.Errorf("%d rows", len(rows))
	}
	if rows := s.mustQuery("SELECT `value` FROM $('subscribe', 'events') WHERE `offset` >= 98 LIMIT 5 OFFSET 2"); len(rows) != 4 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestErrorsOfACall(t *testing.T) {
	broker := newBroker(t)
	s := newSession(t, broker)
	for _, c := range []struct {
		name, query string
		kind        *sqlerr.Kind
		want        string
	}{
		{"positional", "SELECT * FROM read_kafka('events')", sqlerr.OptionInvalid, "have no names"},
		{"nothing", "SELECT * FROM read_kafka()", sqlerr.OptionMissing, ""},
		{"unknown name", "SELECT * FROM $('subscribe', 'events', 'startingOfsets', 'earliest')", sqlerr.OptionUnknown, "startingOffsets"},
		{"bad value", "SELECT * FROM $('subscribe', 'events', 'failOnDataLoss', 'perhaps')", sqlerr.OptionInvalid, "failOnDataLoss"},
		{"unknown topic", "SELECT * FROM $('subscribe', 'nowhere')", sqlerr.KafkaTopicNotFound, "nowhere"},
		{"unknown topic in a count", "SELECT COUNT(*) FROM $('subscribe', 'nowhere')", sqlerr.KafkaTopicNotFound, "nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := s.query(c.query)
			if !sqlerr.HasKind(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestUnreachableBrokerIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := newSession(t, address)
	start := time.Now()
	if _, err := s.query("SELECT * FROM $('subscribe', 'events')"); !sqlerr.HasKind(err, sqlerr.KafkaUnreachable) || !strings.Contains(err.Error(), address) {
		t.Errorf("got %v", err)
	}
	if d := time.Since(start); d > 15*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestArgumentsFromUserVariables(t *testing.T) {
	s := newSession(t, newBroker(t))
	s.mustQuery("SET @t = 'events', @h = 'true'")
	rows := s.mustQuery("SELECT COUNT(headers) FROM $('subscribe', @t, 'includeHeaders', @h)")
	if got := fmt.Sprint(rows[0][0]); got != "30" {
		t.Errorf("got %s", got)
	}
}

func TestPreparedWithParameters(t *testing.T) {
	s := newSession(t, newBroker(t))
	s.mustQuery("PREPARE p FROM 'SELECT COUNT(headers) FROM " + strings.ReplaceAll(s.call("'subscribe', ?, 'includeHeaders', ?"), "'", "''") + " WHERE `partition` = ?'")
	s.mustQuery("SET @t = 'events', @h = 'true', @p = 1")
	rows := s.mustQuery("EXECUTE p USING @t, @h, @p")
	if got := fmt.Sprint(rows[0][0]); got != "10" {
		t.Errorf("got %s", got)
	}
}

// checker is a user with the privileges listed.
type checker []string

func (c checker) UserHasPrivileges(_ *sql.Context, ops ...sql.PrivilegedOperation) bool {
	for _, op := range ops {
		for _, p := range op.DynamicPrivileges {
			if !slices.Contains(c, p) {
				return false
			}
		}
	}
	return true
}

func (c checker) RoutineAdminCheck(*sql.Context, ...sql.PrivilegedOperation) bool { return false }

func TestCallNeedsItsPrivilege(t *testing.T) {
	n := New(Env{}).(*Node)
	if n.CheckAuth(nil, checker{}) {
		t.Error("allowed without a privilege")
	}
	if !n.CheckAuth(nil, checker{Privilege}) {
		t.Error("refused with the privilege")
	}
}

func TestCancelStopsAScan(t *testing.T) {
	s := newSession(t, newBroker(t))
	ctx, cancel := context.WithCancel(context.Background())
	s.ctx = s.ctx.WithContext(ctx)
	_, iter, _, err := s.engine.Query(s.ctx, "SELECT `value` FROM "+s.call("'subscribe', 'events'"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := iter.Next(s.ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	for {
		if _, err = iter.Next(s.ctx); err != nil {
			break
		}
	}
	if !errors.Is(err, context.Canceled) && !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
	if err := iter.Close(s.ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
