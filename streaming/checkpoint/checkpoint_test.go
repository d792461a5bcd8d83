package checkpoint

import (
	"testing"

	"pgregory.net/rapid"

	"millrace/internal/kafka"
	"millrace/internal/scan"
	"millrace/streaming/store"
)

var (
	idA = [16]byte{1}
	idB = [16]byte{2}
)

func topic(id [16]byte, parts ...kafka.PartitionState) []kafka.TopicState {
	return []kafka.TopicState{{Name: "t", ID: id, Partitions: parts}}
}

func part(n int32, start, stable, high int64) kafka.PartitionState {
	return kafka.PartitionState{Partition: n, LogStart: start, LastStable: stable, HighWatermark: high, LeaderEpoch: 3}
}

func TestWhereReadingGoesOn(t *testing.T) {
	at := func(id [16]byte, offset int64) map[store.Partition]store.Position {
		return map[store.Partition]store.Position{{Topic: "t"}: {TopicID: id, Offset: offset, LeaderEpoch: 1}}
	}
	for name, c := range map[string]struct {
		had      map[store.Partition]store.Position
		found    []kafka.TopicState
		from, to int64
		loss     LossKind
		gone     scan.Range
	}{
		"as left":     {at(idA, 5), topic(idA, part(0, 0, 9, 9)), 5, 9, "", scan.Range{}},
		"nothing new": {at(idA, 9), topic(idA, part(0, 0, 9, 9)), 9, 9, "", scan.Range{}},
		"a partition that is new begins at the first record":         {nil, topic(idA, part(0, 2, 9, 9)), 2, 9, "", scan.Range{}},
		"an open transaction holds the end back":                     {at(idA, 5), topic(idA, part(0, 0, 7, 9)), 5, 7, "", scan.Range{}},
		"beyond the last stable offset there is nothing to read yet": {at(idA, 8), topic(idA, part(0, 0, 7, 9)), 8, 8, "", scan.Range{}},
		"retention went further":                                     {at(idA, 5), topic(idA, part(0, 7, 9, 9)), 7, 9, Expired, scan.Range{From: 5, To: 7}},
		"the log ends before":                                        {at(idA, 9), topic(idA, part(0, 0, 6, 6)), 6, 6, Truncated, scan.Range{From: 6, To: 9}},
		"created again, and shorter":                                 {at(idA, 9), topic(idB, part(0, 0, 6, 6)), 0, 6, Recreated, scan.Range{From: 9, To: 9}},
		"created again, and longer":                                  {at(idA, 9), topic(idB, part(0, 0, 20, 20)), 0, 20, Recreated, scan.Range{From: 9, To: 9}},
		"brokers without ids":                                        {at([16]byte{}, 5), topic(idB, part(0, 0, 9, 9)), 5, 9, "", scan.Range{}},
	} {
		p := Compare(c.had, c.found, kafka.ReadCommitted)
		if r := p.Ranges[0]; r.From != c.from || r.To != c.to {
			t.Errorf("%s: reads [%d, %d)", name, r.From, r.To)
		}
		switch {
		case c.loss == "" && len(p.Losses) > 0:
			t.Errorf("%s: %v", name, p.Losses)
		case c.loss != "" && (len(p.Losses) != 1 || p.Losses[0].Kind != c.loss || p.Losses[0].Gone != c.gone):
			t.Errorf("%s: %v", name, p.Losses)
		}
	}
}

func TestPartitionsThatVanishedAreNoLossYet(t *testing.T) {
	had := map[store.Partition]store.Position{{Topic: "t", Partition: 1}: {}, {Topic: "other"}: {}}
	p := Compare(had, topic(idA, part(0, 0, 1, 1)), kafka.ReadCommitted)
	if len(p.Absent) != 1 || p.Absent[0] != (store.Partition{Topic: "t", Partition: 1}) {
		t.Errorf("absent: %v", p.Absent) // a topic that is not subscribed any more is none of the table's affair
	}
}

func TestATopicCreatedAgainWithFewerPartitionsLosesThem(t *testing.T) {
	had := map[store.Partition]store.Position{{Topic: "t"}: {TopicID: idA, Offset: 7}, {Topic: "t", Partition: 1}: {TopicID: idA, Offset: 9}}
	p := Compare(had, topic(idB, part(0, 0, 1, 1)), kafka.ReadCommitted)
	if len(p.Absent) != 0 || len(p.Ranges) != 1 || len(p.Losses) != 2 || p.Losses[1] != (Loss{store.Partition{Topic: "t", Partition: 1}, Recreated, scan.Range{From: 9, To: 9}}) {
		t.Errorf("plan: %+v", p)
	}
}

func TestASmallPartitionIsNotStarved(t *testing.T) {
	ranges := []Range{{From: 0, To: 1_000_000}, {From: 0, To: 3}, {From: 5, To: 5}}
	out := Limit(ranges, 100)
	if out[0].Len() < 90 || out[0].Len() > 100 || out[1].Len() != 1 || out[2].Len() != 0 {
		t.Errorf("shares %d, %d, %d", out[0].Len(), out[1].Len(), out[2].Len())
	}
	if ranges[0].To != 1_000_000 {
		t.Error("the ranges that were given have changed")
	}
}

func TestLimitMovesEveryPartitionThatIsBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lens := rapid.SliceOfN(rapid.Int64Range(0, 1<<40), 1, 8).Draw(t, "lengths")
		n := rapid.Int64Range(1, 1<<20).Draw(t, "limit")
		ranges := make([]Range, len(lens))
		for i, l := range lens {
			ranges[i].To = l
		}
		total := int64(0)
		for i, r := range Limit(ranges, n) {
			if r.Len() > lens[i] || r.Len() <= 0 && lens[i] > 0 {
				t.Fatalf("partition %d, %d behind, reads %d", i, lens[i], r.Len())
			}
			total += r.Len()
		}
		if total > n+int64(len(lens)) {
			t.Fatalf("%d offsets where %d were allowed", total, n)
		}
	})
}

func TestReached(t *testing.T) {
	p := store.Partition{Topic: "t"}
	target := map[store.Partition]int64{p: 5}
	for offset, want := range map[int64]bool{4: false, 5: true, 6: true} {
		if got := Reached(map[store.Partition]store.Position{p: {Offset: offset}}, target); got != want {
			t.Errorf("at %d: %v", offset, got)
		}
	}
	if Reached(nil, target) {
		t.Error("a partition without a position has reached its end")
	}
}

// A log that was cut and has grown past the position since looks as if nothing had happened; only the epochs of its leaders tell.
func TestALogThatWasCutAndHasGrownIsFoundByItsEpochs(t *testing.T) {
	at := store.Partition{Topic: "t"}
	had := map[store.Partition]store.Position{at: {TopicID: idA, Offset: 9, LeaderEpoch: 1}}
	for name, c := range map[string]struct {
		end, from int64
		lost      bool
	}{"cut": {6, 6, true}, "not cut": {9, 9, false}, "went on": {12, 9, false}, "not known": {-1, 9, false}} {
		p := Compare(had, topic(idA, part(0, 0, 20, 20)), kafka.ReadCommitted)
		if len(p.Led()) != 1 {
			t.Fatalf("%s: asks for %v", name, p.Led())
		}
		p.Cut(map[string]map[int32]int64{"t": {0: c.end}})
		if p.Ranges[0].From != c.from || (len(p.Losses) == 1) != c.lost {
			t.Errorf("%s: from %d, %v", name, p.Ranges[0].From, p.Losses)
		}
	}
	same := Compare(map[store.Partition]store.Position{at: {TopicID: idA, Offset: 9, LeaderEpoch: 3}}, topic(idA, part(0, 0, 20, 20)), kafka.ReadCommitted)
	if len(same.Led()) != 0 {
		t.Error("asks although the leader is the same")
	}
}
