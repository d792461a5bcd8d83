package main

import (
	"context"
	"fmt"
	"os"
)

// scanCase is a whole-topic query, the loop that does the same work, and the bars by codec.
type scanCase struct {
	id, title, work, query string
	bars                   map[string]float64
}

const value = "value::string"

var scanCases = []scanCase{
	{"P1", "SELECT COUNT(*)", "count", "SELECT COUNT(*) FROM %s", map[string]float64{"lz4": 5, "zstd": 8, "none": 1.8}},
	{"P2", "SUM(length(value)) + SUM(length(key))", "lengths", "SELECT SUM(length(value)) + SUM(length(key)) FROM %s", map[string]float64{"lz4": 3, "zstd": 2.5, "none": 1.7}},
	{
		"P3", "GROUP BY one JSON field, COUNT, SUM of another", "group",
		"SELECT " + value + ":type AS t, COUNT(*), SUM(" + value + ":qty::bigint) FROM %s GROUP BY 1 ORDER BY 1", map[string]float64{"lz4": 3.5, "zstd": 3, "none": 2.5},
	},
	{
		"P4", "three JSON predicates, one survivor in 1,000, COUNT", "filter",
		"SELECT COUNT(*) FROM %s WHERE " + value + ":type = 'purchase' AND " + value + ":country = 'NZ' AND " + value + ":qty::bigint = 7", map[string]float64{"lz4": 4, "zstd": 3, "none": 3},
	},
}

// measureScans is P1 to P4, the loop against SQL over the same topic, one codec after the other, and P6 on the first of these topics.
func measureScans(ctx context.Context, c *config, r *report) error {
	var cases []scanCase
	for _, sc := range scanCases {
		if c.wants(sc.id) {
			cases = append(cases, sc)
		}
	}
	codecs := []string{"lz4", "zstd", "none"}
	switch {
	case len(cases) > 0:
	case c.wants("P6"):
		codecs = codecs[:1]
	default:
		return nil
	}
	for _, compression := range codecs {
		if err := measureCodec(ctx, c, r, cases, compression); err != nil {
			return err
		}
	}
	return nil
}

func measureCodec(ctx context.Context, c *config, r *report, cases []scanCase, compression string) error {
	broker, stopBroker, err := c.startBroker(ctx)
	if err != nil {
		return err
	}
	defer stopBroker()
	fmt.Fprintf(os.Stderr, "producing %d events (%s)\n", c.records, compression)
	topic := "events-" + compression
	if err := fill(ctx, broker, topic, compression, c.records); err != nil {
		return err
	}
	s, err := startServer(ctx, c.binary)
	if err != nil {
		return err
	}
	defer s.stop()
	source := fmt.Sprintf("read_kafka(bootstrapServers => '%s', subscribe => '%s')", broker, topic)
	for _, sc := range cases {
		m := measurement{ID: sc.id, Title: sc.title, Variant: compression, Against: "kgo poll loop", Bar: sc.bars[compression], Records: c.records}
		if err := againstLoop(ctx, c, s, &m, broker, topic, sc.work, fmt.Sprintf(sc.query, source)); err != nil {
			return err
		}
		r.add(m)
		if sc.id == "P1" {
			if err := measureBroker(ctx, c, r, broker, topic, compression); err != nil {
				return err
			}
		}
	}
	if compression == "lz4" && c.wants("P6") {
		return measureRanges(ctx, c, r, s, broker, topic)
	}
	return nil
}

// measureBroker is the ratio that the broker allows: the loop of P1 against one that fetches the same batches and decodes nothing.
func measureBroker(ctx context.Context, c *config, r *report, broker, topic, compression string) error {
	m := measurement{ID: "P1", Title: "what the broker allows: batches fetched, nothing decoded", Variant: compression, Against: "kgo poll loop", Records: c.records}
	for i := range c.pairs + 1 {
		base, want, err := loop(ctx, broker, topic, "count")
		if err != nil {
			return err
		}
		own, got, err := loop(ctx, broker, topic, "fetch")
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("P1, %s: the headers of batches say %s records, the loop %s", compression, got, want)
		}
		if i > 0 {
			m.add(base, own)
		}
	}
	r.add(m)
	return nil
}
