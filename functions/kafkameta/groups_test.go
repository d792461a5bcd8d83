package kafkameta

import (
	"testing"

	"millrace/internal/kafka"
)

var (
	emptyGroup = kafka.GroupInfo{Name: "empty", State: "Empty"}
	lateGroup  = kafka.GroupInfo{
		Name: "late", State: "Stable", Protocol: "range",
		Members:   []kafka.GroupMember{{ID: "m-1", ClientID: "c", Host: "/h", Assigned: map[string][]int32{"t": {1, 2}}}},
		Committed: map[string]map[int32]int64{"t": {0: 5, 1: 7}},
	}
	lateEnds = map[place]kafka.PartitionInfo{{"t", 0}: {Start: 0, End: 8}, {"t", 1}: {Start: 9, End: 10}, {"t", 2}: {Start: 3, End: 4}}
)

func TestLagIsWhatCanStillBeRead(t *testing.T) {
	at := kafka.PartitionInfo{Start: 10, End: 20}
	for offset, want := range map[int64]int64{15: 5, 20: 0, 10: 10, 3: 10, 25: 0, 0: 10} {
		if got := lag(offset, at); got != want {
			t.Errorf("at offset %d: lag %d, want %d", offset, got, want)
		}
	}
}

func TestGroupHasARowForEachPartitionThatItReadsOrHasRead(t *testing.T) {
	rows := rowsOf(lateGroup, lateEnds)
	want := [][]any{ // topic, partition, committed, end, lag, client
		{"t", int32(0), int64(5), int64(8), int64(3), nil},
		{"t", int32(1), int64(7), int64(10), int64(1), "c"},
		{"t", int32(2), nil, int64(4), int64(1), "c"},
	}
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d", len(rows), len(want))
	}
	for i, r := range rows {
		for j, at := range []int{5, 6, 7, 8, 9, 11} {
			if r[at] != want[i][j] {
				t.Errorf("row %d, column %s: %v, want %v", i, groups.Columns[at].Name, r[at], want[i][j])
			}
		}
	}
	// The groups of exactly-once flows showed a lag, of the numbers of their batches as if they were offsets.
	flow := lateGroup
	flow.Name = kafka.MarkGroups + "f"
	if rows := rowsOf(flow, lateEnds); rows[0][7] != int64(5) || rows[0][9] != nil {
		t.Errorf("a flow's group has the lag %v at %v", rows[0][9], rows[0][7])
	}
	if gone := rowsOf(lateGroup, nil); gone[0][8] != nil || gone[0][9] != nil {
		t.Errorf("a topic that is gone has an end, %v, or a lag, %v", gone[0][8], gone[0][9])
	}
}
