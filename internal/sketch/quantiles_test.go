package sketch

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// rankError is how far the rank of x is from the wanted one in sorted values.
func rankError(sorted []int64, x int64, f float64) int64 {
	n := int64(len(sorted))
	rank := max(1, min(int64(math.Ceil(f*float64(n))), n))
	first, found := slices.BinarySearch(sorted, x)
	if !found {
		return math.MaxInt64
	}
	last, _ := slices.BinarySearch(sorted, x+1)
	switch least, most := int64(first)+1, int64(last); {
	case rank < least:
		return least - rank
	case rank > most:
		return rank - most
	}
	return 0
}

// TestRanksAreWithinTheAccuracy: whatever the order of the values, however they are spread over sketches that are merged, in memory or written out.
func TestRanksAreWithinTheAccuracy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		accuracy := rapid.SampledFrom([]int64{10, 100, 1000}).Draw(t, "accuracy")
		n := rapid.SampledFrom([]int{1, 2, 9, 99, 1500, 20_000}).Draw(t, "values")
		order := rapid.SampledFrom([]string{"ascending", "descending", "scattered", "repeated"}).Draw(t, "order")
		parts := make([]*Quantiles, rapid.IntRange(1, 5).Draw(t, "sketches"))
		for i := range parts {
			parts[i] = NewQuantiles(accuracy)
		}
		skew := rapid.IntRange(1, 20).Draw(t, "skew")
		var all []int64
		for i := range int64(n) {
			x := i
			switch order {
			case "descending":
				x = -i
			case "scattered":
				x = i * 7919 % 10_007
			case "repeated":
				x = i * i % 13
			}
			all = append(all, x)
			parts[min(int(i)%skew, len(parts)-1)].Add(x)
		}
		slices.Sort(all)
		merged := parts[0]
		for i, p := range parts[1:] {
			if i%2 == 0 {
				merged.Merge(p)
				continue
			}
			if rest, err := merged.MergeEncoded(append(p.Append(nil), 1)); err != nil || len(rest) != 1 {
				t.Fatalf("%d bytes left, %v", len(rest), err)
			}
		}
		if merged.Count() != int64(n) {
			t.Fatalf("%d values of %d", merged.Count(), n)
		}
		for _, f := range []float64{0, 0.01, 0.25, 0.5, 0.9, 0.99, 1} {
			x := merged.Quantile(f)
			if off := rankError(all, x, f); off > int64(n)/accuracy {
				t.Fatalf("%v of %d values, accuracy %d: %d is off by %d ranks", f, n, accuracy, x, off)
			}
		}
	})
}

func TestQuantilesStaySmall(t *testing.T) {
	q := NewQuantiles(100)
	for i := range int64(1_000_000) {
		q.Add(i * 7919 % 1_000_003)
	}
	if got := q.Bytes(); got > 100_000 {
		t.Errorf("a million values take %d bytes", got)
	}
}

func TestFloatKeysKeepTheOrder(t *testing.T) {
	floats := []float64{math.Inf(-1), -1e300, -1, -1e-300, 0, 1e-300, 1, 1e300, math.Inf(1)}
	for i, f := range floats {
		if KeyFloat(FloatKey(f)) != f {
			t.Errorf("%v came back as %v", f, KeyFloat(FloatKey(f)))
		}
		if i > 0 && FloatKey(floats[i-1]) >= FloatKey(f) {
			t.Errorf("%v is not below %v", floats[i-1], f)
		}
	}
	if FloatKey(math.Copysign(0, -1)) != FloatKey(0) || FloatKey(math.NaN()) <= FloatKey(math.Inf(1)) || !math.IsNaN(KeyFloat(FloatKey(math.NaN()))) {
		t.Error("-0 or NaN")
	}
}

func FuzzQuantilesEncoding(f *testing.F) {
	q := NewQuantiles(10)
	for i := range int64(100) {
		q.Add(i)
	}
	f.Add(q.Append(nil))
	f.Add([]byte{1, 2, 1, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		q := NewQuantiles(10)
		if _, err := q.MergeEncoded(b); err == nil && q.Count() > 0 {
			q.Quantile(0.5)
		}
	})
}

func BenchmarkQuantilesAdd(b *testing.B) {
	b.ReportAllocs()
	q := NewQuantiles(DefaultAccuracy)
	for i := range b.N {
		q.Add(int64(i) * 7919 % 1_000_003)
	}
}

func BenchmarkDistinctAdd(b *testing.B) {
	b.ReportAllocs()
	d := NewDistinct(DefaultPrecision)
	for i := range b.N {
		d.AddInt(int64(i))
	}
}
