package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// measureMemory is P17: a scan of 20 GB of records, then 100 tails at once, in a server that may use 192 MiB.
func measureMemory(ctx context.Context, c *config, r *report) error {
	if !c.wants("P17") || c.pretends(r, "P17") {
		return nil
	}
	broker, stopBroker, err := child(ctx, "broker", "-synthetic")
	if err != nil {
		return err
	}
	defer stopBroker()
	s, err := startServer(ctx, c.binary, "--memory-limit", "192MiB")
	if err != nil {
		return err
	}
	defer s.stop()
	source := func(records int64) string {
		return fmt.Sprintf("read_kafka(bootstrapServers => '%s', subscribe => '%s')", broker, syntheticTopic(records))
	}
	records := syntheticSizes[1]
	if c.records < 1_000_000 {
		records = syntheticSizes[0]
	}
	u, got, err := s.query(ctx, "SELECT COUNT(value), SUM(length(value)) FROM "+source(records))
	if err != nil {
		return fmt.Errorf("P17: %w", err)
	}
	if count, _, _ := strings.Cut(got, " "); count != fmt.Sprint(records) {
		return fmt.Errorf("P17: %s records, want %d", count, records)
	}
	m := measurement{ID: "P17", Title: "scan of 200 bytes × records, --memory-limit 192MiB", Variant: fmt.Sprintf("%d M records", records/1_000_000), Against: "itself", MaxRSS: 256, Records: int(records)}
	m.add(u, u)
	r.add(m)
	return s.measureTails(ctx, r)
}

// measureTails opens 100 tails that wait for records and compares the server's memory with what it was without them.
func (s *server) measureTails(ctx context.Context, r *report) error {
	dirBroker, stopBroker, err := child(ctx, "broker", "-dir", s.dir+"/tails")
	if err != nil {
		return err
	}
	defer stopBroker()
	if err := fillTopics(ctx, dirBroker, "quiet", 1, 10); err != nil {
		return err
	}
	query := fmt.Sprintf("SELECT value FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'quiet-0', max_read_time_seconds => 120)", dirBroker)
	base, _, err := s.query(ctx, "SELECT 1")
	if err != nil {
		return err
	}
	before := s.resident()
	const tails = 100
	db, err := sql.Open("mysql", s.dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	tailing, cancel := context.WithCancel(ctx)
	defer cancel()
	for range tails {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		rows, err := conn.QueryContext(tailing, query) // returns with the column definitions: the tail stands
		if err != nil {
			return fmt.Errorf("P17 tail: %w", err)
		}
		defer func() { _ = rows.Close() }()
	}
	own := base
	own.RSS = (s.resident() - before) / tails
	cancel() // before the rows are closed, which would read to their end
	base.RSS = 0
	m := measurement{ID: "P17", Title: "memory of a waiting tail", Variant: "100 at once, MiB each", Against: "none", MaxRSS: 1, Records: tails}
	m.add(base, own)
	r.add(m)
	return nil
}
