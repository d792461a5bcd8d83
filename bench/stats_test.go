package main

import (
	"math"
	"testing"
)

func TestInterval(t *testing.T) {
	low, high := interval([]float64{2, 2, 2})
	if math.Abs(low-2) > 1e-9 || math.Abs(high-2) > 1e-9 {
		t.Errorf("equal ratios: %f to %f", low, high)
	}
	// Logarithms -ln 2, 0, ln 2: mean 0, deviation ln 2, t = 4.303 with two degrees of freedom.
	low, high = interval([]float64{0.5, 1, 2})
	if want := math.Exp(4.303 * math.Ln2 / math.Sqrt(3)); math.Abs(high-want) > 1e-9 || math.Abs(low*high-1) > 1e-9 {
		t.Errorf("%f to %f, want up to %f", low, high, want)
	}
	if low, high = interval([]float64{3}); low != 0 || !math.IsInf(high, 1) {
		t.Errorf("one pair says %f to %f", low, high)
	}
}

func TestMiddle(t *testing.T) {
	if middle([]float64{3, 1, 2}) != 2 || middle([]float64{4, 1}) != 2.5 {
		t.Error("not the median")
	}
}

func TestSlope(t *testing.T) {
	for _, want := range []float64{0, 0.5, 1, 2} {
		x := []float64{1, 2, 4, 8}
		y := make([]float64, len(x))
		for i := range x {
			y[i] = 3 * math.Pow(x[i], want)
		}
		if got := slope(x, y); math.Abs(got-want) > 1e-9 {
			t.Errorf("slope %f, want %f", got, want)
		}
	}
}

func TestOnlyWhatIsSurelySlowerRegresses(t *testing.T) {
	recorded := measurement{ID: "P1", Base: []usage{{Wall: 4}}, Own: []usage{{Wall: 1}}}
	for _, tc := range []struct {
		name   string
		ratios []float64
		want   bool
	}{
		{"the same", []float64{4, 4.1, 3.9}, false},
		{"a little slower", []float64{3.7, 3.7, 3.7}, false},
		{"half as fast", []float64{2, 2.05, 1.95}, true},
		{"perhaps slower, with noise", []float64{1, 2, 6}, false},
		{"faster", []float64{8, 8, 8}, false},
	} {
		now := measurement{ID: "P1"}
		for _, r := range tc.ratios {
			now.add(usage{Wall: r}, usage{Wall: 1})
		}
		if _, slower := compare(&recorded, &now); slower != tc.want {
			t.Errorf("%s: slower is %v, want %v", tc.name, slower, tc.want)
		}
	}
}
