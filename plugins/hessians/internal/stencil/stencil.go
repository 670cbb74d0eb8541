// Package stencil turns values of f at stencil points into Hessians of
// t -> f(x + V t). It is what the Hessian components share: the order in which
// points are asked for, the choice of the steps, and the handling of values
// that are not finite. The components differ only in their Rule.
package stencil

import (
	"context"
	"fmt"
	"math"
	"sort"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// Rule is a finite-difference formula for the second derivatives along a pair
// of directions. Write f(a, b) for f(x + a h_i v_i + b h_j v_j).
type Rule struct {
	// Reach r says where the diagonal is measured:
	// H_ii = [f(x + r h_i v_i) - 2 f(x) + f(x - r h_i v_i)] / (r h_i)^2.
	Reach float64
	// Signs lists the points (a, b) of a pair i < j.
	Signs [][2]float64
	// Mixed returns H_ij h_i h_j from the values at Signs and the sum of those
	// at the four diagonal points of i and j, f(x) being taken off each value.
	Mixed func(pair []float64, axes float64) float64
}

// Points is the number of points of one Hessian along m directions, each
// counted once.
func (r Rule) Points(m int) int { return 1 + 2*m + len(r.Signs)*m*(m-1)/2 }

const (
	// A batch holds at most so many points and so many numbers, which keeps
	// the memory small in high dimensions.
	batchPoints  = 4096
	batchNumbers = 1 << 20
)

// Approximator implements core.Hessian for a Rule. A sample with a value that
// is not finite gets a matrix of NaN.
type Approximator struct {
	rule  Rule
	step  float64
	scale float64 // the problem's length scale, 0 if unknown

	x, v    *mat.Dense // samples and directions as rows; nil v means the axes
	dim, m  int
	found   []*mat.SymDense
	sample  int
	spoiled bool

	phase phase
	next  int // the first point of the phase that has not been asked for
	batch core.Buffer
	asked int

	centre float64
	axis   []float64 // values at x + r h_i v_i and x - r h_i v_i, in turn
	known  []bool    // whether axis holds the values of direction i
	todo   []int     // directions that the current phase asks along
	pair   []float64
	starts []int // starts[i] is the number of pairs before those of row i
	steps  steps
}

// phase is a run of points of one sample that can be asked for in any batches.
type phase struct {
	total int
	place func(row []float64, n int) // row holds x and becomes point n
	take  func(n int, f float64)
	done  func() // starts the next phase
}

var _ core.Hessian = (*Approximator)(nil)

// New returns an approximator. A step of 0 means that the steps are chosen
// automatically; env tells the scale of the problem if it has a domain.
func New(rule Rule, step float64, env *core.Env) *Approximator {
	a := &Approximator{rule: rule, step: step, dim: env.Dim}
	if env.Lower != nil && env.Upper != nil {
		for i := range env.Lower {
			// A tenth of the width: 1 for the customary [-5, 5].
			a.scale += (env.Upper[i] - env.Lower[i]) / 10 / float64(env.Dim)
		}
		if math.IsInf(a.scale, 0) || math.IsNaN(a.scale) {
			a.scale = 0
		}
	}
	return a
}

// Cost implements core.Hessian.
func (a *Approximator) Cost(directions int) int {
	cost := a.rule.Points(directions)
	if a.step == 0 {
		cost += noisePoints - 1 + 4*maxRounds*directions
	}
	return cost
}

// Begin implements core.Hessian.
func (a *Approximator) Begin(_ context.Context, q core.HessianQuery) error {
	samples, dim := q.X.Dims()
	if dim != a.dim {
		return fmt.Errorf("%w: samples in %d dimensions, the problem has %d", core.ErrShape, dim, a.dim)
	}
	a.x, a.v, a.m = mat.DenseCopyOf(q.X), nil, dim
	if q.V != nil {
		rows, m := q.V.Dims()
		if rows != dim {
			return fmt.Errorf("%w: directions in %d dimensions, the problem has %d", core.ErrShape, rows, dim)
		}
		a.v, a.m = mat.DenseCopyOf(q.V.T()), m
	}
	a.found = make([]*mat.SymDense, 0, samples)
	a.axis = make([]float64, 2*a.m)
	a.known = make([]bool, a.m)
	a.pair = make([]float64, len(a.rule.Signs))
	a.starts = make([]int, a.m)
	for i := 1; i < a.m; i++ {
		a.starts[i] = a.starts[i-1] + a.m - i
	}
	a.steps.reset(a.m, q.Stretch)
	a.sample = -1
	a.nextSample()
	return nil
}

// nextSample starts on the next sample, if there is one.
func (a *Approximator) nextSample() {
	a.sample++
	a.phase, a.next = phase{}, 0
	if samples, _ := a.x.Dims(); a.sample == samples {
		return
	}
	a.spoiled = false
	a.found = append(a.found, mat.NewSymDense(a.m, nil))
	for i := range a.known {
		a.known[i] = false
	}
	if a.step > 0 {
		for i := range a.steps.h {
			a.steps.h[i] = a.step
		}
		a.start(a.centrePhase())
		return
	}
	a.start(a.noisePhase())
}

func (a *Approximator) start(p phase) { a.phase, a.next = p, 0 }

// Ask implements core.Hessian.
func (a *Approximator) Ask(context.Context) (*mat.Dense, error) {
	if a.x == nil {
		return nil, fmt.Errorf("%w: asked for points before Begin", core.ErrShape)
	}
	for a.spoiled || a.next == a.phase.total {
		if samples, _ := a.x.Dims(); a.sample == samples {
			return nil, nil
		}
		if a.spoiled {
			a.spoil()
			a.nextSample()
		} else {
			a.phase.done()
		}
	}
	a.asked = min(a.phase.total-a.next, batchPoints, max(1, batchNumbers/a.dim))
	batch := a.batch.Dense(a.asked, a.dim)
	for r := range a.asked {
		row := batch.RawRowView(r)
		copy(row, a.x.RawRowView(a.sample))
		a.phase.place(row, a.next+r)
	}
	return batch, nil
}

// Tell implements core.Hessian.
func (a *Approximator) Tell(_ context.Context, f []float64) error {
	if len(f) != a.asked {
		return fmt.Errorf("%w: %d values for %d points", core.ErrShape, len(f), a.asked)
	}
	for r, v := range f {
		a.phase.take(a.next+r, v)
	}
	a.next += a.asked
	a.asked = 0
	return nil
}

// Hessians implements core.Hessian.
func (a *Approximator) Hessians(context.Context) ([]*mat.SymDense, error) {
	return a.found, nil
}

// move adds t v_i to a row.
func (a *Approximator) move(row []float64, i int, t float64) {
	if a.v == nil {
		row[i] += t
		return
	}
	for c, v := range a.v.RawRowView(i) {
		row[c] += t * v
	}
}

// use returns a value of the stencil and marks the sample when it is useless.
func (a *Approximator) use(f float64) float64 {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		a.spoiled = true
	}
	return f
}

// spoil fills the sample's Hessian with NaN.
func (a *Approximator) spoil() {
	h := a.found[a.sample]
	for i := range a.m {
		for j := i; j < a.m; j++ {
			h.SetSym(i, j, math.NaN())
		}
	}
}

func (a *Approximator) centrePhase() phase {
	return phase{
		total: 1,
		place: func([]float64, int) {},
		take:  func(_ int, f float64) { a.centre = a.use(f) },
		done:  func() { a.start(a.axisPhase()) },
	}
}

// axisPhase asks for the diagonal points that are not known yet.
func (a *Approximator) axisPhase() phase {
	a.todo = a.todo[:0]
	for i, known := range a.known {
		if !known {
			a.todo = append(a.todo, i)
		}
	}
	return phase{
		total: 2 * len(a.todo),
		place: func(row []float64, n int) {
			i := a.todo[n/2]
			a.move(row, i, side(n)*a.rule.Reach*a.steps.h[i])
		},
		take: func(n int, f float64) { a.axis[2*a.todo[n/2]+n%2] = a.use(f) },
		done: func() { a.start(a.pairPhase()) },
	}
}

// side is +1 for even and -1 for odd numbers.
func side(n int) float64 { return float64(1 - n%2*2) }

// pairPhase asks for the points of all pairs i < j, row by row.
func (a *Approximator) pairPhase() phase {
	signs := a.rule.Signs
	return phase{
		total: len(signs) * a.m * (a.m - 1) / 2,
		place: func(row []float64, n int) {
			i, j := a.pairAt(n / len(signs))
			s := signs[n%len(signs)]
			a.move(row, i, s[0]*a.steps.h[i])
			a.move(row, j, s[1]*a.steps.h[j])
		},
		take: func(n int, f float64) {
			a.pair[n%len(signs)] = a.use(f) - a.centre
			if n%len(signs) < len(signs)-1 {
				return
			}
			i, j := a.pairAt(n / len(signs))
			axes := a.bend(i) + a.bend(j)
			a.found[a.sample].SetSym(i, j, a.rule.Mixed(a.pair, axes)/(a.steps.h[i]*a.steps.h[j]))
		},
		done: func() {
			h := a.found[a.sample]
			for i := range a.m {
				reach := a.rule.Reach * a.steps.h[i]
				h.SetSym(i, i, a.bend(i)/(reach*reach))
			}
			a.nextSample()
		},
	}
}

// bend is the second difference along direction i. Taking f(x) off each value
// first is exact for close values and saves their last digits.
func (a *Approximator) bend(i int) float64 {
	return (a.axis[2*i] - a.centre) + (a.axis[2*i+1] - a.centre)
}

// pairAt returns pair number p.
func (a *Approximator) pairAt(p int) (i, j int) {
	i = sort.Search(a.m-1, func(i int) bool { return a.starts[i] > p }) - 1
	return i, i + 1 + p - a.starts[i]
}
