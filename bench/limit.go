package main

import (
	"context"
	"fmt"
)

// measureLimit is the LIMIT half of P7: ten rows of a topic of 1 M against one of 100 M records must cost the same.
func measureLimit(ctx context.Context, c *config, r *report) error {
	if !c.wants("P7") {
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
	query := func(records int64) (usage, error) {
		u, _, err := s.query(ctx, fmt.Sprintf("SELECT topic, `partition`, `offset`, value FROM read_kafka(bootstrapServers => '%s', subscribe => '%s') LIMIT 10", broker, syntheticTopic(records)))
		return u, err
	}
	m := measurement{ID: "P7", Title: "LIMIT 10", Variant: "100 M against 1 M records", Against: "the same on 1 M records", Bar: 0.8, MaxWall: 0.05, Records: 100_000_000}
	for i := range 4*c.pairs + 1 {
		small, err := query(syntheticSizes[0])
		if err != nil {
			return fmt.Errorf("P7: %w", err)
		}
		large, err := query(syntheticSizes[1])
		if err != nil {
			return fmt.Errorf("P7: %w", err)
		}
		if i > 0 {
			m.add(small, large)
		}
	}
	r.add(m)
	return nil
}
