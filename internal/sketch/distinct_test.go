package sketch

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestFewValuesAreCountedExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, seen := NewDistinct(DefaultPrecision), map[int64]bool{}
		for _, x := range rapid.SliceOfN(rapid.Int64Range(-200, 50), 0, 600).Draw(t, "values") {
			d.AddInt(x)
			seen[x] = true
		}
		if got := d.Estimate(); got != int64(len(seen)) {
			t.Fatalf("%d of %d", got, len(seen))
		}
	})
}

func TestEstimatesAreWithinFourStandardErrors(t *testing.T) {
	for _, precision := range []uint8{leastPrecision, 9, DefaultPrecision, mostPrecision} {
		allowed := 4 * 1.04 / math.Sqrt(float64(uint(1)<<precision))
		d := NewDistinct(precision)
		for n := int64(1); n <= 300_000; n++ {
			d.AddInt(n * 7)
			d.AddInt(n * 7) // again
			if n&(n-1) != 0 && n%50_000 != 0 || n <= fewDistinct {
				continue
			}
			if off := math.Abs(float64(d.Estimate()-n)) / float64(n); off > allowed {
				t.Errorf("precision %d: %d different values are estimated as %d, %.1f %% off; %.1f %% is allowed", precision, n, d.Estimate(), 100*off, 100*allowed)
			}
		}
	}
}

func TestPrecisionForAnError(t *testing.T) {
	for e, want := range map[float64]uint8{0.3: 4, 0.05: 9, 0.0163: 12, 0.0041: 16} {
		if got, ok := PrecisionFor(e); !ok || got != want {
			t.Errorf("%v: got %d, %v, want %d", e, got, ok, want)
		}
	}
	if _, ok := PrecisionFor(0.001); ok {
		t.Error("0.1 % was promised")
	}
}

func TestZerosAndNaNsAreOneValue(t *testing.T) {
	d := NewDistinct(DefaultPrecision)
	for _, f := range []float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(0x7ff8000000000002), 1} {
		d.AddFloat(f)
	}
	if got := d.Estimate(); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}

// TestMergedEstimatesAreThoseOfOne: however the values are spread, merged in memory or written out.
func TestMergedEstimatesAreThoseOfOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, parts := NewDistinct(8), []*Distinct{NewDistinct(8), NewDistinct(8), NewDistinct(8)}
		n := rapid.SampledFrom([]int{0, 10, 250, 257, 300, 2000}).Draw(t, "values")
		skew := rapid.IntRange(1, 40).Draw(t, "skew")
		for i := range n {
			one.AddInt(int64(i))
			parts[min(i%skew, 2)].AddInt(int64(i))
		}
		merged := NewDistinct(8)
		merged.Merge(parts[0])
		merged.Merge(parts[1])
		rest, err := merged.MergeEncoded(append(parts[2].Append(nil), 7))
		if err != nil || len(rest) != 1 || merged.Estimate() != one.Estimate() {
			t.Fatalf("got %d, %d bytes left, %v; want %d", merged.Estimate(), len(rest), err, one.Estimate())
		}
	})
}

func FuzzDistinctEncoding(f *testing.F) {
	d := NewDistinct(4)
	for i := range int64(3) {
		d.AddInt(i)
	}
	f.Add(d.Append(nil))
	for i := range int64(1000) {
		d.AddInt(i)
	}
	f.Add(d.Append(nil))
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		d := NewDistinct(4)
		if _, err := d.MergeEncoded(b); err == nil {
			d.Estimate()
			if again, err := NewDistinct(4).MergeEncoded(d.Append(nil)); err != nil || len(again) > 0 {
				t.Fatalf("%v, %d left", err, len(again))
			}
		}
	})
}
