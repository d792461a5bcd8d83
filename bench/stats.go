package main

import (
	"math"
	"slices"
)

// tQuantiles are those of Student's distribution that leave 2.5 % on either side, by degrees of freedom from 1.
var tQuantiles = []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086}

// interval is where the ratio lies with 95 % confidence, from paired measurements whose logarithms are taken for normal: a ratio of 2 is as far from 1
// as one of 1/2. One pair says nothing.
func interval(ratios []float64) (low, high float64) {
	n := float64(len(ratios))
	if n < 2 {
		return 0, math.Inf(1)
	}
	var mean, square float64
	for _, r := range ratios {
		mean += math.Log(r) / n
	}
	for _, r := range ratios {
		d := math.Log(r) - mean
		square += d * d / (n - 1)
	}
	t := 1.96
	if df := len(ratios) - 1; df <= len(tQuantiles) {
		t = tQuantiles[df-1]
	}
	wide := t * math.Sqrt(square/n)
	return math.Exp(mean - wide), math.Exp(mean + wide)
}

// slope is the exponent with which y grows with x: 1 for twice the y at twice the x. It is that of the straight line through the logarithms.
func slope(x, y []float64) float64 {
	n := float64(len(x))
	var mx, my float64
	for i := range x {
		mx += math.Log(x[i]) / n
		my += math.Log(y[i]) / n
	}
	var xy, xx float64
	for i := range x {
		dx := math.Log(x[i]) - mx
		xy += dx * (math.Log(y[i]) - my)
		xx += dx * dx
	}
	return xy / xx
}

// middle is the median, between the two in the middle of an even number.
func middle(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
