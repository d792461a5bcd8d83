package bad

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
	"millrace/server"
	"millrace/test/script"
)

// fragments are pieces of the dialect. $K stands for a call that works.
var fragments = strings.Split(strings.ReplaceAll(`SELECT|FROM|WHERE|$K|$K t|$K a JOIN $K b ON a.key = b.key|GROUP BY|ORDER BY|LIMIT|OFFSET|HAVING|UNION ALL|UNION|WITH c AS (|)|(|,|*|count(*)|
count(|sum(|max(|min(|avg(|distinct|key|value|topic|partition|offset|timestamp|timestampType|headers|t.key|a.value|1|0|-1|2.5|NULL|'x'|'12'|''|'{"a":[1,2]}'|x'ff'|
::int|::string|?::bigint|::decimal(5,2)|::json|::timestamp|::date|::boolean|::binary|:a|:a.b[0]|:['x y']|:[*]|:a::int|try_cast(|AS int)|AS|n|IN (1,2)|BETWEEN 1 AND 5|IS NULL|
IS NOT NULL|AND|OR|NOT|=|<|>=|<>|<=>|+|-|/|%|LIKE '%a%'|REGEXP 'a+'|CASE WHEN|THEN|ELSE|END|EXISTS (SELECT 1 FROM $K)|(SELECT max(offset) FROM $K)|LATERAL (|
row_number() OVER (PARTITION BY partition ORDER BY offset)|lag(offset) OVER ()|EXPLAIN|DESCRIBE|SHOW WARNINGS|STREAM|CREATE VIEW v AS|CREATE OR REPLACE VIEW v AS|DROP VIEW IF EXISTS v|v|
CREATE TABLE IF NOT EXISTS u AS|INSERT INTO u|DROP TABLE IF EXISTS u|SET @x =|@x|@@version|@@nothing|SET SESSION pushdown = 'off'|SET SESSION pushdown = 'on'|;|--|/*|*/|#|
read_kafka(|bootstrapServers =>|subscribe =>|startingOffsets =>|includeHeaders => true|get_json_object(value, '$.a')|length(|concat(|date_sub(timestamp, INTERVAL 1 HOUR)|
timestamp > now()|date_add(timestamp, INTERVAL 1 DAY)|ASC|DESC|ROLLUP|WINDOW|JOIN|LEFT JOIN|CROSS JOIN|USING (key)|ON|true|VALUES ROW(1,2)|json_length(|'unclosed|`+"`unclosed|`key`|?", "\n", ""), "|")

// hostile is a server whose statements end after a moment, with a topic to read.
type hostile struct {
	server *script.Server
	call   string
	db     *sql.DB
}

func newHostile(t testing.TB) *hostile {
	b := testkit.StartBroker(t)
	b.Topic(t, "t", 2, nil)
	var records []*kgo.Record
	for i, v := range []string{`{"a":{"b":[7,8]},"x y":"z"}`, `{"a":12}`, "12", "", "not json", `[1,2]`} {
		records = append(records, &kgo.Record{Topic: "t", Partition: int32(i % 2), Key: []byte{byte('a' + i)}, Value: []byte(v), Timestamp: time.UnixMilli(1_700_000_000_000)})
	}
	records = append(records, &kgo.Record{Topic: "t"})
	testkit.Produce(t, b.Client(t), records...)
	h := &hostile{server: script.StartServer(t, func(c *server.Config) { c.AllowHosts = []string{"127.0.0.1"} }), call: call(b, "t")}
	h.db = h.server.Login(t, "root", "", func(c *mysql.Config) {
		c.MultiStatements = true
		c.Params = map[string]string{"max_execution_time": "2000"}
	})
	return h
}

// try sends a statement, as text and prepared, and wants rows or an error, never a fault of the server or the end of the connection.
func (h *hostile) try(t testing.TB, statement string) (answered bool) {
	statement = strings.ReplaceAll(statement, "$K", h.call)
	if strings.Contains(strings.ToLower(statement), "sleep") || strings.Contains(strings.ToLower(statement), "get_lock") {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	check := func(way string, err error) {
		var e *mysql.MySQLError
		if err != nil && (!errors.As(err, &e) || strings.Contains(e.Message, "fault in the server")) && !ofTheClient(err) {
			t.Errorf("%s: %q gives %v", way, statement, err)
		}
	}
	rows, err := h.db.QueryContext(ctx, statement)
	if err == nil {
		err = drain(rows)
	}
	check("text", err)
	answered = err == nil
	stmt, err := h.db.PrepareContext(ctx, statement)
	if err == nil {
		var result *sql.Rows
		if result, err = stmt.QueryContext(ctx); err == nil {
			err = drain(result)
		}
		_ = stmt.Close()
	}
	check("prepared", err)
	var n int
	if err := h.db.QueryRow("SELECT 7").Scan(&n); err != nil || n != 7 {
		t.Fatalf("after %q SELECT 7 gives %d, %v", statement, n, err)
	}
	return answered
}

// ofTheClient tells errors that database/sql has before anything is sent: the number of parameters.
func ofTheClient(err error) bool { return strings.HasPrefix(err.Error(), "sql: expected") }

func drain(rows *sql.Rows) error {
	for {
		for rows.Next() {
		}
		if rows.Err() != nil || !rows.NextResultSet() {
			return errors.Join(rows.Err(), rows.Close())
		}
	}
}

// sentence is a random statement. Most begin like one that makes sense, so that they come past the parser.
func sentence(rnd *rand.Rand) string {
	column := func() string {
		c := []string{"key", "value", "topic", "partition", "offset", "timestamp", "value:a", "value:a.b[0]", "value::string", "value::string?::int", "length(key)", "NULL", "1", "'x'"}
		return c[rnd.IntN(len(c))]
	}
	operator := func() string {
		o := []string{"=", "<", ">=", "<>", "<=>", "LIKE", "+", "%", "AND", "OR", "IN", "REGEXP"}
		return o[rnd.IntN(len(o))]
	}
	var words []string
	if rnd.IntN(4) > 0 {
		aggregate := []string{"%", "count(%)", "sum(%)", "max(%)", "DISTINCT %", "count(DISTINCT %)", "(SELECT %)", "%::string", "%?::decimal(9,2)", "(%)::json", "CASE WHEN % THEN 1 END"}
		words = append(words, "SELECT", strings.ReplaceAll(aggregate[rnd.IntN(len(aggregate))], "%", column()), "AS x,", column(), "FROM $K t")
		if rnd.IntN(2) == 0 {
			words = append(words, "WHERE", column(), operator(), "(", column(), operator(), column(), ")")
		}
		for _, clause := range []string{"GROUP BY 2", "HAVING " + column() + " IS NOT NULL", "ORDER BY 1, " + column(), "LIMIT 3 OFFSET 1"} {
			if rnd.IntN(3) == 0 {
				words = append(words, clause)
			}
		}
	}
	for range rnd.IntN(8) * rnd.IntN(3) {
		at := rnd.IntN(len(words) + 1)
		words = append(words[:at], append([]string{fragments[rnd.IntN(len(fragments))]}, words[at:]...)...)
	}
	return strings.Join(words, " ")
}

// TestRandomStatementsGetAnAnswer sends statements that are made of pieces of the dialect; more of them in the nightly run.
func TestRandomStatementsGetAnAnswer(t *testing.T) {
	h := newHostile(t)
	seed, n := uint64(1), 1500
	if os.Getenv("NIGHTLY") != "" {
		seed, n = uint64(time.Now().UnixNano()), 100_000
	}
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 7))
	answered := 0
	for range n {
		if h.try(t, sentence(rnd)) {
			answered++
		}
		if t.Failed() {
			return
		}
	}
	if t.Logf("%d of %d statements gave rows", answered, n); answered < n/10 {
		t.Error("too few come past the parser")
	}
}

// FuzzServer lets the fuzzer choose the seed of a sentence, and any text.
func FuzzServer(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, "")
	}
	f.Add(uint64(0), "SELECT value:a FROM $K t WHERE offset::string?::int IN (SELECT 1)")
	h := newHostile(f)
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		if text == "" {
			text = sentence(rand.New(rand.NewPCG(seed, 7)))
		}
		h.try(t, text)
	})
}
