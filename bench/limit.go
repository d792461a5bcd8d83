package main

import (
	"context"
	"fmt"
)

// measureLimit is P7: ten rows of a topic of 1 M against one of 100 M records, the first ones and the last ones, must cost the same.
func measureLimit(ctx context.Context, c *config, r *report) error {
	if !c.wants("P7") || c.pretends(r, "P7") {
		return nil
	}
	broker, stopBroker, err := child(ctx, "broker", "-synthetic")
	if err != nil {
		return err
	}
	defer stopBroker()
	s, err := startServer(ctx, c.binary)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, limit := range []string{"LIMIT 10", "ORDER BY offset DESC LIMIT 10"} {
		query := func(records int64) (usage, error) {
			u, _, err := s.query(ctx, fmt.Sprintf("SELECT topic, `partition`, `offset`, value FROM read_kafka(bootstrapServers => '%s', subscribe => '%s') %s", broker, syntheticTopic(records), limit))
			return u, err
		}
		m := measurement{ID: "P7", Title: limit, Variant: "100 M records", Against: "1 M records", Bar: 0.8, MaxWall: 0.05, Records: 100_000_000}
		for i := range 4*c.pairs + 1 {
			small, err := query(syntheticSizes[0])
			if err != nil {
				return fmt.Errorf("P7 %s: %w", limit, err)
			}
			large, err := query(syntheticSizes[1])
			if err != nil {
				return fmt.Errorf("P7 %s: %w", limit, err)
			}
			if i > 0 {
				m.add(small, large)
			}
		}
		r.add(m)
	}
	return nil
}
