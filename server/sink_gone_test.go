package server

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/testkit"
)

// goneBroker is a broker with topic out that takes no record: at the first it goes away for good, and gone is closed.
func goneBroker(t *testing.T) (write string, gone <-chan struct{}) {
	t.Helper()
	b := testkit.StartBroker(t)
	b.Topic(t, "out", 1, nil)
	asked, closed := make(chan struct{}, 1), make(chan struct{})
	b.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		select {
		case asked <- struct{}{}:
		default:
		}
		return nil, errors.New("the connection is lost"), true
	})
	go func() {
		defer close(closed)
		select {
		case <-asked:
			b.Close()
		case <-t.Context().Done():
		}
	}()
	return "write_kafka(bootstrapServers => '" + b.Addrs[0] + "', topic => 'out', exactlyOnce => true)", closed
}

// KILL of an exactly-once write whose broker was gone took five seconds, as it waited for the transaction to be aborted; so did the end of its connection, and that of the server.
func TestAWriteWhoseBrokerIsGoneEndsAtOnce(t *testing.T) {
	for _, how := range []string{"kill query", "kill", "disconnect", "shutdown"} {
		t.Run(how, func(t *testing.T) {
			write, gone := goneBroker(t)
			r := start(t, func(c *Config) { c.DrainTimeout = 10 * time.Millisecond })
			conn, err := r.root(t).Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }() // it may be gone
			var id int
			if err := conn.QueryRowContext(t.Context(), "SELECT connection_id()").Scan(&id); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := conn.ExecContext(ctx, "INSERT INTO "+write+" (value) VALUES ('a'), ('b')")
				ended <- err
			}()
			<-gone
			begin := time.Now()
			switch how {
			case "kill query":
				do(t, r.root(t), fmt.Sprintf("KILL QUERY %d", id))
				wantNumber(t, <-ended, 1317, "")
			case "kill":
				do(t, r.root(t), fmt.Sprintf("KILL %d", id))
				if err := <-ended; err == nil {
					t.Error("the write succeeded")
				}
			case "disconnect":
				cancel()
				<-ended
				comes(t, r, "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'INSERT INTO write%'", "0")
			case "shutdown":
				if err := r.stop(); err != nil {
					t.Fatal(err)
				}
				<-ended
			}
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
			if how != "shutdown" {
				begin = time.Now()
				if err := r.stop(); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took > 2*time.Second {
					t.Errorf("the server took %v to stop", took)
				}
			}
		})
	}
}

// Where brokers answer, a transaction that was killed is over when the client hears of it: whoever reads committed records is not held up.
func TestAWriteThatWasKilledHoldsNobodyUp(t *testing.T) {
	_, read, write := sinkTopics(t, 3000)
	r := start(t)
	db := r.root(t)
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	var id int
	if err := conn.QueryRowContext(t.Context(), "SELECT connection_id()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := conn.ExecContext(context.Background(), "INSERT INTO "+write("copy", "exactlyOnce => true", "`kafka.linger.ms` => 0")+
			" SELECT value FROM "+read("orders")+" UNION ALL SELECT CASE WHEN sleep(60) = 0 THEN 'late' END AS value")
		ended <- err
	}()
	comes(t, r, "SELECT count(*) > 0 FROM "+read("copy", "isolationLevel => 'read_uncommitted'"), "1")
	do(t, r.root(t), fmt.Sprintf("KILL QUERY %d", id))
	wantNumber(t, <-ended, 1317, "")
	do(t, r.root(t), "INSERT INTO "+write("copy")+" (value) VALUES ('behind')")
	gives(t, r.root(t), "SELECT value::string FROM "+read("copy"), "behind")
}
