package server

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/testkit"
)

// create makes a table of the ids in topic orders, which looks for new partitions often.
func create(t *testing.T, r *running, b *testkit.Broker, name, more string) {
	t.Helper()
	do(t, r.root(t), fmt.Sprintf(`CREATE STREAMING TABLE %s TBLPROPERTIES ('partition_discovery_interval' = '20 milliseconds') AS SELECT partition, value:id::bigint AS id
		FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest'%s)`, name, strings.Join(b.Addrs, ","), more))
}

func TestRecordsThatAreGoneFailATableOrAreNoted(t *testing.T) {
	b, _, produce := ordersTopic(t, 100)
	r := start(t)
	db := r.root(t)
	create(t, r, b, "strict", "")
	create(t, r, b, "lenient", ", failOnDataLoss => false")
	for _, table := range []string{"strict", "lenient"} {
		do(t, db, "ALTER STREAMING TABLE "+table+" PAUSE")
	}
	produce(100, 200)
	if err := b.DeleteRecords("orders", 0, 80); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"strict", "lenient"} {
		do(t, db, "ALTER STREAMING TABLE "+table+" RESUME")
	}
	comes(t, r, "SELECT count(*) FROM lenient", "170")
	comes(t, r, "SELECT state, reason LIKE '%[50, 80)%' FROM information_schema.streaming_tables WHERE table_name = 'strict'", "failed|1")
	gives(t, db, "SELECT level, message LIKE '%[50, 80)%' FROM information_schema.streaming_event_log WHERE event_type = 'data_loss'", "WARN|1")
	gives(t, db, "SELECT count(*) FROM strict", "100")
	do(t, db, "REFRESH STREAMING TABLE strict FULL")
	gives(t, db, "SELECT count(*) FROM strict", "120") // what the topic still holds
	comes(t, r, "SELECT state FROM information_schema.streaming_tables WHERE table_name = 'strict'", "running")
}

func TestATopicThatIsCreatedAgainIsNotTakenForTheOldOne(t *testing.T) {
	b, _, _ := ordersTopic(t, 20)
	r := start(t)
	create(t, r, b, "strict", "")
	create(t, r, b, "lenient", ", failOnDataLoss => false")
	if err := b.DeleteTopic("orders"); err != nil {
		t.Fatal(err)
	}
	b.Topic(t, "orders", 2, nil)
	cl := b.Client(t)
	for i := range 100 { // further than the old one went
		testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: fmt.Appendf(nil, `{"id":%d}`, i)})
	}
	comes(t, r, "SELECT count(*) FROM lenient", "120")
	comes(t, r, "SELECT state, reason LIKE '%created again%' FROM information_schema.streaming_tables WHERE table_name = 'strict'", "failed|1")
}

// REFRESH said OK for a table whose topic had been created again with a shorter log: the table was beyond what it was to read, had failed and read nothing.
func TestARefreshOfATableThatFailsIsAnError(t *testing.T) {
	b, _, _ := ordersTopic(t, 20)
	r := start(t)
	create(t, r, b, "strict", "")
	create(t, r, b, "lenient", ", failOnDataLoss => false")
	if err := b.DeleteTopic("orders"); err != nil {
		t.Fatal(err)
	}
	b.Topic(t, "orders", 2, nil)
	testkit.Produce(t, b.Client(t), &kgo.Record{Topic: "orders", Value: []byte(`{"id":1000}`)})
	for range 2 { // the second time the table has failed
		_, err := rows(r.root(t), "REFRESH STREAMING TABLE strict SYNC")
		wantError(t, err, 31017, "22000", "created again")
	}
	do(t, r.root(t), "REFRESH STREAMING TABLE lenient SYNC")
	gives(t, r.root(t), "SELECT count(*), max(id) FROM lenient", "21|1000")
}

// A topic that was created again with fewer partitions left its tables stalled for ever, by a reason that spoke of old brokers.
func TestATopicThatIsCreatedAgainWithFewerPartitions(t *testing.T) {
	b, _, _ := ordersTopic(t, 20)
	r := start(t)
	create(t, r, b, "strict", "")
	create(t, r, b, "lenient", ", failOnDataLoss => false")
	if err := b.DeleteTopic("orders"); err != nil {
		t.Fatal(err)
	}
	b.Topic(t, "orders", 1, nil)
	testkit.Produce(t, b.Client(t), &kgo.Record{Topic: "orders", Value: []byte(`{"id":1000}`)})
	comes(t, r, "SELECT state, reason LIKE '%created again%hint: REFRESH STREAMING TABLE … FULL%' FROM information_schema.streaming_tables WHERE table_name = 'strict'", "failed|1")
	comes(t, r, "SELECT count(*), max(id) FROM lenient", "21|1000")
	comes(t, r, "SELECT topic, partition, next_offset FROM information_schema.streaming_table_partitions WHERE table_name = 'lenient'", "orders|0|1")
	gives(t, r.root(t), "SELECT count(*) FROM information_schema.streaming_event_log WHERE event_type = 'data_loss' AND table_name = 'lenient'", "2")
	gives(t, r.root(t), "SELECT count(*) > 0 FROM information_schema.streaming_table_progress WHERE table_name = 'lenient' AND progress IS NOT NULL", "1")
	do(t, r.root(t), "REFRESH STREAMING TABLE strict FULL")
	gives(t, r.root(t), "SELECT count(*), max(id) FROM strict", "1|1000")
}

// A table that was paused, stalled or failed showed the lag that it had when it last looked, mostly 0, as if it were fresh; after a restart while it was paused it
// had no partitions, and nobody knew when it was last refreshed. Now the brokers are asked when somebody wants to know.
func TestATableThatDoesNotReadShowsTheLagOfNow(t *testing.T) {
	b, _, produce := ordersTopic(t, 20)
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.DataDir = dir })
	create(t, r, b, "t", "")
	comes(t, r, "SELECT state, lag, last_refresh IS NULL FROM information_schema.streaming_tables", "running|0|0")
	lagShown := func() bool {
		t.Helper()
		return strings.Contains(metricsText(t, r), "\nmillrace_streaming_table_lag_offsets{")
	}
	if !lagShown() {
		t.Error("the metrics of a table that runs lack its lag")
	}
	do(t, r.root(t), "ALTER STREAMING TABLE t PAUSE")
	produce(20, 30)
	for range 2 {
		comes(t, r, "SELECT partition, next_offset, end_offset, lag FROM information_schema.streaming_table_partitions ORDER BY partition", "0|10|15|5\n1|10|15|5")
		comes(t, r, "SELECT state, lag, last_refresh IS NULL FROM information_schema.streaming_tables", "paused|10|0")
		if !lagShown() {
			t.Error("the metrics of a paused table lack its lag")
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		r = start(t, func(c *Config) { c.DataDir = dir })
	}
	do(t, r.root(t), "ALTER STREAMING TABLE t RESUME")
	comes(t, r, "SELECT state, lag FROM information_schema.streaming_tables", "running|0")
	if err := b.DeleteTopic("orders"); err != nil {
		t.Fatal(err)
	}
	comes(t, r, "SELECT state, lag FROM information_schema.streaming_tables", "stalled|NULL")
	if lagShown() {
		t.Error("the metrics have a lag behind a topic that is gone")
	}
	b.Topic(t, "orders", 2, nil)
	comes(t, r, "SELECT state, lag FROM information_schema.streaming_tables", "failed|NULL") // another topic's end says nothing
}

// A table that waits for a refresh is behind, and one whose records are gone is behind of what is left.
func TestTheLagOfTablesThatWait(t *testing.T) {
	b, _, produce := ordersTopic(t, 20)
	r := start(t)
	create(t, r, b, "strict", "")
	do(t, r.root(t), strings.Replace(ordersTable(b), "TABLE orders", "TABLE manual TBLPROPERTIES ('trigger' = 'manual')", 1))
	do(t, r.root(t), "ALTER STREAMING TABLE strict PAUSE")
	produce(20, 60)
	if err := b.DeleteRecords("orders", 0, 25); err != nil {
		t.Fatal(err)
	}
	do(t, r.root(t), "ALTER STREAMING TABLE strict RESUME")
	comes(t, r, "SELECT table_name, state, lag FROM information_schema.streaming_tables ORDER BY 1", "manual|running|25\nstrict|failed|25")
	comes(t, r, "SELECT next_offset, end_offset, lag FROM information_schema.streaming_table_partitions WHERE table_name = 'strict' ORDER BY `partition`", "10|30|5\n10|30|20")
}

func TestPartitionsThatAreAddedAreReadFromTheirFirstRecord(t *testing.T) {
	b, cl, _ := ordersTopic(t, 20)
	r := start(t)
	create(t, r, b, "t", "")
	req := kmsg.NewPtrCreatePartitionsRequest()
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = "orders", 4
	req.Topics = append(req.Topics, rt)
	if _, err := req.RequestWith(t.Context(), cl); err != nil {
		t.Fatal(err)
	}
	cl = b.Client(t)
	for i := range 10 {
		testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Partition: 3, Value: fmt.Appendf(nil, `{"id":%d}`, 1000+i)})
	}
	comes(t, r, "SELECT count(*) FROM t WHERE `partition` = 3", "10")
	gives(t, r.root(t), "SELECT count(*), count(DISTINCT id) FROM t", "30|30")
}

func TestABrokerThatIsAwayStallsATableForAMoment(t *testing.T) {
	b, _, produce := ordersTopic(t, 20)
	r := start(t)
	create(t, r, b, "t", "")
	var away atomic.Bool
	away.Store(true)
	b.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		if !away.Load() {
			return nil, nil, false
		}
		res := req.ResponseKind().(*kmsg.MetadataResponse)
		for _, topic := range req.(*kmsg.MetadataRequest).Topics {
			mt := kmsg.NewMetadataResponseTopic()
			mt.Topic, mt.ErrorCode = topic.Topic, kerr.LeaderNotAvailable.Code
			res.Topics = append(res.Topics, mt)
		}
		return res, nil, true
	})
	comes(t, r, "SELECT state, reason IS NOT NULL FROM information_schema.streaming_tables", "stalled|1")
	away.Store(false)
	produce(20, 30)
	comes(t, r, "SELECT count(*), count(DISTINCT id) FROM t", "30|30")
	comes(t, r, "SELECT state FROM information_schema.streaming_tables", "running")
	// A table that was made manual, or given a schedule, while it was stalled stayed so until its next run, hours later, with a reason that had long passed.
	for _, alter := range []string{"SET TBLPROPERTIES ('trigger' = 'manual')", "ADD SCHEDULE EVERY 1 HOUR"} {
		do(t, r.root(t), "ALTER STREAMING TABLE t SET TBLPROPERTIES ('trigger' = 'continuous')")
		away.Store(true)
		comes(t, r, "SELECT state FROM information_schema.streaming_tables", "stalled")
		do(t, r.root(t), "ALTER STREAMING TABLE t "+alter)
		comes(t, r, "SELECT state, reason FROM information_schema.streaming_tables", "running|NULL")
		away.Store(false)
	}
}

// When the brokers of a table that had read from them for days went away, its reason said that the listener may want TLS or SASL.
func TestTheReasonOfATableThatHasReadBefore(t *testing.T) {
	b, _, _ := ordersTopic(t, 20)
	r := start(t)
	create(t, r, b, "t", "")
	comes(t, r, "SELECT state FROM information_schema.streaming_tables", "running")
	b.Close()
	comes(t, r, "SELECT state, reason LIKE '%goes on by itself once they answer%', reason LIKE '%TLS%' FROM information_schema.streaming_tables", "stalled|1|0")
}

func TestATableFollowsLeadersThatMove(t *testing.T) {
	b := testkit.StartBroker(t, kfake.NumBrokers(3))
	b.Topic(t, "orders", 2, nil)
	cl := b.Client(t)
	r := start(t)
	create(t, r, b, "t", "")
	for i := range 30 {
		if err := b.MoveTopicPartition("orders", int32(i%2), int32(i%3)); err != nil {
			t.Fatal(err)
		}
		testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: fmt.Appendf(nil, `{"id":%d}`, i)})
	}
	comes(t, r, "SELECT count(*), count(DISTINCT id) FROM t", "30|30")
}

// One definition that cannot run, here because its owner is gone, stops nobody else.
func TestABrokenDefinitionStopsNobodyElse(t *testing.T) {
	b, _, produce := ordersTopic(t, 20)
	dir := t.TempDir()
	r := start(t, func(c *Config) { c.DataDir = dir })
	db := r.root(t)
	create(t, r, b, "good", "")
	do(t, db, "CREATE USER u IDENTIFIED BY 'p'")
	do(t, db, "GRANT SELECT ON main.* TO u")
	do(t, db, "GRANT KAFKA_READ, STREAMING_ADMIN ON *.* TO u")
	do(t, r.connect(t, "u:p@/main"), strings.Replace(ordersTable(b), "TABLE orders", "TABLE bad", 1))
	do(t, db, "DROP USER u")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	r = start(t, func(c *Config) { c.DataDir = dir })
	produce(20, 30)
	comes(t, r, "SELECT count(*) FROM good", "30")
	comes(t, r, "SELECT state FROM information_schema.streaming_tables WHERE table_name = 'bad'", "failed")
	gives(t, r.root(t), "SELECT count(*) FROM bad", "20")
}

// Transactions leave markers, which are no records: lag reaches 0 all the same, and aborted records are not seen.
func TestLagReachesZeroOverTransactions(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 1, nil)
	r := start(t)
	create(t, r, b, "t", "")
	cl := b.Client(t, kgo.TransactionalID("x"))
	for i := range 6 {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Value: fmt.Appendf(nil, `{"id":%d}`, i)})
		if err := cl.EndTransaction(t.Context(), kgo.TransactionEndTry(i%2 == 0)); err != nil {
			t.Fatal(err)
		}
	}
	comes(t, r, "SELECT count(*), sum(id) FROM t", "3|6")
	comes(t, r, "SELECT next_offset, lag FROM information_schema.streaming_table_partitions", "12|0")
}

// A principal that may describe a topic and not read it is told so by CREATE, not by a table that never fills.
func TestACreateReadsBeforeItSaysYes(t *testing.T) {
	b, _, _ := ordersTopic(t, 10)
	r := start(t)
	b.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		req := kreq.(*kmsg.FetchRequest)
		res := req.ResponseKind().(*kmsg.FetchResponse)
		for _, rt := range req.Topics {
			topic := kmsg.NewFetchResponseTopic()
			topic.Topic, topic.TopicID = rt.Topic, rt.TopicID
			for _, rp := range rt.Partitions {
				part := kmsg.NewFetchResponseTopicPartition()
				part.Partition, part.ErrorCode = rp.Partition, kerr.TopicAuthorizationFailed.Code
				topic.Partitions = append(topic.Partitions, part)
			}
			res.Topics = append(res.Topics, topic)
		}
		return res, nil, true
	})
	_, err := rows(r.root(t), ordersTable(b))
	wantError(t, err, 31014, "HY000", "orders")
	gives(t, r.root(t), "SHOW TABLES", "")
}

// Positions of one cluster mean other records in another.
func TestAnotherClusterNeedsARefreshInFull(t *testing.T) {
	b, _, _ := ordersTopic(t, 20)
	other := testkit.StartBroker(t, kfake.ClusterID("another"))
	other.Topic(t, "orders", 2, nil)
	cl := other.Client(t)
	for i := range 30 {
		testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: fmt.Appendf(nil, `{"id":%d}`, 1000+i)})
	}
	r := start(t)
	db := r.root(t)
	create(t, r, b, "t", "")
	_, err := rows(db, fmt.Sprintf(`CREATE OR REFRESH STREAMING TABLE t AS SELECT partition, value:id::bigint AS id
		FROM STREAM read_kafka(bootstrapServers => '%s', subscribe => 'orders', startingOffsets => 'earliest')`, other.Addrs[0]))
	wantError(t, err, 31026, "HY000", "cluster 'another'")
	gives(t, db, "SELECT count(*), max(id) FROM t", "20|19")
	do(t, db, "REFRESH STREAMING TABLE t FULL")
	gives(t, db, "SELECT count(*), min(id) FROM t", "30|1000")
}
