package server

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// DROP DATABASE with a streaming table that was reading never came back, and after it nobody could log in or run a statement: it waited for the table
// with the engine's locks in hand, and the table needed them to end. Both tables here are continuous; the second, with now(), is planned for each batch.
func TestDropDatabaseStopsStreamingTables(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	r := start(t, func(c *Config) { c.MemoryLimit = "1GiB" })
	db := r.root(t)
	read := fmt.Sprintf("STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest')", b.Addrs[0])
	do(t, db, "CREATE STREAMING TABLE kept AS SELECT offset FROM "+read)
	for range 3 {
		do(t, db, "CREATE DATABASE shop")
		do(t, db, "CREATE STREAMING TABLE shop.a AS SELECT offset FROM "+read)
		do(t, db, "CREATE STREAMING TABLE shop.b AS SELECT offset, now() AS seen FROM "+read)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if _, err := db.ExecContext(ctx, "DROP DATABASE shop"); err != nil {
			t.Fatal(err)
		}
		cancel()
		gives(t, db, "SELECT table_schema, table_name, state FROM information_schema.streaming_tables", "main|kept|running")
		gives(t, r.root(t), "SELECT count(*) FROM kept", "10")
	}
}
