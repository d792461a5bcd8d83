package bad

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"millrace/internal/demo"
	"millrace/test/script"
)

// garbage is what ports get to see that are open to a network.
func garbage(rnd *rand.Rand) [][]byte {
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return b
	}
	out := [][]byte{
		nil, {0}, {0xff, 0xff, 0xff, 0xff}, []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
		[]byte("SSH-2.0-OpenSSH_9.6\r\n"), []byte(strings.Repeat("A", 100_000)), make([]byte, 100_000),
		{0xff, 0xff, 0xff, 0x01}, {0x00, 0x00, 0x00, 0x01}, {0x20, 0x00, 0x00, 0x01, 0x85, 0xa6, 0xff, 0x01},
		{0x7f, 0xff, 0xff, 0xff, 0, 18, 0, 3, 0, 0, 0, 1}, {0x80, 0x00, 0x00, 0x00}, {0, 0, 0, 8, 0, 18, 0, 3, 0, 0, 0, 1},
	}
	for range 30 {
		out = append(out, random(1+rnd.IntN(300)))
	}
	return out
}

// send writes bytes to a port and reads what comes back until the peer ends, or a moment has passed in silence.
func send(addr string, data []byte) error {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, _ = c.Write(data) // the peer may hang up in the middle
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	_, _ = io.Copy(io.Discard, c)
	return nil
}

func TestGarbageOnThePortsDoesNoHarm(t *testing.T) {
	s := script.StartServer(t)
	db := s.Login(t, "root", "")
	one[int](t, db, "SELECT 1")
	rnd := rand.New(rand.NewPCG(1, 2))
	for name, addr := range map[string]string{"mysql": s.Addr, "http": s.HTTP} {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup
			for _, g := range garbage(rnd) {
				all.Go(func() {
					if err := send(addr, g); err != nil {
						t.Errorf("%q: %v", g, err)
					}
				})
			}
			all.Wait()
			if c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true}); err == nil {
				_ = c.Close()
			}
			if n := one[int](t, db, "SELECT 2"); n != 2 {
				t.Errorf("afterwards SELECT 2 gives %d", n)
			}
			res, err := client.Get("http://" + s.HTTP + "/healthz")
			if err != nil {
				t.Fatal(err)
			}
			if _ = res.Body.Close(); res.StatusCode != http.StatusOK {
				t.Errorf("afterwards /healthz says %s", res.Status)
			}
		})
	}
	// A new client gets in, from the host that sent the garbage: a failed handshake is no failed password.
	if n := one[int](t, s.Login(t, "root", ""), "SELECT 3"); n != 3 {
		t.Errorf("a new client gets %d", n)
	}
}

func TestGarbageOnThePortOfTheDemosBroker(t *testing.T) {
	b, err := demo.StartBroker("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	rnd := rand.New(rand.NewPCG(3, 4))
	var all sync.WaitGroup
	for _, g := range garbage(rnd) {
		all.Go(func() {
			if err := send(b.Addr(), g); err != nil {
				t.Errorf("%q: %v", g, err)
			}
		})
	}
	all.Wait()
	s := script.StartServer(t)
	db := s.Login(t, "root", "")
	_, err = db.Query("SELECT * FROM read_kafka(bootstrapServers => '" + b.Addr() + "', subscribe => 'none')")
	wantError(t, err, 31016)
}

// TestHalfOpenConnectionsCostLittle opens connections that never say a word, and some that stop in the middle of a packet.
func TestHalfOpenConnectionsCostLittle(t *testing.T) {
	s := script.StartServer(t)
	db := s.Login(t, "root", "")
	one[int](t, db, "SELECT 1")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var open []net.Conn
	for i := range 60 {
		c, err := net.Dial("tcp", s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		if i%2 == 0 {
			_, _ = c.Write([]byte{0xff, 0xff, 0xfe, 0x01, 'x'}) // says that 16 MB follow
		}
	}
	if n := one[int](t, db, "SELECT 2"); n != 2 {
		t.Errorf("meanwhile SELECT 2 gives %d", n)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 32<<20 {
		t.Errorf("60 silent peers cost %d MB", grown>>20)
	}
	for _, c := range open {
		_ = c.Close()
	}
	until(t, "the end of their connections", func() bool { return metric(t, s, "millrace_connections") == 1 })
}

func TestThousandQuickConnects(t *testing.T) {
	s := script.StartServer(t)
	begin := time.Now()
	var all sync.WaitGroup
	refused := make(chan error, 1000)
	for w := range 10 {
		all.Go(func() {
			for i := range 100 {
				db := s.Login(t, "root", "", func(c *mysql.Config) { c.MaxAllowedPacket = 1 << 16 })
				var n int
				if err := db.QueryRow(fmt.Sprintf("SELECT %d", w*100+i)).Scan(&n); err != nil || n != w*100+i {
					refused <- fmt.Errorf("got %d: %w", n, err)
				}
				_ = db.Close()
			}
		})
	}
	all.Wait()
	close(refused)
	for err := range refused {
		t.Error(err)
	}
	t.Logf("a thousand logins in %v", time.Since(begin))
	until(t, "the end of their connections", func() bool { return metric(t, s, "millrace_connections") == 0 })
}

// TestTooManyConnectionsAreToldSo keeps more clients than max_connections and wants 1040 for the rest, and room again afterwards.
func TestTooManyConnectionsAreToldSo(t *testing.T) {
	s := script.StartServer(t)
	max := one[int](t, s.Login(t, "root", ""), "SELECT @@max_connections")
	until(t, "no connection", func() bool { return metric(t, s, "millrace_connections") <= 1 })
	db := s.Pool(t, "root", "")
	var held []io.Closer
	var last error
	for range max + 5 {
		c, err := db.Conn(t.Context())
		if err != nil {
			last = err
			break
		}
		held = append(held, c)
	}
	var e *mysql.MySQLError
	if !errors.As(last, &e) || e.Number != 1040 {
		t.Errorf("one too many: %v, want 1040", last)
	}
	for _, c := range held {
		_ = c.Close()
	}
	_ = db.Close()
	until(t, "room for a client", func() bool {
		var n int
		return s.Login(t, "root", "").QueryRow("SELECT 1").Scan(&n) == nil
	})
}
