// Command bench measures Millrace against baselines in the same run and writes bench/results.
//
//	bench [-records N] [-pairs N] [-only P1,P2] [-binary bin/millrace]
//	bench check                                                 measures again and compares with what is recorded
//	bench broker -dir DIR                                       one of its parts by itself, to look closer:
//	bench fill -broker ADDR -topic T -codec lz4 -records N      broker, data, baseline
//	bench loop -broker ADDR -topic T -work count
//	bench stock [-broker ADDR -topic T]                         go-mysql-server with its own listener
//	bench small -dsn DSN -pid PID -work one-text -seconds 2     the client of P15
//
// It starts a broker, the baseline and the server as processes of their own on loopback, lets baseline and server do the same work in
// alternating pairs, checks that both found the same, and reports medians of the paired ratios: the machine is shared and noisy, ratios
// within one run are what can be compared. The bars are those that CONTRIBUTING.md names.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

type config struct {
	records int
	pairs   int
	only    map[string]bool
	binary  string
	out     string
	// kafka: brokers are Apache Kafka, not the embedded one.
	kafka bool
	// postgres: streaming tables are kept in PostgreSQL, not in the server's directory.
	postgres bool
	// slopes: how cost grows is measured too.
	slopes bool
	// seconds is how long a closed loop runs.
	seconds float64
}

func (c *config) wants(id string) bool { return len(c.only) == 0 || c.only[strings.ToUpper(id)] }

// command is how a run is repeated.
func (c *config) command() string {
	text := fmt.Sprintf("bench -records %d -pairs %d", c.records, c.pairs)
	if len(c.only) > 0 {
		text += " -only " + strings.Join(slices.Sorted(maps.Keys(c.only)), ",")
	}
	if c.kafka {
		text += " -kafka"
	}
	if c.postgres {
		text += " -postgres"
	}
	return text
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "broker":
		err = runBroker(ctx, os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == "loop":
		err = runLoop(ctx, os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == "fill":
		err = runFill(ctx, os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == "stock":
		err = runStock(ctx, os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == "small":
		err = runSmall(ctx, os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == "check":
		err = runCheck(ctx, os.Args[2:])
	default:
		err = run(ctx, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("bench", flag.ExitOnError)
	c := config{only: map[string]bool{}}
	fs.IntVar(&c.records, "records", 10_000_000, "records of the events data set")
	fs.IntVar(&c.pairs, "pairs", 5, "alternating pairs per measurement")
	fs.StringVar(&c.binary, "binary", "bin/millrace", "the server")
	fs.StringVar(&c.out, "out", "bench/results/latest", "report, without extension")
	fs.Float64Var(&c.seconds, "seconds", 3, "length of a closed loop of P15")
	fs.BoolVar(&c.slopes, "slopes", true, "measure how cost grows as well (SLOPES in -only)")
	fs.BoolVar(&c.kafka, "kafka", false, "on Apache Kafka, which scripts/kafka/broker starts")
	fs.BoolVar(&c.postgres, "postgres", false, "streaming tables in PostgreSQL, which scripts/postgres/server starts; P10 is against COPY then")
	only := fs.String("only", "", "comma list of measurements, such as P1,P7; empty for all")
	if err := fs.Parse(args); err != nil {
		return err
	}
	c.choose(*only)
	r := newReport(&c)
	if err := c.measure(ctx, r); err != nil {
		return err
	}
	return r.write(c.out)
}

// choose takes a comma list of measurements.
func (c *config) choose(list string) {
	for id := range strings.SplitSeq(list, ",") {
		if id != "" {
			c.only[strings.ToUpper(id)] = true
		}
	}
}

// measure runs what is wanted, one data set at a time.
func (c *config) measure(ctx context.Context, r *report) error {
	for _, m := range []func(context.Context, *config, *report) error{measureScans, measureShapes, measureFormats, measureLimit, measureLanes, measureTopics, measureTransfer, measureSmall, measureStreaming, measureSink, measureMemory, measureGrowth} {
		if err := m(ctx, c, r); err != nil {
			return err
		}
	}
	return nil
}
