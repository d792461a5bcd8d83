package data

import (
	"encoding/json"
	"testing"
)

func TestSetsAreJSONOfTheirSizeAndTheSameEachTime(t *testing.T) {
	for _, tc := range []struct {
		set      Set
		from, to int
	}{{Events, 180, 230}, {Orders, 850, 1200}, {Debezium, 1500, 2300}} {
		const n = 1000
		var firstTime [][]byte
		total := 0
		if err := tc.set.Each(n, func(_ int, key, value []byte) error {
			if len(key) == 0 || !json.Valid(value) {
				t.Fatalf("%s: %s %s", tc.set.Name, key, value)
			}
			total += len(value)
			firstTime = append(firstTime, value)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if mean := total / n; mean < tc.from || mean > tc.to {
			t.Errorf("%s: %d bytes a record, want %d to %d", tc.set.Name, mean, tc.from, tc.to)
		}
		if err := tc.set.Each(n, func(i int, _, value []byte) error {
			if string(value) != string(firstTime[i]) {
				t.Fatalf("%s: record %d differs the second time", tc.set.Name, i)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
