package joint

import (
	"fmt"
	"math"
	"slices"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/estimators/internal/draw"
	"github.com/unbraid/unbraid/plugins/estimators/internal/script"
	"gonum.org/v1/gonum/mat"
)

// probeBases is the number of points from which a trim looks at f.
const probeBases = 2

// probesCost is the number of queries of a trim in d dimensions at the most.
func probesCost(d int) int { return probeBases * (3 + 2*(d+1)) }

// behaviour is how f behaves along one direction, on the scale of the region.
type behaviour struct {
	known     bool    // false if no value was finite
	change    float64 // the largest change from a base point
	bend      float64 // the largest second difference
	slope     float64 // the slope across the first base point
	curvature float64 // bend over the square of the step
}

// none reports whether f is constant along the direction, to within rounding
// errors and small compared with its changes along a typical direction.
func (b behaviour) none(typical behaviour) bool {
	return b.known && b.change <= unchanged*typical.change
}

// linear reports whether f only changes linearly along the direction. Along a
// direction in which f is c times as quick as along a typical one, changes are
// c times as large and bends c^2 times.
func (b behaviour) linear(typical behaviour) bool {
	c := b.change / typical.change
	return b.known && b.bend <= 1e-6*c*c*max(typical.bend, 1e-3*typical.change)
}

// trim drops directions along which f does not change, and scales the others
// so that f is about equally curved along all. size holds the sizes of the
// Hessian along the columns of V_1, in descending order.
//
// Sizes alone cannot tell a direction without effect from one with little: with
// W of condition 3,000 they range over seven orders, down to the errors of the
// Hessian. Values of f a long step apart can, and they also show the curvature
// along the weak directions.
func (e *estimator) trim(size []float64, then func() (script.Step, error)) script.Step {
	m := e.m()
	var suspects []int
	for i, s := range size {
		if s <= weak*size[0] {
			suspects = append(suspects, i)
		}
	}
	return e.probe(suspects, func(typical, strongest behaviour, found []behaviour) (script.Step, error) {
		if strongest.none(typical) || strongest.linear(typical) {
			// Even the strongest curvature was an error: f is linear or
			// constant, or not smooth.
			suspects = numbers(m)
			return e.probe(suspects, func(typical, _ behaviour, found []behaviour) (script.Step, error) {
				return e.keep(size, suspects, typical, found, then)
			}), nil
		}
		return e.keep(size, suspects, typical, found, then)
	})
}

// keep drops the suspects along which f is constant or linear and scales the
// other directions.
func (e *estimator) keep(size []float64, suspects []int, typical behaviour, found []behaviour, then func() (script.Step, error)) (script.Step, error) {
	length := columnLengths(e.base)
	scale := slices.Clone(size)
	drop := make([]bool, len(size))
	var flat []int
	var slopes []float64
	linear := false
	for n, i := range suspects {
		b := found[n]
		// In the first Hessian, errors mix linear directions with others of
		// small curvature; the second can tell, unless all are linear.
		isLinear := b.linear(typical) && (len(e.seen) > 1 || len(suspects) == len(size))
		switch {
		case b.none(typical) || isLinear:
			linear = linear || !b.none(typical)
			drop[i] = true
			flat = append(flat, i)
			slopes = append(slopes, b.slope*length[i])
		default:
			scale[i] = max(scale[i], b.curvature/e.unit*length[i]*length[i])
		}
	}
	if linear {
		e.addLinear(columns(e.base, flat), slopes)
	}
	var kept []int
	for i, s := range scale {
		if !drop[i] && s > 0 {
			kept = append(kept, i)
		}
	}
	if len(kept) == 0 {
		if e.linear == nil {
			return script.Step{}, fmt.Errorf("%w: f does not change along any direction: it is constant around the samples, so there is no structure to find", core.ErrUnsuitable)
		}
		e.base, e.values = nil, nil
		return e.certify()
	}
	t := mat.NewDense(len(size), len(kept), nil)
	for j, i := range kept {
		t.Set(i, j, math.Sqrt(scale[kept[0]]/scale[i]))
	}
	before := e.base
	e.change(t)
	if len(flat) > 0 {
		e.project(columns(before, flat))
	}
	return then()
}

// project takes the part in the span of the columns n out of the directions.
// f has no curvature there, so that the Hessians along the directions stay the
// same, and the rows of W are orthogonal to it.
func (e *estimator) project(n *mat.Dense) {
	var qr mat.QR
	qr.Factorize(n)
	var q mat.Dense
	qr.QTo(&q)
	_, k := n.Dims()
	d, _ := q.Dims()
	span := q.Slice(0, d, 0, k)
	for range 2 { // twice, as the first pass leaves rounding errors
		e.base.Sub(e.base, product(span, product(span.T(), e.base)))
	}
	e.seen[0].from = e.base
}

// addLinear records the direction along which f is linear in the span of the
// columns n: the row w with <w, n_i> equal to the slope along n_i.
func (e *estimator) addLinear(n *mat.Dense, slopes []float64) {
	inverse, err := core.PseudoInverse(mat.DenseCopyOf(n.T()))
	if err != nil || e.linear != nil {
		return
	}
	d, _ := n.Dims()
	e.linear = mat.NewDense(1, d, nil)
	var w mat.VecDense
	w.MulVec(inverse, mat.NewVecDense(len(slopes), slopes))
	e.linear.SetRow(0, w.RawVector().Data)
	e.note("f is linear along the last row")
}

func columnLengths(a *mat.Dense) []float64 {
	_, m := a.Dims()
	length := make([]float64, m)
	for j := range length {
		length[j] = mat.Norm(a.ColView(j), 2)
	}
	return length
}

// probe looks at f from fresh points along a random direction (typical), the
// first column of V_1 (strongest) and the given columns.
func (e *estimator) probe(which []int, then func(typical, strongest behaviour, found []behaviour) (script.Step, error)) script.Step {
	d := e.env.Dim
	lines := mat.NewDense(2+len(which), d, nil)
	draw.Direction(lines.RawRowView(0), e.probes)
	for n, j := range append([]int{0}, which...) {
		row := lines.RawRowView(n + 1)
		length := mat.Norm(e.base.ColView(j), 2)
		for i := range row {
			row[i] = e.base.At(i, j) / length
		}
	}
	step := e.region.Length()
	x := e.region.Sample(probeBases, e.probes)
	per := 1 + 2*(2+len(which))
	points := mat.NewDense(probeBases*per, d, nil)
	for b := range probeBases {
		for r := range per {
			row := points.RawRowView(b*per + r)
			copy(row, x.RawRowView(b))
			if r > 0 {
				t := step * float64(1-(r-1)%2*2)
				for i, v := range lines.RawRowView((r - 1) / 2) {
					row[i] += t * v
				}
			}
		}
	}
	e.left -= probeBases * per
	return script.Step{Need: core.Need{Points: points}, Then: func(a core.Answer) (script.Step, error) {
		seen := make([]behaviour, 2+len(which))
		for b := range probeBases {
			f := a.Values[b*per : (b+1)*per]
			for n := range seen {
				seen[n].look(f[0], f[1+2*n], f[2+2*n], step)
			}
		}
		return then(seen[0], seen[1], seen[2:])
	}}
}

// look adds the values at a base point and a step to both sides of it.
func (b *behaviour) look(centre, plus, minus, step float64) {
	change := max(math.Abs(plus-centre), math.Abs(minus-centre))
	if math.IsInf(change, 0) || math.IsNaN(change) {
		return
	}
	// What is within the last digits of the values is neither change nor bend.
	digits := 64 * 0x1p-52 * max(math.Abs(centre), math.Abs(plus), math.Abs(minus))
	bend := max(0, math.Abs((plus-centre)+(minus-centre))-digits)
	change = max(0, change-digits)
	b.known = true
	b.change = max(b.change, change)
	b.bend = max(b.bend, bend)
	b.curvature = b.bend / (step * step)
	if b.slope == 0 {
		b.slope = (plus - minus) / (2 * step)
	}
}
