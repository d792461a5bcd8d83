package kafka_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// allFields are all that a record offers.
var allFields = []scan.Field{
	scan.Key, scan.Value, scan.Topic, scan.Partition, scan.Offset, scan.Timestamp, scan.TimestampType, scan.Headers, scan.KeyLength, scan.ValueLength, scan.KeySchemaID, scan.ValueSchemaID,
}

// diff is empty when got is want. It is only slow when it is not.
func diff(want, got []testkit.Row) string {
	if len(want) == 0 && len(got) == 0 || reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

// all reads every record of topics from the earliest to the latest.
func all(iso kafka.Isolation, topics ...string) kafka.ReadSpec {
	return kafka.ReadSpec{
		Select: kafka.Selection{Topics: topics}, Start: kafka.Bound{Kind: kafka.AtEarliest}, End: kafka.Bound{Kind: kafka.AtLatest},
		Isolation: iso, FailOnDataLoss: true,
	}
}

// cluster is a Cluster of b with a pool of its own that ends with the test.
func cluster(t testing.TB, b *testkit.Broker, set ...func(*kafka.Config)) *kafka.Cluster {
	t.Helper()
	pool := kafka.NewPool(kafka.PoolOptions{})
	t.Cleanup(pool.Close)
	cfg := kafka.Config{Brokers: b.Addrs, FetchMaxWait: 5 * time.Millisecond}
	for _, s := range set {
		s(&cfg)
	}
	c, err := pool.Cluster(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// plan plans a scan of fields.
func plan(t testing.TB, c *kafka.Cluster, spec kafka.ReadSpec, fields ...scan.Field) scan.Source {
	t.Helper()
	src, err := c.Plan(context.Background(), spec, scan.Request{Fields: fields, Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	return src
}
