package cbo

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// essAlpha returns the alpha, at most limit, with which the weights of f have
// the effective sample size target, to six digits. That size falls from the
// number of finite values to the number of smallest ones as alpha grows; where
// target is outside of these the nearest is returned that still means anything.
func essAlpha(f []float64, target, limit float64) float64 {
	least, most := math.Inf(1), math.Inf(-1)
	for _, v := range f {
		least = min(least, v)
		if !math.IsInf(v, 1) {
			most = max(most, v)
		}
	}
	if !(most > least) {
		return limit // nothing to tell apart
	}
	high := min(limit, math.MaxFloat64)
	if sampleSize(f, least, high) >= target {
		return high
	}
	// With this alpha all finite values weigh the same to nine digits.
	low := min(high, 1e-9/min(most-least, math.MaxFloat64))
	if sampleSize(f, least, low) <= target {
		return low
	}
	for range 40 { // enough for any two numbers
		if high <= low*(1+1e-6) {
			break
		}
		middle := math.Sqrt(low) * math.Sqrt(high)
		if sampleSize(f, least, middle) > target {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// sampleSize is the effective sample size (sum_i w_i)^2 / sum_i w_i^2 of the
// weights w_i = exp(-alpha (f_i - least)), least being the smallest f.
func sampleSize(f []float64, least, alpha float64) float64 {
	var sum, squares float64
	for _, v := range f {
		w := 1.0
		if v != least {
			w = math.Exp(-alpha * (v - least))
		}
		sum += w
		squares += w * w
	}
	return sum * sum / squares
}

// stagnation counts steps without a better value.
type stagnation struct {
	best  float64 // the last better value
	steps int     // since then
}

// after takes the smallest value of a step and returns the number of steps
// since one was below the best by more than tol.
func (s *stagnation) after(least, tol float64) int {
	s.steps++
	if least < s.best-tol {
		s.best, s.steps = least, 0
	}
	return s.steps
}

// farthest returns the largest distance of a row of x from c.
func farthest(x *mat.Dense, c []float64) float64 {
	rows, _ := x.Dims()
	var most float64
	for i := range rows {
		var sum float64
		for j, v := range x.RawRowView(i) {
			sum += (v - c[j]) * (v - c[j])
		}
		most = max(most, sum)
	}
	return math.Sqrt(most)
}
