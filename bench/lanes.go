package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"millrace/bench/data"
)

// cappedListener gives connections that carry at most rate bytes a second to the client, as a slow link or a cloud's limit per connection does.
type cappedListener struct {
	net.Listener
	rate int
}

func (l cappedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &cappedConn{Conn: c, rate: l.rate}, nil
}

type cappedConn struct {
	net.Conn
	rate int
	// free is when the next byte may go. Writes come from one goroutine.
	free time.Time
}

func (c *cappedConn) Write(p []byte) (int, error) {
	const piece = 64 << 10
	for sent := 0; sent < len(p); {
		if now := time.Now(); c.free.Before(now) {
			c.free = now
		}
		n, err := c.Conn.Write(p[sent:min(sent+piece, len(p))])
		sent += n
		if err != nil {
			return sent, err
		}
		c.free = c.free.Add(time.Duration(n) * time.Second / time.Duration(c.rate))
		time.Sleep(time.Until(c.free))
	}
	return len(p), nil
}

// measureLanes is P8: one hot partition whose connections carry 30 MB a second each, read by four lanes against one.
func measureLanes(ctx context.Context, c *config, r *report) error {
	if !c.wants("P8") || c.pretends(r, "P8") {
		return nil
	}
	dir, err := os.MkdirTemp("", "millrace-bench-broker-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	broker, stopBroker, err := child(ctx, "broker", "-dir", dir, "-rate", "30000000")
	if err != nil {
		return err
	}
	defer stopBroker()
	n := min(c.records, 2_000_000)
	if err := data.Produce(ctx, broker, data.Topic{Name: "hot", Set: data.Events, Records: n, Partitions: 1, Codec: "none"}); err != nil {
		return err
	}
	s, err := startServer(ctx, c.binary)
	if err != nil {
		return err
	}
	defer s.stop()
	query := func(readers int) string {
		return fmt.Sprintf("SELECT SUM(length(value)) FROM read_kafka(bootstrapServers => '%s', subscribe => 'hot', readers => %d)", broker, readers)
	}
	m := measurement{ID: "P8", Title: "one partition, 30 MB/s a connection", Variant: "4 lanes", Against: "one lane", Bar: 3.5, Records: n}
	for range min(c.pairs, 3) {
		one, want, err := s.query(ctx, query(1))
		if err != nil {
			return fmt.Errorf("P8: %w", err)
		}
		four, got, err := s.query(ctx, query(4))
		if err != nil {
			return fmt.Errorf("P8: %w", err)
		}
		if got != want {
			return fmt.Errorf("P8: four lanes read %s, one %s", got, want)
		}
		m.add(one, four)
	}
	r.add(m)
	return nil
}
