package kafka_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/internal/sqlerr"
	"millrace/internal/testkit"
)

// spread writes n records to topic t, in turn to its partitions.
func spread(t *testing.T, b *testkit.Broker, partitions int32, n int) {
	t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: "t", Partition: int32(i) % partitions, Value: fmt.Appendf(nil, "%d", i)}
	}
	testkit.Produce(t, b.Client(t), records...)
}

func TestReadEndsAfterSoManyRecords(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(3, "t"))
	spread(t, b, 3, 300)
	c := cluster(t, b)
	for _, test := range []struct {
		most    int64
		fields  []scan.Field
		want    int
		warning string
	}{
		{most: 50, fields: []scan.Field{scan.Partition, scan.Offset}, want: 50, warning: "the read ended after 50 records, as 'maxNumRecords' says; not read: "},
		{most: 50, fields: nil, want: 50, warning: "the read ended after 50 records"},
		{most: 299, fields: []scan.Field{scan.Value}, want: 299, warning: "1 records of t/"},
		{most: 300, fields: []scan.Field{scan.Value}, want: 300},
		{most: 1 << 40, fields: []scan.Field{scan.Value}, want: 300},
	} {
		t.Run(fmt.Sprintf("%d records of %d fields", test.most, len(test.fields)), func(t *testing.T) {
			spec := all(kafka.ReadCommitted, "t")
			spec.MaxRecords = test.most
			src := plan(t, c, spec, test.fields...)
			if rows := testkit.Collect(t, src); len(rows) != test.want {
				t.Errorf("%d rows, want %d", len(rows), test.want)
			}
			warnings := strings.Join(src.Warnings(), "\n")
			if test.warning == "" && warnings != "" || !strings.Contains(warnings, test.warning) {
				t.Errorf("warnings %q, want %q", warnings, test.warning)
			}
		})
	}
}

func TestReadEndsAfterItsTime(t *testing.T) {
	for _, records := range []int{40, 4000} { // small tasks are asked for together, large ones alone
		t.Run(fmt.Sprint(records), func(t *testing.T) {
			b := testkit.StartBroker(t, kfake.SeedTopics(2, "t"))
			spread(t, b, 2, records)
			// The broker answers no fetch: nothing but its time can end the read.
			b.HoldFetches(t)
			spec := all(kafka.ReadCommitted, "t")
			spec.MaxTime = 50 * time.Millisecond
			src := plan(t, cluster(t, b), spec, scan.Value)
			began := time.Now()
			if rows := testkit.Collect(t, src); len(rows) != 0 {
				t.Errorf("%d rows", len(rows))
			}
			if took := time.Since(began); took < spec.MaxTime || took > 5*time.Second {
				t.Errorf("took %v", took)
			}
			want := fmt.Sprintf("the read ended after 50ms, as 'maxReadTimeSeconds' says; not read: %d offsets, t/0 [0, %d), t/1 [0, %d)", records, records/2, records/2)
			if w := src.Warnings(); len(w) != 1 || w[0] != want {
				t.Errorf("warnings %q, want %q", w, want)
			}
		})
	}
}

func TestMissingTopicsAndPartitionsCanBeLeftOut(t *testing.T) {
	b := testkit.StartBroker(t, kfake.SeedTopics(2, "t"))
	spread(t, b, 2, 20)
	c := cluster(t, b)
	for _, test := range []struct {
		name    string
		sel     kafka.Selection
		start   kafka.Bound
		want    int
		warning string
	}{
		{name: "topic", sel: kafka.Selection{Topics: []string{"gone", "t"}}, want: 20, warning: "gone: no such topic or partition"},
		{name: "every topic", sel: kafka.Selection{Topics: []string{"gone", "lost"}}, want: 0, warning: "gone, lost: no such"},
		{name: "partition", sel: kafka.Selection{Assign: map[string][]int32{"t": {1, 7}, "gone": {0}}}, want: 10, warning: "gone, t/7: no such"},
		{name: "partition with an offset", sel: kafka.Selection{Assign: map[string][]int32{"t": {1, 7}}}, want: 5, warning: "t/7: no such",
			start: kafka.Bound{Kind: kafka.AtOffsets, Offsets: map[string]map[int32]int64{"t": {1: 5, 7: 3}}}},
		{name: "nothing", sel: kafka.Selection{Topics: []string{"t"}}, want: 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			spec := all(kafka.ReadCommitted)
			spec.Select, spec.Start = test.sel, test.start
			began := time.Now()
			if _, err := c.Plan(t.Context(), spec, scan.Request{Limit: -1}); test.warning != "" && !sqlerr.HasKind(err, sqlerr.KafkaTopicNotFound) {
				t.Errorf("without skip: %v", err)
			}
			failed := time.Since(began)
			spec.Select.Missing = kafka.MissingSkipped
			began = time.Now()
			src, err := c.Plan(context.Background(), spec, scan.Request{Fields: []scan.Field{scan.Offset}, Limit: -1})
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); test.warning != "" && took > failed {
				t.Errorf("planning took %v: it waited for topics that may be missing", took)
			}
			if rows := testkit.Collect(t, src); len(rows) != test.want {
				t.Errorf("%d rows, want %d", len(rows), test.want)
			}
			warnings := strings.Join(src.Warnings(), "\n")
			if test.warning == "" && warnings != "" || !strings.Contains(warnings, test.warning) {
				t.Errorf("warnings %q, want %q", warnings, test.warning)
			}
		})
	}
}
