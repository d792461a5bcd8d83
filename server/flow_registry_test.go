package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"millrace/internal/testkit"
)

// fallibleRegistry is a schema registry that can be made to fail.
type fallibleRegistry struct {
	*srfake.Registry
	url string
	// down is what it does instead of answering, nil when it answers. asked counts what it was asked meanwhile.
	down  atomic.Pointer[http.HandlerFunc]
	asked atomic.Int64
}

func startFallibleRegistry(t *testing.T) *fallibleRegistry {
	t.Helper()
	x := &fallibleRegistry{Registry: srfake.NewRegistry()}
	answers := x.Handler()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down := x.down.Load(); down != nil {
			x.asked.Add(1)
			(*down)(w, r)
			return
		}
		answers.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	x.url = s.URL
	return x
}

// feedOrders sends orders to a topic with two partitions, some every few milliseconds, until stop, which gives their number.
func feedOrders(t *testing.T, b *testkit.Broker) (stop func() int) {
	t.Helper()
	cl := b.Client(t)
	ended, done, n := make(chan struct{}), make(chan error, 1), 0
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			var list []*kgo.Record
			for range 20 {
				list = append(list, &kgo.Record{Topic: "orders", Partition: int32(n % 2), Key: fmt.Append(nil, n), Value: fmt.Appendf(nil, `{"id":%d}`, n)})
				n++
			}
			if err := cl.ProduceSync(t.Context(), list...).FirstErr(); err != nil {
				done <- err
				return
			}
			select {
			case <-ended:
				done <- nil
				return
			case <-tick.C:
			}
		}
	}()
	stop = sync.OnceValue(func() int {
		close(ended)
		if err := <-done; err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		return n
	})
	t.Cleanup(func() { stop() })
	return stop
}

// A flow that must register its schema, or look it up, while the registry is away says so, and goes on by itself once it answers: no row is lost, none written twice.
func TestAFlowWhoseRegistryIsAwayUnderLoad(t *testing.T) {
	for name, test := range map[string]struct {
		down      http.HandlerFunc
		arguments string
		reason    string
	}{
		"an error, registering":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }, "exactlyOnce => true", "%registry%503%"},
		"silence, looking up":           {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "exactlyOnce => true, autoRegisterSchemas => false", "%registry%"},
		"lost connections, registering": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "keyFormat => 'avro'", "%registry%"},
	} {
		t.Run(name, func(t *testing.T) {
			b := testkit.StartBroker(t)
			b.Topic(t, "orders", 2, nil)
			b.Topic(t, "out", 3, nil)
			registry := startFallibleRegistry(t)
			registry.SeedSchema("out-value", 1, 1, sr.Schema{Schema: `{"type":"record","name":"order","fields":[{"name":"id","type":"long"}]}`})
			dir := t.TempDir()
			begin := func() *running { return start(t, func(c *Config) { c.DataDir = dir }) }
			r := begin()
			stop := feedOrders(t, b)
			do(t, r.root(t), fmt.Sprintf(`CREATE FLOW f AS INSERT INTO write_kafka(bootstrapServers => '%[1]s', topic => 'out', format => 'avro', schemaRegistryUrl => '%[2]s', schemaRegistryTimeout => '200ms', %[3]s) BY NAME
				SELECT key::string AS key, value:id::bigint AS id FROM STREAM read_kafka(bootstrapServers => '%[1]s', subscribe => 'orders', startingOffsets => 'earliest')`, b.Addrs[0], registry.url, test.arguments))
			written := func(r *running) int {
				t.Helper()
				var n int
				if err := r.root(t).QueryRow("SELECT rows_written FROM information_schema.streaming_flows").Scan(&n); err != nil {
					t.Fatal(err)
				}
				return n
			}
			grows := func(r *running, from int) {
				t.Helper()
				comes(t, r, fmt.Sprintf("SELECT state, rows_written > %d FROM information_schema.streaming_flows", from), "running|1")
			}
			grows(r, 200)
			// What it has is enough to go on.
			registry.down.Store(&test.down)
			grows(r, written(r)+100)
			if n := registry.asked.Load(); n != 0 {
				t.Errorf("the registry was asked %d times by a flow that has its schema", n)
			}
			// Begun anew, it needs the registry.
			stalls := "SELECT state, reason LIKE '" + test.reason + "' FROM information_schema.streaming_flows"
			do(t, r.root(t), "ALTER FLOW f PAUSE")
			comes(t, r, "SELECT state FROM information_schema.streaming_flows", "paused")
			do(t, r.root(t), "ALTER FLOW f RESUME")
			comes(t, r, stalls, "stalled|1")
			before := written(r)
			registry.down.Store(nil)
			grows(r, before+100)
			// Over a restart, too.
			registry.down.Store(&test.down)
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			r = begin()
			comes(t, r, stalls, "stalled|1")
			before = written(r)
			registry.down.Store(nil)
			grows(r, before+100)
			n := stop()
			comes(t, r, fmt.Sprintf("SELECT count(*), count(DISTINCT id), min(id), max(id) FROM read_kafka(bootstrapServers => '%s', subscribe => 'out', format => 'avro', schemaRegistryUrl => '%s')", b.Addrs[0], registry.url),
				fmt.Sprintf("%d|%d|0|%d", n, n, n-1))
			comes(t, r, "SELECT state, lag, bad_records FROM information_schema.streaming_flows", "running|0|0")
		})
	}
}

// A flow that reads by a registry meets a schema that it does not know while the registry is away: the records wait for it, and are no bad ones.
func TestAFlowThatReadsByARegistryThatIsAway(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 1, nil)
	b.Topic(t, "out", 1, nil)
	registry := startFallibleRegistry(t)
	of := func(fields string) sr.Schema {
		return sr.Schema{Schema: `{"type":"record","name":"order","fields":[` + fields + `]}`}
	}
	registry.SeedSchema("orders-value", 1, 1, of(idField))
	registry.SeedSchema("orders-value", 2, 2, of(idField+","+noteField))
	cl := b.Client(t)
	send := func(list ...string) {
		t.Helper()
		for _, v := range list {
			testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Value: []byte(v)})
		}
	}
	send("\x00\x00\x00\x00\x01\x02", "\x00\x00\x00\x00\x01\x04")
	r := start(t)
	do(t, r.root(t), fmt.Sprintf(`CREATE FLOW f AS INSERT INTO write_kafka(bootstrapServers => '%[1]s', topic => 'out', format => 'json', exactlyOnce => true) BY NAME
		SELECT id FROM STREAM read_kafka(bootstrapServers => '%[1]s', subscribe => 'orders', startingOffsets => 'earliest', format => 'avro', schemaRegistryUrl => '%[2]s', schemaRegistryVersion => 1, schemaRegistryTimeout => '200ms')`, b.Addrs[0], registry.url))
	comes(t, r, "SELECT rows_written, lag FROM information_schema.streaming_flows", "2|0")
	away := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	registry.down.Store(&away)
	send("\x00\x00\x00\x00\x01\x06", "\x00\x00\x00\x00\x02\x08\x00", "\x00\x00\x00\x00\x02\x0a\x02\x02a", "\x00\x00\x00\x00\x01\x0c")
	comes(t, r, "SELECT state, reason LIKE '%registry%' FROM information_schema.streaming_flows", "stalled|1")
	registry.down.Store(nil)
	comes(t, r, "SELECT state, rows_written, lag, bad_records FROM information_schema.streaming_flows", "running|6|0|0")
	gives(t, r.root(t), fmt.Sprintf("SELECT value:id::bigint FROM read_kafka(bootstrapServers => '%s', subscribe => 'out') ORDER BY offset", b.Addrs[0]), "1\n2\n3\n4\n5\n6")
}
