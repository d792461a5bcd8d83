package main

import (
	"context"
	"fmt"
	"os"

	"millrace/bench/data"
)

// shapeCase is a topic of another shape than events, its loop and its query. There is no bar for them: they show that the ratios of events are not
// those of events alone.
type shapeCase struct {
	id, title, variant, work, query string
	topic                           data.Topic
}

// measureShapes reads nested orders, change events, a topic of transactions and a compacted one.
func measureShapes(ctx context.Context, c *config, r *report) error {
	orders, changes := c.records/5, c.records/10
	cases := []shapeCase{
		{
			"P3", "GROUP BY a nested JSON field, COUNT, SUM of another", "orders, lz4", "orders",
			"SELECT " + value + ":customer.address.country AS c, COUNT(*), SUM(" + value + ":payment.cents::bigint) FROM %s GROUP BY 1 ORDER BY 1",
			data.Topic{Name: "orders", Set: data.Orders, Records: orders},
		},
		{
			"P3", "GROUP BY a nested JSON field, COUNT, SUM of another", "debezium, lz4", "changes",
			"SELECT " + value + ":payload.op AS o, COUNT(*), SUM(" + value + ":payload.after.quantity::bigint) FROM %s GROUP BY 1 ORDER BY 1",
			data.Topic{Name: "debezium", Set: data.Debezium, Records: changes},
		},
		{
			"P2", "SUM(length(value)) + SUM(length(key))", "transactions, a tenth aborted, lz4", "committed", "SELECT SUM(length(value)) + SUM(length(key)) FROM %s",
			data.Topic{Name: "transactions", Set: data.Events, Records: orders, Transactions: true},
		},
		{
			"P2", "SUM(length(value)) + SUM(length(key))", "cleanup.policy=compact, lz4", "lengths", "SELECT SUM(length(value)) + SUM(length(key)) FROM %s",
			data.Topic{Name: "compacted", Set: data.Events, Records: orders, Compact: true},
		},
	}
	if !c.wants("P2") && !c.wants("P3") {
		return nil
	}
	broker, stopBroker, err := c.startBroker(ctx)
	if err != nil {
		return err
	}
	defer stopBroker()
	s, err := startServer(ctx, c.binary)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, sc := range cases {
		if !c.wants(sc.id) {
			continue
		}
		sc.topic.Partitions, sc.topic.Codec = 8, "lz4"
		fmt.Fprintln(os.Stderr, "producing", sc.topic.Records, "records:", sc.topic.Name)
		if err := data.Produce(ctx, broker, sc.topic); err != nil {
			return err
		}
		m := measurement{ID: sc.id, Title: sc.title, Variant: sc.variant, Against: "kgo poll loop", Records: sc.topic.Records}
		source := fmt.Sprintf("read_kafka(bootstrapServers => '%s', subscribe => '%s')", broker, sc.topic.Name)
		if err := againstLoop(ctx, c, s, &m, broker, sc.topic.Name, sc.work, fmt.Sprintf(sc.query, source)); err != nil {
			return err
		}
		r.add(m)
	}
	return nil
}

// againstLoop lets the loop and the server take turns, and fails when they find different answers.
func againstLoop(ctx context.Context, c *config, s *server, m *measurement, broker, topic, work, query string) error {
	for i := range c.pairs + 1 {
		base, want, err := loop(ctx, broker, topic, work)
		if err != nil {
			return fmt.Errorf("%s loop, %s: %w", m.ID, m.Variant, err)
		}
		own, got, err := s.query(ctx, query)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", m.ID, m.Variant, err)
		}
		if got != want {
			return fmt.Errorf("%s, %s: SQL says %s, the loop %s", m.ID, m.Variant, got, want)
		}
		if i > 0 { // the first pair warms caches
			m.add(base, own)
		}
	}
	return nil
}
