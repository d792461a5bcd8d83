//go:build integration

package integration

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// lossTables makes a table that fails when records are gone, and one that goes on.
func lossTables(t *testing.T, db *sql.DB, topic string) {
	t.Helper()
	for table, more := range map[string]string{"strict": "true", "lenient": "false"} {
		if _, err := db.Exec(fmt.Sprintf(`CREATE STREAMING TABLE %s TBLPROPERTIES ('partition_discovery_interval' = '200 milliseconds') AS SELECT value:id::bigint AS id, partition, offset
			FROM STREAM %s`, table, readKafka(t, topic, "startingOffsets => 'earliest'", "failOnDataLoss => "+more))); err != nil {
			t.Fatal(err)
		}
	}
}

// settled waits until a query gives what it shall.
func settled(t *testing.T, db *sql.DB, query, want string) {
	t.Helper()
	until(t, query+" giving "+want, func() (bool, error) {
		var got sql.NullString
		err := db.QueryRowContext(t.Context(), query).Scan(&got)
		return err == nil && got.String == want, errors.Join(err, fmt.Errorf("it gives '%s'", got.String))
	})
}

// statements runs each.
func statements(t *testing.T, db *sql.DB, list ...string) {
	t.Helper()
	for _, statement := range list {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// TestRecordsThatAreTrimmedUnderLoad deletes records that two tables have not read, while a producer writes: one fails and says what is gone, the other has everything but
// these.
func TestRecordsThatAreTrimmedUnderLoad(t *testing.T) {
	cl, adm := client(t, anyPartition)
	name := topic(t, adm, 2, nil)
	l := startLoad(t, cl, name)
	db := start(t, t.TempDir()).open(t, "")
	lossTables(t, db, name)
	statements(t, db, "ALTER STREAMING TABLE strict PAUSE", "ALTER STREAMING TABLE lenient PAUSE")
	before := l.sent.Load()
	until(t, "records that are not read", func() (bool, error) { return l.sent.Load() > before+2000, nil })
	ends, err := adm.ListEndOffsets(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	trim := kadm.Offsets{}
	ends.Each(func(o kadm.ListedOffset) { trim.AddOffset(name, o.Partition, o.Offset, -1) })
	if _, err := adm.DeleteRecords(t.Context(), trim); err != nil {
		t.Fatal(err)
	}
	gone := int64(0)
	for p := range int32(2) {
		at := one[int64](t, db, "SELECT next_offset FROM information_schema.streaming_table_partitions WHERE table_name = 'lenient' AND `partition` = ?", p)
		end, _ := ends.Lookup(name, p)
		gone += end.Offset - at
	}
	statements(t, db, "ALTER STREAMING TABLE strict RESUME", "ALTER STREAMING TABLE lenient RESUME")
	settled(t, db, "SELECT concat(state, reason LIKE '%are gone%') FROM information_schema.streaming_tables WHERE table_name = 'strict'", "failed1")
	l.stop()
	n := l.sent.Load()
	settled(t, db, "SELECT count(*) FROM lenient", fmt.Sprint(n-gone))
	settled(t, db, "SELECT concat(count(DISTINCT id), ' ', sum(`offset` >= 0)) FROM lenient", fmt.Sprintf("%d %d", n-gone, n-gone))
	settled(t, db, "SELECT count(*) FROM information_schema.streaming_event_log WHERE event_type = 'data_loss' AND table_name = 'lenient'", "2")
	statements(t, db, "REFRESH STREAMING TABLE strict FULL")
	left := n
	ends.Each(func(o kadm.ListedOffset) { left -= o.Offset })
	settled(t, db, "SELECT concat(count(*), ' ', count(DISTINCT id)) FROM strict", fmt.Sprintf("%d %d", left, left))
	settled(t, db, "SELECT state FROM information_schema.streaming_tables WHERE table_name = 'strict'", "running")
}

// recreate deletes a topic and creates it again, which Kafka refuses for as long as it is deleting.
func recreate(t *testing.T, adm *kadm.Client, name string, partitions int32) {
	t.Helper()
	if _, err := adm.DeleteTopic(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	until(t, "the topic again", func() (bool, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := adm.CreateTopic(ctx, partitions, 1, nil, name)
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			t.Fatal(err)
		}
		return err == nil, err
	})
}

// TestATopicThatIsCreatedAgainUnderLoad deletes the topic of two tables and creates it again, with fewer partitions and a log that soon is longer than the old one.
func TestATopicThatIsCreatedAgainUnderLoad(t *testing.T) {
	cl, adm := client(t, anyPartition)
	name := topic(t, adm, 3, nil)
	l := startLoad(t, cl, name)
	db := start(t, t.TempDir()).open(t, "")
	lossTables(t, db, name)
	before := l.sent.Load()
	until(t, "records", func() (bool, error) { return l.sent.Load() > before+1000, nil })
	l.stop()
	old := l.sent.Load()
	settled(t, db, "SELECT count(*) FROM lenient", fmt.Sprint(old))
	settled(t, db, "SELECT count(*) FROM strict", fmt.Sprint(old))
	recreate(t, adm, name, 2)
	cl, _ = client(t, anyPartition) // one that has never heard of the old topic
	l = startLoad(t, cl, name)
	settled(t, db, "SELECT concat(state, reason LIKE '%created again%') FROM information_schema.streaming_tables WHERE table_name = 'strict'", "failed1")
	until(t, "a longer log", func() (bool, error) { return l.sent.Load() > old+1000, nil })
	l.stop()
	n := l.sent.Load()
	settled(t, db, "SELECT count(*) FROM lenient", fmt.Sprint(old+n))
	settled(t, db, "SELECT count(DISTINCT id) FROM lenient", fmt.Sprint(n))
	settled(t, db, "SELECT count(*) FROM information_schema.streaming_table_partitions WHERE table_name = 'lenient'", "2")
	settled(t, db, "SELECT count(*) FROM strict", fmt.Sprint(old))
	statements(t, db, "REFRESH STREAMING TABLE strict FULL")
	settled(t, db, "SELECT concat(count(*), ' ', count(DISTINCT id)) FROM strict", fmt.Sprintf("%d %d", n, n))
}
