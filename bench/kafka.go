package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// kafkaScript starts and stops Apache Kafka; it is run from the root of the repository.
const kafkaScript = "scripts/kafka/broker"

// startBroker starts a broker that keeps its data in a directory of its own: the embedded one in a process of its own, or Apache Kafka.
func (c *config) startBroker(ctx context.Context) (addr string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "millrace-bench-broker-")
	if err != nil {
		return "", nil, err
	}
	remove := func() { _ = os.RemoveAll(dir) }
	start := func() (string, func(), error) { return child(ctx, "broker", "-dir", dir) }
	if c.kafka {
		start = func() (string, func(), error) { return startKafka(ctx, dir) }
	}
	addr, end, err := start()
	if err != nil {
		remove()
		return "", nil, err
	}
	return addr, func() { end(); remove() }, nil
}

func startKafka(ctx context.Context, dir string) (addr string, stop func(), err error) {
	if out, err := exec.CommandContext(ctx, kafkaScript, "start", dir).CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("%s: %w", strings.TrimSpace(string(out)), err)
	}
	stop = func() {
		_ = exec.Command(kafkaScript, "stop", dir).Run() // it has ended before
	}
	env, err := readEnv(filepath.Join(dir, "env"))
	if err != nil {
		stop()
		return "", nil, err
	}
	return env["KAFKA_PLAINTEXT"], stop, nil
}

// pretends notes the figures of a measurement whose broker must do what Apache Kafka does not: serve records that are not there, or be slow.
func (c *config) pretends(r *report, id string) bool {
	if c.kafka {
		r.missing(id, fmt.Errorf("it needs a broker that pretends"))
	}
	return c.kafka
}
