package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"

	"millrace/internal/demo"
	"millrace/server"
)

type demoCommand struct {
	serverFlags
	Kafka          string `help:"Use this broker instead of an embedded one." placeholder:"HOST:PORT" xor:"broker"`
	BrokerListen   string `help:"Address of the embedded broker. Default: 127.0.0.1:9092, as in the examples of the documentation, or another port when that is taken." placeholder:"ADDR" xor:"broker"`
	RegistryListen string `help:"Address of the embedded schema registry. Default: 127.0.0.1:8081, or another port when that is taken." placeholder:"ADDR"`
	Tour           bool   `help:"End after the statements of the tour."`
}

// Help is shown by millrace demo --help.
func (demoCommand) Help() string {
	return `Starts a broker and a schema registry inside the process, fills topics of a small shop, runs a few telling statements over the MySQL protocol,
kills servers of its own to show that nothing is lost, and then keeps producing and serving until it is interrupted. The embedded broker is a convenience for development, not a Kafka.
A producer that names a new topic makes it, such as: echo hello | kcat -b localhost:9092 -P -t new. The registry takes any schema, compatible or not.

The examples of the documentation can be pasted while it runs: broker and registry are at localhost:9092 and localhost:8081. A port that is taken is replaced by
another one, which is said, unless a flag asked for it. With --tour, which ends by itself, all ports are such that nobody else is in the way.

The demo keeps nothing: topics are in memory, the data of the server in a temporary folder, which is removed at the end. To keep tables, run millrace serve with --data-dir.

Examples:

  millrace demo
  millrace demo --tour
  millrace demo --kafka broker:9092`
}

// Run implements the command.
func (c *demoCommand) Run(ctx context.Context, line *kong.Context, s *streams) (err error) {
	if !given(line, "log-level") {
		c.LogLevel = "warn" // the tour is what is to be read
	}
	c.choosePorts(line, s, isFree)
	scratch, err := os.MkdirTemp("", "millrace-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	cfg, err := c.config(s, scratch)
	if err != nil {
		return err
	}
	brokers, registry, stop, err := c.parts(s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	cfg.Extra = map[string]string{"kafka": brokers, "registry": registry.Addr()}
	shop, err := demo.OpenShop(ctx, brokers, registry.URL())
	if err != nil {
		return err
	}
	defer shop.Close()
	now := time.Now()
	if err := shop.Fill(ctx, now); err != nil {
		return err
	}
	return c.serve(ctx, s, cfg, brokers, registry.URL(), shop, now)
}

// parts starts what the machine lacks.
func (c *demoCommand) parts(s *streams) (brokers string, registry *demo.Registry, stop func() error, err error) {
	brokers = c.Kafka
	closeBroker := func() {}
	if brokers == "" {
		broker, err := demo.StartBroker(c.BrokerListen)
		if err != nil {
			return "", nil, nil, fmt.Errorf("'--broker-listen': %w", err)
		}
		brokers, closeBroker = broker.Addr(), broker.Close
		fmt.Fprintf(s.out, "kafka listening on %s\n", brokers)
	}
	registry, err = demo.StartRegistry(c.RegistryListen)
	if err != nil {
		closeBroker()
		return "", nil, nil, fmt.Errorf("'--registry-listen': %w", err)
	}
	fmt.Fprintf(s.out, "registry listening on %s\n", registry.Addr())
	return brokers, registry, func() error {
		closeBroker()
		return registry.Close()
	}, nil
}

// crash kills servers that are processes of their own.
func (c *demoCommand) crash(ctx context.Context, s *streams, cfg server.Config, brokers string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir := filepath.Join(cfg.DataDir, "crash")
	return demo.Crash(ctx, func() *exec.Cmd {
		return exec.CommandContext(ctx, self, "serve", "--listen", "127.0.0.1:0", "--http", "", "--data-dir", dir, "--store", "embedded", "--log-level", "error")
	}, brokers, s.out)
}

// serve runs the server, the tour on it, and then the generator until ctx ends.
func (c *demoCommand) serve(ctx context.Context, s *streams, cfg server.Config, brokers, registry string, shop *demo.Shop, now time.Time) (err error) {
	ready := make(chan string, 1)
	announce := cfg.Announce
	cfg.Announce = func(name, address string) {
		announce(name, address)
		if name == "mysql" {
			ready <- address
		}
	}
	srv, err := server.New(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return srv.Run(ctx) })
	g.Go(func() error {
		var addr string
		select {
		case addr = <-ready:
		case <-ctx.Done():
			return nil
		}
		if err := demo.Tour(ctx, addr, brokers, registry, now, s.out); err != nil {
			return err
		}
		if err := c.crash(ctx, s, cfg, brokers); err != nil {
			return err
		}
		if c.Tour {
			fmt.Fprintln(s.out, "\nThat was the tour; its server has ended. Without --tour, millrace demo stays: it goes on producing, and you can try statements of your own, such as those of README.md.")
			cancel()
			return nil
		}
		host, port, err := net.SplitHostPort(addr)
		if err != nil {
			return err
		}
		fmt.Fprintf(s.out, "\nThe demo goes on producing. Try:\n  mysql --host %s --port %s --user root main\nKafka is at %s, the schema registry at %s; a producer that names a new topic makes it. Interrupt to stop.\n", host, port, brokers, registry)
		if err := shop.Generate(ctx); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
	return g.Wait()
}
