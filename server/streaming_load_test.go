package server

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/testkit"
)

// A CREATE that waited for hours was "running": nobody could tell how long it would take.
func TestACreateThatWaitsShowsHowFarItIs(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "orders", 2, nil)
	cl := b.Client(t)
	for i := range 10 {
		testkit.Produce(t, cl, &kgo.Record{Topic: "orders", Partition: int32(i % 2), Value: []byte(`{"id":1}`)})
	}
	r := start(t)
	// The second partition is held back once the statement has begun to wait.
	hold := make(chan struct{})
	b.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		for _, rt := range kreq.(*kmsg.FetchRequest).Topics {
			for _, rp := range rt.Partitions {
				if rp.Partition == 1 {
					b.SleepControl(func() { <-hold })
				}
			}
		}
		return nil, nil, false
	})
	ended := make(chan error, 1)
	db := r.root(t)
	go func() {
		_, err := rows(db, strings.Replace(ordersTable(b), "CREATE", "/* waits */ CREATE", 1))
		ended <- err
	}()
	comes(t, r, "SELECT state LIKE 'reading: %0.0 \\%, %records, % MB/s%' FROM information_schema.processlist WHERE info LIKE '%waits%' AND info NOT LIKE '%processlist%'", "1")
	close(hold)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	gives(t, r.root(t), "SELECT count(*) FROM orders", "10")
}
