package server

import (
	"fmt"
	"strings"
	"testing"
)

// CREATE VIEW took the name of a flow, and ALTER and SHOW CREATE of that name then spoke of one or the other.
func TestAViewCannotHaveTheNameOfAFlow(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	b.Topic(t, "out", 1, nil)
	db := start(t, func(c *Config) { c.MemoryLimit = "1GiB" }).root(t)
	do(t, db, fmt.Sprintf("CREATE FLOW f AS INSERT INTO write_kafka(bootstrapServers => '%[1]s', topic => 'out') BY NAME SELECT value FROM STREAM read_kafka(bootstrapServers => '%[1]s', subscribe => 'orders', startingOffsets => 'earliest')", b.Addrs[0]))
	for _, create := range []string{"CREATE VIEW F AS SELECT 1", "CREATE OR REPLACE VIEW f AS SELECT 1"} {
		if _, err := values(db, create); err == nil || !strings.Contains(err.Error(), "already exists") {
			t.Errorf("%s: %v", create, err)
		}
	}
}
