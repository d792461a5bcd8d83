package bad

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/testkit"
	"millrace/test/script"
)

func TestTopicsOfOddNames(t *testing.T) {
	b := testkit.StartBroker(t)
	db := script.StartServer(t).Login(t, "root", "")
	cl := b.Client(t)
	for _, name := range []string{"a.b.c", "-", "_", "__internal", strings.Repeat("n", 249), "SELECT", "1", "..x", "Topic", "topic"} {
		b.Topic(t, name, 1, nil)
		testkit.Produce(t, cl, &kgo.Record{Topic: name, Value: []byte(name)})
		for _, c := range []string{call(b, name), fmt.Sprintf("read_kafka(bootstrapServers => '%s', assign => '{\"%s\": [0]}')", b.Addrs[0], name)} {
			if got := one[string](t, db, "SELECT concat(topic, ' ', value::string) FROM "+c+" WHERE topic = '"+name+"'"); got != name+" "+name {
				t.Errorf("%s: got %q", name, got)
			}
		}
	}
	for _, name := range []string{".", "..", "a b", "a/b", "größe", strings.Repeat("n", 250), "a'b", "\x00"} {
		_, err := db.Query("SELECT * FROM " + call(b, strings.ReplaceAll(name, "'", "''")))
		wantError(t, err, 31002)
	}
}

func TestTopicOfAThousandPartitions(t *testing.T) {
	const partitions = 1000
	b := testkit.StartBroker(t)
	b.Topic(t, "wide", partitions, nil)
	cl := b.Client(t)
	var records []*kgo.Record
	for p := range int32(partitions) {
		if p%3 > 0 {
			records = append(records, &kgo.Record{Topic: "wide", Partition: p, Value: fmt.Appendf(nil, "%d", p)})
		}
	}
	testkit.Produce(t, cl, records...)
	db := script.StartServer(t).Login(t, "root", "")
	begin := time.Now()
	if n := one[int](t, db, "SELECT count(*) FROM "+call(b, "wide")); n != len(records) {
		t.Errorf("count is %d, want %d", n, len(records))
	}
	if n := one[int](t, db, "SELECT count(DISTINCT partition) FROM "+call(b, "wide")+" WHERE value::string::int = partition"); n != len(records) {
		t.Errorf("%d partitions, want %d", n, len(records))
	}
	if n := one[int](t, db, "SELECT max(partition) FROM "+call(b, "wide")+" WHERE partition < 500"); n != 499 {
		t.Errorf("the last partition below 500 is %d", n)
	}
	if plan := one[string](t, db, "EXPLAIN SELECT 1 FROM "+call(b, "wide")); len(plan) > 1<<20 {
		t.Errorf("the plan has %d bytes", len(plan))
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestRecordsOfEachCodec reads large records, tiny batches and records of headers only, compressed by each codec.
func TestRecordsOfEachCodec(t *testing.T) {
	for i, codec := range testkit.CodecNames {
		t.Run(codec, func(t *testing.T) {
			b := testkit.StartBroker(t)
			b.Topic(t, "t", 1, map[string]string{"max.message.bytes": "4000000"})
			cl := b.Client(t, kgo.ProducerBatchCompression(testkit.Codecs[i]), kgo.ProducerBatchMaxBytes(3<<20), kgo.DefaultProduceTopic("t"))
			large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MB
			testkit.Produce(t, cl, &kgo.Record{Value: large})
			for range 300 { // a batch each
				testkit.Produce(t, cl, &kgo.Record{Key: []byte("k"), Value: []byte("tiny")})
			}
			testkit.Produce(t, cl, &kgo.Record{Headers: []kgo.RecordHeader{{Key: "only", Value: large[:100_000]}, {Key: ""}}})
			testkit.Produce(t, cl, &kgo.Record{})
			testkit.Produce(t, cl, &kgo.Record{Key: large, Value: large})
			db := script.StartServer(t).Login(t, "root", "")
			for query, want := range map[string]int{
				"SELECT count(*) FROM %s":                                        304,
				"SELECT count(value) FROM %s":                                    302,
				"SELECT sum(length(value)) FROM %s":                              2<<20 + 1200,
				"SELECT max(length(key)) FROM %s":                                1 << 20,
				"SELECT count(*) FROM %s WHERE value = 'tiny'":                   300,
				"SELECT min(offset) FROM %s WHERE key IS NULL AND value IS NULL": 301,
			} {
				if got := one[int](t, db, fmt.Sprintf(query, call(b, "t"))); got != want {
					t.Errorf("%s: %d, want %d", query, got, want)
				}
			}
			with := strings.Replace(call(b, "t"), ")", ", includeHeaders => true)", 1)
			if got := one[int](t, db, "SELECT length(header(headers, 'only')) FROM "+with+" WHERE headers IS NOT NULL"); got != 100_000 {
				t.Errorf("the header has %d bytes", got)
			}
			if got := one[string](t, db, "SELECT value FROM "+call(b, "t")+" LIMIT 1"); got != string(large) {
				t.Errorf("the large value arrives with %d bytes", len(got))
			}
		})
	}
}

// TestManyTinyBatches reads a partition that a producer without lingering wrote, a record or two to a batch.
func TestManyTinyBatches(t *testing.T) {
	const n = 20_000
	b := testkit.StartBroker(t)
	b.Topic(t, "t", 1, nil)
	cl := b.Client(t, kgo.DefaultProduceTopic("t"), kgo.MaxBufferedRecords(n), kgo.ProducerBatchMaxBytes(512), kgo.MaxProduceRequestsInflightPerBroker(1))
	var first kgo.FirstErrPromise
	for i := range n {
		cl.Produce(t.Context(), &kgo.Record{Value: fmt.Appendf(nil, "%d %s", i, strings.Repeat("x", 200))}, first.Promise())
	}
	if err := first.Err(); err != nil {
		t.Fatal(err)
	}
	db := script.StartServer(t).Login(t, "root", "")
	begin := time.Now()
	for query, want := range map[string]int{
		"SELECT count(*) FROM %s": n, "SELECT count(*) FROM %s WHERE value LIKE '%%x'": n, "SELECT max(offset) FROM %s WHERE offset < 10000": 9999,
	} {
		if got := one[int](t, db, fmt.Sprintf(query, call(b, "t"))); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	t.Logf("three scans in %v", time.Since(begin))
}
