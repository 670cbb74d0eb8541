package cmaes

import "math"

// boxMap is a smooth periodic map of the whole space onto a box, as pycma uses
// by default for bounds: the search itself stays unbounded. In a coordinate
// with bounds l < u, and a_l = min((u-l)/2, max(1, |l|)/20), a_u likewise, it is
//
//	x                              on [l + a_l, u - a_u],
//	l + (x - l + a_l)^2 / (4 a_l)  on [l - a_l, l + a_l],
//	u - (x - u - a_u)^2 / (4 a_u)  on [u - a_u, u + a_u],
//
// and beyond these it is reflected at l - a_l and u + a_u.
type boxMap struct {
	lower, upper             []float64
	lowerMargin, upperMargin []float64 // a_l, a_u
}

func newBoxMap(lower, upper []float64) *boxMap {
	b := &boxMap{lower: lower, upper: upper,
		lowerMargin: make([]float64, len(lower)), upperMargin: make([]float64, len(lower))}
	for j, l := range lower {
		u := upper[j]
		b.lowerMargin[j] = min((u-l)/2, max(1, math.Abs(l))/20)
		b.upperMargin[j] = min((u-l)/2, max(1, math.Abs(u))/20)
	}
	return b
}

// apply maps a point in place.
func (b *boxMap) apply(x []float64) {
	for j, v := range x {
		x[j] = foldInto(v, b.lower[j], b.upper[j], b.lowerMargin[j], b.upperMargin[j])
	}
}

// foldInto is the map of one coordinate.
func foldInto(x, l, u, al, au float64) float64 {
	start, end := l-al, u+au
	if x < start || x > end {
		period := 2 * (end - start)
		x = math.Mod(x-start, period)
		if x < 0 {
			x += period
		}
		x = start + min(x, period-x)
	}
	switch {
	case x < l+al:
		x = l + (x-start)*(x-start)/(4*al)
	case x > u-au:
		x = u - (x-end)*(x-end)/(4*au)
	}
	return max(l, min(u, x)) // rounding must not leave the box
}

// maxSpread is the largest standard deviation in a coordinate, as a share of
// the width of the box: a wider sample would only fold over itself.
const maxSpread = 1.0 / 3

// limitSpread shrinks the rows and columns of cov (lower triangle) whose
// standard deviation is above maxSpread and reports whether there were any.
func (b *boxMap) limitSpread(cov, scale []float64, sigma float64) bool {
	n := len(scale)
	limited := false
	for j := range n {
		spread := sigma * scale[j] * math.Sqrt(cov[j*n+j])
		shrink := maxSpread * (b.upper[j] - b.lower[j]) / spread
		if !(shrink < 1) {
			continue
		}
		limited = true
		for i := range n {
			cov[max(i, j)*n+min(i, j)] *= shrink
		}
		cov[j*n+j] *= shrink
	}
	return limited
}
