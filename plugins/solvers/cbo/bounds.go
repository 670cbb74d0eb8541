package cbo

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// eachCoordinate replaces every entry v of column j of x by
// into(v, lower_j, upper_j).
func eachCoordinate(x *mat.Dense, lower, upper []float64, into func(v, l, u float64) float64) {
	rows, _ := x.Dims()
	for i := range rows {
		for j, row := 0, x.RawRowView(i); j < len(row); j++ {
			row[j] = into(row[j], lower[j], upper[j])
		}
	}
}

// clip returns the point of [l, u] that is nearest to v.
func clip(v, l, u float64) float64 { return max(l, min(u, v)) }

// reflect folds the line onto [l, u], as a ray between two mirrors.
func reflect(v, l, u float64) float64 {
	width := u - l
	if v >= l && v <= u || !(width > 0) || math.IsInf(width, 1) {
		return clip(v, l, u)
	}
	r := math.Abs(math.Mod(v-l, 2*width)) // the fold is even about l
	return clip(l+min(r, 2*width-r), l, u)
}
