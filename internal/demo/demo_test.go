package demo

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"millrace/server"
)

// envServe is set in the process that TestCrashKillsAServerAndNothingIsLost kills: the folder of its data.
const envServe = "DEMO_SERVE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(envServe); dir != "" {
		if err := serve(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func serve(dir string) error {
	s, err := server.New(server.Config{Listen: "127.0.0.1:0", DataDir: dir, MemoryLimit: "512MiB", Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Announce: func(name, address string) { fmt.Println(name, "listening on", address) }})
	if err != nil {
		return err
	}
	return errors.Join(s.Run(context.Background()), s.Close())
}

func TestCrashKillsAServerAndNothingIsLost(t *testing.T) {
	b := broker(t)
	for range 2 { // the second time on a broker that has the topic
		dir := t.TempDir()
		var out bytes.Buffer
		err := Crash(t.Context(), func() *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), envServe+"="+dir)
			return cmd
		}, b.Addr(), &out)
		if err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		said := regexp.MustCompile(`(?s)(\d+) clicks were sent\. Each is there, once\..*\n\| +(\d+) \| +(\d+) \| +0 \|`).FindStringSubmatch(out.String())
		if said == nil || said[1] != said[2] || said[2] != said[3] || strings.Count(out.String(), "kill -9 ") != crashes {
			t.Errorf("%q in\n%s", said, &out)
		}
	}
}

func broker(t *testing.T) *Broker {
	t.Helper()
	b, err := StartBroker("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// A browser or a TLS client on the broker's port once cost more than a gigabyte a connection.
func TestBrokerClosesWhatIsNotKafka(t *testing.T) {
	b := broker(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, garbage := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "\xff\xff\xff\xff\x00\x03\x00\x00", "\x00\x00\x00\x08\x7f\xff\x00\x00"} {
		c, err := net.Dial("tcp", b.Addr())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(garbage)); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, c); n > 0 || err != nil && strings.Contains(err.Error(), "timeout") {
			t.Errorf("%q: %d bytes, %v; want a closed connection", garbage, n, err)
		}
		_ = c.Close()
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.TotalAlloc) - int64(before.TotalAlloc); grown > 64<<20 {
		t.Errorf("garbage made the broker allocate %d MiB", grown>>20)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.Ping(t.Context()); err != nil {
		t.Errorf("the broker no longer answers: %v", err)
	}
}

// The demo had no way to make a topic: kcat -P -t new hung.
func TestProducersMakeTopicsAndReadersDoNot(t *testing.T) {
	b := broker(t)
	for topic, creates := range map[string]bool{"new": true, "mistyped": false} {
		opts := []kgo.Opt{kgo.SeedBrokers(b.Addr()), kgo.DefaultProduceTopic(topic), kgo.UnknownTopicRetries(0)}
		if creates {
			opts = append(opts, kgo.AllowAutoTopicCreation())
		}
		cl, err := kgo.NewClient(opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		if err := cl.ProduceSync(t.Context(), kgo.StringRecord("x")).FirstErr(); (err == nil) != creates {
			t.Errorf("producing to topic '%s': %v", topic, err)
		}
		topics, err := kadm.NewClient(cl).ListTopics(t.Context(), topic)
		if err != nil || topics.Has(topic) != creates {
			t.Errorf("topic '%s': %v, %v", topic, topics.Has(topic), err)
		}
	}
}

// The demo's registry said BACKWARD, as the defaults of others do, and took a schema that is not: a user who tried what compatibility is for saw it not work.
func TestRegistrySaysThatItTakesAnySchema(t *testing.T) {
	r, err := StartRegistry("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	res, err := http.Get(r.URL() + "/config")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if body, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(body), `"NONE"`) {
		t.Errorf("%s, %v", body, err)
	}
}

// The footer of a statement that reads nothing repeated what the join before it had read.
func TestTourSaysOfEachStatementWhatItRead(t *testing.T) {
	b := broker(t)
	producer, err := kgo.NewClient(kgo.SeedBrokers(b.Addr()), kgo.DefaultProduceTopic("numbers"), kgo.AllowAutoTopicCreation())
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	if err := producer.ProduceSync(t.Context(), kgo.StringRecord("1"), kgo.StringRecord("2")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	addr := make(chan string, 1)
	s, err := server.New(server.Config{Listen: "127.0.0.1:0", DataDir: t.TempDir(), MemoryLimit: "512MiB", Log: slog.New(slog.DiscardHandler), Announce: func(name, address string) {
		if name == "mysql" {
			addr <- address
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ran, s.Close()); err != nil {
			t.Error(err)
		}
	})
	db, err := sql.Open("mysql", "root@tcp("+<-addr+")/main")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	read := "SELECT value::string AS n FROM read_kafka(bootstrapServers => '" + b.Addr() + "', subscribe => 'numbers')"
	for _, c := range []struct {
		statement string
		reads     bool
	}{{"SELECT 1", false}, {read, true}, {"SELECT 1", false}, {"SHOW TABLES", false}, {read, true}, {"CREATE VIEW numbers AS " + read, false}, {"SELECT * FROM numbers", true}} {
		var out bytes.Buffer
		if err := visit(ctx, conn, "", c.statement, &out); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), ", read 2 records, ") != c.reads {
			t.Errorf("want what it read: %t\n%s", c.reads, &out)
		}
	}
}

func TestFillMakesEveryTopic(t *testing.T) {
	b := broker(t)
	r, err := StartRegistry("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := OpenShop(ctx, b.Addr(), r.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Fill(ctx, time.Now()); err != nil {
		t.Fatal(err)
	}
	// The examples of docs/sinks.md wrote JSON into the topic of Avro and Avro into one of JSON, as there was no topic to write to: later examples then had bad records.
	ends, err := kadm.NewClient(s.cl).ListEndOffsets(ctx, Orders, Payments, PageViews, Customers, Shipments, Failed, Visits)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	ends.Each(func(o kadm.ListedOffset) { got[o.Topic] += o.Offset })
	want := map[string]int64{Orders: initialOrders + 4, Payments: initialOrders, PageViews: initialViews, Customers: 5*initialCustomers + 1, Shipments: 0, Failed: 0, Visits: 0}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("records %v, want %v", got, want)
	}
	res, err := http.Get(r.URL() + "/subjects")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(body), "payments-value") || !strings.Contains(string(body), "page_views-value") {
		t.Errorf("subjects %s, %v", body, err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestTables(t *testing.T) {
	var b bytes.Buffer
	writeTable(&b, []string{"name", "n"}, [][]string{{"tea", "12"}, {"žluť", "NULL"}})
	want := `+------+------+
| name | n    |
+------+------+
| tea  |   12 |
| žluť | NULL |
+------+------+
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
	if got := clip(strings.Repeat("x", 100)); len([]rune(got)) != maxCell {
		t.Errorf("clipped to %d runes", len([]rune(got)))
	}
}
