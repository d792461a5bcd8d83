package kafka_test

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/internal/kafka"
	"millrace/internal/sqlerr"
	"millrace/internal/testkit"
)

// ends shows the partitions of a snapshot with their ends.
func ends(s *kafka.Snapshot) string {
	out := ""
	for _, t := range s.Topics {
		for _, p := range t.Partitions {
			out += fmt.Sprintf("%s/%d:%d ", t.Name, p.Partition, p.HighWatermark)
		}
	}
	return out
}

func TestStatementSeesOneStateOfEachTopic(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "a", 2, nil)
	b.Topic(t, "b", 1, nil)
	cl := b.Client(t)
	produce := func() {
		testkit.Produce(t, cl, &kgo.Record{Topic: "a"}, &kgo.Record{Topic: "a", Partition: 1}, &kgo.Record{Topic: "b"})
	}
	produce()
	c := cluster(t, b)
	statement := kafka.WithStatement(t.Context())
	snapshot := func(ctx context.Context, sel kafka.Selection) string {
		t.Helper()
		s, err := c.SnapshotFor(ctx, sel)
		if err != nil {
			t.Fatal(err)
		}
		return ends(s)
	}
	for _, step := range []struct {
		name string
		sel  kafka.Selection
		want string
	}{
		{"one partition", kafka.Selection{Assign: map[string][]int32{"a": {1}}}, "a/1:1 "},
		{"its topic: the partition is as it was, the other as it is", kafka.Selection{Topics: []string{"a"}}, "a/0:2 a/1:1 "},
		{"the same again", kafka.Selection{Topics: []string{"a", "a"}}, "a/0:2 a/1:1 "},
		{"with another topic", kafka.Selection{Topics: []string{"b", "a"}}, "a/0:2 a/1:1 b/0:4 "},
		{"the other alone", kafka.Selection{Topics: []string{"b"}}, "b/0:4 "},
		{"by pattern", kafka.Selection{Pattern: regexp.MustCompile(".")}, "a/0:2 a/1:1 b/0:4 "},
		{"a partition of what was seen", kafka.Selection{Assign: map[string][]int32{"a": {0}}}, "a/0:2 "},
	} {
		if got := snapshot(statement, step.sel); got != step.want {
			t.Errorf("%s: got %s, want %s", step.name, got, step.want)
		}
		produce()
	}
	if got := snapshot(kafka.WithStatement(t.Context()), kafka.Selection{Topics: []string{"a"}}); got != "a/0:8 a/1:8 " {
		t.Errorf("the next statement sees %s", got)
	}
	if got := snapshot(t.Context(), kafka.Selection{Topics: []string{"b"}}); got != "b/0:8 " {
		t.Errorf("without a statement: %s", got)
	}
}

func TestStatementAsksOnceAtATime(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "t", 1, nil)
	var mu sync.Mutex
	asked := 0
	b.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		asked++
		return nil, nil, false
	})
	c := cluster(t, b)
	ctx := kafka.WithStatement(t.Context())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := c.SnapshotFor(ctx, kafka.Selection{Topics: []string{"t"}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if asked != 3 { // start, high watermark, last stable offset
		t.Errorf("%d look-ups of offsets", asked)
	}
}

func TestStatementDoesNotMixATopicAndItsSuccessor(t *testing.T) {
	b := testkit.StartBroker(t)
	b.Topic(t, "t", 1, nil)
	c := cluster(t, b)
	ctx := kafka.WithStatement(t.Context())
	if _, err := c.SnapshotFor(ctx, kafka.Selection{Topics: []string{"t"}}); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteTopic("t"); err != nil {
		t.Fatal(err)
	}
	b.Topic(t, "t", 1, nil)
	if _, err := c.SnapshotFor(ctx, kafka.Selection{Pattern: regexp.MustCompile("t")}); !sqlerr.HasKind(err, sqlerr.KafkaTopicRecreated) {
		t.Errorf("got %v", err)
	}
}
