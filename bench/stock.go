package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"time"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	gmsserver "github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/types"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/sirupsen/logrus"
	"github.com/twmb/franz-go/pkg/kgo"
)

// runStock is the `bench stock` process: go-mysql-server with the listener that it brings along. Its database main is empty; kafka.events has
// the records of a topic as read_kafka shows them, read into memory before it prints its address.
func runStock(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("stock", flag.ExitOnError)
	broker := fs.String("broker", "", "address, empty for no events")
	topic := fs.String("topic", "", "topic of the events")
	if err := fs.Parse(args); err != nil {
		return err
	}
	logrus.SetOutput(io.Discard)
	events := &eventTable{}
	if *broker != "" {
		err := poll(ctx, *broker, *topic, func(r *kgo.Record) {
			events.rows = append(events.rows, sql.Row{r.Key, r.Value, r.Topic, r.Partition, r.Offset, r.Timestamp.UTC(), int32(0)})
		})
		if err != nil {
			return err
		}
	}
	provider := memory.NewDBProvider(memory.NewDatabase("main"), eventDatabase{events})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s, err := gmsserver.NewServer(gmsserver.Config{Protocol: "tcp", Address: l.Addr().String(), Listener: l}, sqle.NewDefault(provider), sql.NewContext, memory.NewSessionBuilder(provider), nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Start() }()
	fmt.Println(l.Addr())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return errors.Join(s.Close(), <-ended)
	}
}

// eventDatabase holds the one table of events. The engine's own memory tables look every inserted row up in all those before it.
type eventDatabase struct{ events *eventTable }

// Name implements sql.Database.
func (eventDatabase) Name() string { return "kafka" }

// GetTableInsensitive implements sql.Database.
func (d eventDatabase) GetTableInsensitive(_ *sql.Context, name string) (sql.Table, bool, error) {
	return d.events, name == "events", nil
}

// GetTableNames implements sql.Database.
func (eventDatabase) GetTableNames(*sql.Context) ([]string, error) { return []string{"events"}, nil }

// eventTable serves rows from memory as they are.
type eventTable struct{ rows []sql.Row }

var eventTime = types.MustCreateDatetimeType(sqltypes.Datetime, 3)

// Name implements sql.Table.
func (*eventTable) Name() string { return "events" }

// String implements sql.Table.
func (*eventTable) String() string { return "events" }

// Collation implements sql.Table.
func (*eventTable) Collation() sql.CollationID { return sql.Collation_Default }

// Schema implements sql.Table.
func (*eventTable) Schema(*sql.Context) sql.Schema {
	col := func(name string, t sql.Type) *sql.Column {
		return &sql.Column{Name: name, Type: t, Source: "events", Nullable: true}
	}
	return sql.Schema{
		col("key", types.LongBlob), col("value", types.LongBlob), col("topic", types.MustCreateStringWithDefaults(sqltypes.VarChar, 249)),
		col("partition", types.Int32), col("offset", types.Int64), col("timestamp", eventTime), col("timestampType", types.Int32),
	}
}

// Partitions implements sql.Table.
func (*eventTable) Partitions(*sql.Context) (sql.PartitionIter, error) {
	return sql.PartitionsToPartitionIter(wholeTable{}), nil
}

// PartitionRows implements sql.Table.
func (t *eventTable) PartitionRows(*sql.Context, sql.Partition) (sql.RowIter, error) {
	return sql.RowsToRowIter(t.rows...), nil
}

type wholeTable struct{}

// Key implements sql.Partition.
func (wholeTable) Key() []byte { return []byte("all") }

// startStock starts the process and finds its address.
func startStock(ctx context.Context, args ...string) (*mysqlServer, error) {
	cmd, addr, err := spawn(ctx, append([]string{"stock"}, args...)...)
	if err != nil {
		return nil, err
	}
	s := &mysqlServer{name: "stock", dsn: "root@tcp(" + addr + ")/main", process: process(cmd.Process.Pid), stop: func() { terminate(cmd) }}
	return s, s.ready(ctx, 10*time.Second)
}
