package demo

import (
	"bytes"
	"context"
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
	ends, err := kadm.NewClient(s.cl).ListEndOffsets(ctx, Orders, Payments, PageViews, Customers)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	ends.Each(func(o kadm.ListedOffset) { got[o.Topic] += o.Offset })
	want := map[string]int64{Orders: initialOrders + 4, Payments: initialOrders, PageViews: initialViews, Customers: 5*initialCustomers + 1}
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
