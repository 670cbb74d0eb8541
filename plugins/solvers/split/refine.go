package split

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// lengths are the lengths of the joint step that a round of refinement tries.
var lengths = [...]float64{1, 0.5, 0.2, 0.05}

// reach limits the step of a coordinate to so many times the distance of its
// probes.
const reach = 10

// refinement improves a point of a function that is nearly separable: damped
// Newton steps with the diagonal of the Hessian, slopes and curvatures from
// central differences.
type refinement struct {
	centre []float64 // the best point so far
	value  float64   // its value
	h      []float64 // the distance of the probes, at first 1e-3 of the domain
	least  []float64 // its lower limit
	step   []float64 // what the parabolas of the present round say
	gain   float64   // by how much they say that it lowers the value
	// The best probe of the present round.
	probe      int
	probeValue float64
}

func newRefinement(lower, upper []float64) refinement {
	m := len(lower)
	r := refinement{centre: make([]float64, m), value: math.Inf(1),
		h: make([]float64, m), least: make([]float64, m), step: make([]float64, m)}
	for j := range r.h {
		r.h[j] = 1e-3 * (upper[j] - lower[j])
		r.least[j] = 1e-4 * r.h[j]
	}
	return r
}

// accept moves to a point if it is better.
func (r *refinement) accept(z []float64, f float64) {
	if f < r.value {
		r.value = f
		copy(r.centre, z)
	}
}

// probes writes c - h_j e_j and c + h_j e_j to rows 2j and 2j+1 of x.
func (r *refinement) probes(x *mat.Dense) {
	for j, h := range r.h {
		down, up := x.RawRowView(2*j), x.RawRowView(2*j+1)
		copy(down, r.centre)
		copy(up, r.centre)
		down[j] -= h
		up[j] += h
	}
}

// probed takes the values of the probes.
func (r *refinement) probed(f []float64) {
	r.probe, r.probeValue, r.gain = -1, r.value, 0
	for j, h := range r.h {
		down, up := f[2*j], f[2*j+1]
		for k, v := range f[2*j : 2*j+2] {
			if v < r.probeValue {
				r.probe, r.probeValue = 2*j+k, v
			}
		}
		var gain float64
		r.step[j], gain = parabola(down, r.value, up, h)
		r.gain += gain
	}
}

// parabola returns the step from the middle of three points at distance h to
// the minimum of the parabola through their values, at most reach h, and how
// much lower that is. Without such a minimum it is a step to the lowest point.
func parabola(down, middle, up, h float64) (step, gain float64) {
	slope, bend := (up-down)/2, up-2*middle+down
	if bend > 0 && !math.IsInf(bend, 1) {
		t := max(-reach, min(reach, -slope/bend))
		return t * h, -t * (slope + t*bend/2)
	}
	switch {
	case down < middle && down <= up:
		return -h, middle - down
	case up < middle:
		return h, middle - up
	}
	return 0, 0
}

// steps writes c + l step for every length l.
func (r *refinement) steps(x *mat.Dense) {
	for i, l := range lengths {
		row := x.RawRowView(i)
		for j, c := range r.centre {
			row[j] = c + l*r.step[j]
		}
	}
}

// stepped takes the steps and their values, moves to the best point of the
// round and adapts the distances: to the steps, or shorter if they failed.
func (r *refinement) stepped(x *mat.Dense, f []float64) {
	before := r.value
	for i, v := range f {
		r.accept(x.RawRowView(i), v)
	}
	good := r.value < before
	if r.probeValue < r.value {
		j := r.probe / 2
		r.centre[j] += r.h[j] * float64(2*(r.probe%2)-1)
		r.value, good = r.probeValue, false
	}
	for j, h := range r.h {
		next := h / 4
		if good {
			next = max(next, min(4*h, math.Abs(r.step[j])))
		}
		r.h[j] = max(r.least[j], next)
	}
}
