// Package draw chooses the points at which an estimator looks at a function.
package draw

import (
	"math"
	"math/rand/v2"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// Region is where samples come from.
type Region struct {
	centre []float64
	half   []float64 // half widths of a box; nil for a ball
	radius float64   // of the ball
}

// extent is the part of the domain, in every coordinate, that samples come
// from: stencils and probes around them then stay inside as well.
const extent = 0.5

// NewRegion returns the ball of the given radius around the middle of the
// domain, or around the origin if there is none. With radius 0 it is the inner
// half of the domain, or without a domain the ball of radius 1.5 sqrt(d). An
// infinite domain counts as none.
func NewRegion(env *core.Env, radius float64) *Region {
	r := &Region{centre: make([]float64, env.Dim), radius: radius}
	lower, upper, err := env.Box()
	if err != nil || !bounded(lower, upper) {
		if radius == 0 {
			r.radius = 1.5 * math.Sqrt(float64(env.Dim))
		}
		return r
	}
	for i := range r.centre {
		r.centre[i] = (lower[i] + upper[i]) / 2
	}
	if radius == 0 {
		r.half = make([]float64, env.Dim)
		for i := range r.half {
			r.half[i] = extent * (upper[i] - lower[i]) / 2
		}
	}
	return r
}

// bounded reports whether a domain is finite.
func bounded(lower, upper []float64) bool {
	for i := range lower {
		if width := upper[i] - lower[i]; math.IsInf(width, 0) || math.IsNaN(width) {
			return false
		}
	}
	return true
}

// Sample returns n points uniform in the region, as rows.
func (r *Region) Sample(n int, rng *rand.Rand) *mat.Dense {
	d := len(r.centre)
	x := mat.NewDense(n, d, nil)
	for i := range n {
		row := x.RawRowView(i)
		if r.half != nil {
			for j := range row {
				row[j] = r.centre[j] + r.half[j]*(2*rng.Float64()-1)
			}
			continue
		}
		Direction(row, rng)
		length := r.radius * math.Pow(rng.Float64(), 1/float64(d))
		for j := range row {
			row[j] = r.centre[j] + length*row[j]
		}
	}
	return x
}

// Length is a typical distance of a sample from the centre in one coordinate.
func (r *Region) Length() float64 {
	if r.half == nil {
		return r.radius / math.Sqrt(float64(len(r.centre)))
	}
	var sum float64
	for _, h := range r.half {
		sum += h
	}
	return sum / float64(len(r.half)) / math.Sqrt(3)
}

// Direction fills dst with a vector uniform on the unit sphere.
func Direction(dst []float64, rng *rand.Rand) {
	for {
		var sum float64
		for j := range dst {
			dst[j] = rng.NormFloat64()
			sum += dst[j] * dst[j]
		}
		if sum > 0 {
			for j := range dst {
				dst[j] /= math.Sqrt(sum)
			}
			return
		}
	}
}
