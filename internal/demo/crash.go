package demo

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// crashes is how often Crash kills its server.
const crashes = 5

// Crash shows that a streaming table loses and doubles nothing when its server is killed: one that runs as a process of its own and is killed, without a chance to do
// anything about it, while records come in. serve gives the command of a server with an empty data folder, which is the same each time; a line of its output must be
// "mysql listening on ADDRESS".
func Crash(ctx context.Context, serve func() *exec.Cmd, brokers string, out io.Writer) (err error) {
	clicks, err := startClicks(ctx, brokers)
	if err != nil {
		return fmt.Errorf("demo data: %w", err)
	}
	defer func() { err = errors.Join(err, clicks.stop()) }()
	victim, err := launch(ctx, serve())
	if err != nil {
		return err
	}
	defer func() { victim.kill() }()
	statement := strings.NewReplacer("BROKERS", brokers, "CLICKS", clicks.topic).Replace(`CREATE STREAMING TABLE main.clicks AS
SELECT value::string:id::bigint AS id, value::string:page AS page
FROM STREAM read_kafka(bootstrapServers => 'BROKERS', subscribe => 'CLICKS', startingOffsets => 'earliest')`)
	if err := victim.visit(ctx, "And when the server dies? Another one, a process of its own, follows a topic of clicks. It is killed, again and again, while they come in.", statement, out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for range crashes {
		rows, err := victim.follows(ctx, clicks.sent.Load())
		if err != nil {
			return err
		}
		victim.kill()
		began := time.Now()
		next, err := launch(ctx, serve())
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "kill -9 %d at %d rows; the next process answers after %s\n", victim.cmd.Process.Pid, rows, time.Since(began).Round(time.Millisecond))
		victim = next
	}
	if err := clicks.stop(); err != nil {
		return err
	}
	sent := clicks.sent.Load()
	if _, err := victim.follows(ctx, sent); err != nil {
		return err
	}
	return victim.visit(ctx, fmt.Sprintf("%d clicks were sent. Each is there, once.", sent), "SELECT count(*) AS clicks, count(DISTINCT id) AS ids, min(id) AS first, max(id) AS last FROM main.clicks", out)
}

// clickStream produces clicks with ascending ids until it is stopped.
type clickStream struct {
	topic  string
	sent   atomic.Int64
	cancel context.CancelFunc
	done   sync.WaitGroup
	failed error
}

func startClicks(ctx context.Context, brokers string) (*clickStream, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers), kgo.ProducerLinger(0))
	if err != nil {
		return nil, err
	}
	c := &clickStream{topic: "clicks"}
	_, err = kadm.NewClient(cl).CreateTopic(ctx, 3, 1, nil, c.topic)
	if errors.Is(err, kerr.TopicAlreadyExists) { // of an earlier demo on the user's broker
		c.topic += time.Now().Format("-20060102-150405.000")
		_, err = kadm.NewClient(cl).CreateTopic(ctx, 3, 1, nil, c.topic)
	}
	if err != nil {
		cl.Close()
		return nil, fmt.Errorf("create topic %s: %w", c.topic, err)
	}
	ctx, c.cancel = context.WithCancel(ctx)
	c.done.Go(func() {
		defer cl.Close()
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			batch := make([]*kgo.Record, 20)
			for i := range batch {
				id := c.sent.Load() + int64(i)
				batch[i] = &kgo.Record{Topic: c.topic, Value: fmt.Appendf(nil, `{"id":%d,"page":"/item/%d"}`, id, id%97)}
			}
			// Not under ctx: each click that was begun is sent.
			if c.failed = cl.ProduceSync(context.WithoutCancel(ctx), batch...).FirstErr(); c.failed != nil {
				return
			}
			c.sent.Add(int64(len(batch)))
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return c, nil
}

// stop ends the stream and waits for it. It may be called again.
func (c *clickStream) stop() error {
	c.cancel()
	c.done.Wait()
	return c.failed
}

// victim is a server that will be killed.
type victim struct {
	cmd  *exec.Cmd
	db   *sql.DB
	done chan struct{}
}

// launch starts a server and waits until it says where it listens.
func launch(ctx context.Context, cmd *exec.Cmd) (*victim, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	said := new(strings.Builder)
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	v := &victim{cmd: cmd, done: make(chan struct{})}
	address := make(chan string, 1)
	go func() {
		defer close(v.done)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if a, ok := strings.CutPrefix(lines.Text(), "mysql listening on "); ok {
				address <- a
			}
		}
		close(address)
		_ = cmd.Wait() // it is killed
	}()
	var addr string
	select {
	case addr = <-address:
	case <-ctx.Done():
	}
	if addr == "" {
		v.kill()
		return nil, errors.Join(fmt.Errorf("the server of the demo does not start: %s", said), ctx.Err())
	}
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr, cfg.DBName, cfg.Logger = "root", "tcp", addr, "main", &mysql.NopLogger{}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		v.kill()
		return nil, err
	}
	v.db = sql.OpenDB(connector)
	return v, nil
}

// kill ends the process as a power cut would, and waits for it. It may be called again.
func (v *victim) kill() {
	_ = v.cmd.Process.Kill() // it may be dead
	<-v.done
	if v.db != nil {
		_ = v.db.Close()
	}
}

func (v *victim) visit(ctx context.Context, says, statement string, out io.Writer) error {
	conn, err := v.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return visit(ctx, conn, says, statement, out)
}

// follows waits until the table has at least so many rows, and gives the number.
func (v *victim) follows(ctx context.Context, want int64) (rows int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := v.db.QueryRowContext(ctx, "SELECT count(*) FROM main.clicks").Scan(&rows); err != nil {
			return rows, err
		}
		if rows >= want {
			return rows, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return rows, fmt.Errorf("the table has %d of %d rows: %w", rows, want, context.Cause(ctx))
		}
	}
}
