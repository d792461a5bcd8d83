package proto

import (
	"math/rand/v2"
	"os"
	"testing"
)

func TestRecordsGiveWhatDynamicpbGives(t *testing.T) {
	r := random{rand.New(rand.NewPCG(7, 8))}
	for _, m := range schemas(t) {
		c := newChecker(t, m)
		for range 500 {
			if !c.check(t, r.record(t, c.md)) {
				t.Fatal("a good record is bad")
			}
		}
	}
}

func TestMutatedRecordsGiveWhatDynamicpbGives(t *testing.T) {
	rounds := 3_000
	if os.Getenv("CI") == "true" {
		rounds = 40_000
	}
	total, valid := 0, 0
	for i, m := range schemas(t) {
		r := random{rand.New(rand.NewPCG(9, uint64(i)))}
		c := newChecker(t, m)
		var records [][]byte
		for range 200 {
			records = append(records, r.record(t, c.md))
		}
		for range rounds {
			total++
			if c.check(t, r.mutate(records[r.IntN(len(records))], records[r.IntN(len(records))])) {
				valid++
			}
		}
	}
	if valid < total/10 {
		t.Fatalf("only %d of %d mutated records are valid: the test has lost its grip", valid, total)
	}
	t.Logf("%d records, %d valid", total, valid)
}
