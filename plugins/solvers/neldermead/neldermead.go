// Package neldermead is the simplex method of Nelder and Mead with restarts, the
// baseline for local search without derivatives.
//
// It is written out here rather than built on gonum's optimize.NelderMead,
// because that one calls for its values from a goroutine of its own, which a
// solver, not being told when it is dropped, could not end; and because it asks
// for one point at a time also where n are known, for a new simplex and for a
// shrink. A test holds the two to the same path.
package neldermead

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

type params struct {
	Size     float64 `param:"size" doc:"edge of the first simplex, as a share of the domain's width in each coordinate" above:"0" max:"1e3"`
	Restarts int     `param:"restarts" doc:"restarts from a new point after convergence; -1 for as many as the budget allows" min:"-1"`
	TolX     float64 `param:"tolx" doc:"converged when the simplex is smaller than this, as a share of the domain's width, and its values lie within tolfun" min:"0"`
	TolFun   float64 `param:"tolfun" doc:"see tolx" min:"0"`
}

// Component describes the solver.
func Component() core.Component {
	return core.NewSolver("nelder-mead", `The simplex method of Nelder and Mead, restarted when it has converged.

With the centroid c of all vertices but the worst, w, it tries the points
c + t (c - w): reflection t = 1, expansion t = 1 + 2/d, contraction
t = +-(3/4 - 1/(2d)), and shrinks the simplex by 1 - 1/d towards the best vertex
if none of them helps. Gao and Han, Implementing the Nelder-Mead simplex
algorithm with adaptive parameters (2012); acceptance rules of Lagarias, Reeds,
Wright and Wright (1998). In one dimension the factors of two are used.

Every start point is uniform in the domain; the first simplex has its edges along
the coordinates, towards the inside of the domain. Later points may leave it.
A first simplex without any finite value is given up at once. When no restart is
left it ends with converged, diverged or no finite value.`,
		params{Size: 0.1, Restarts: -1, TolX: 1e-8, TolFun: 1e-12},
		func(p params, env *core.Env) (core.Solver, error) { return newSolver(p, env) })
}

// phase is what the values that are told next belong to.
type phase int

const (
	building phase = iota // a whole new simplex
	reflecting
	expanding
	contractingOutside
	contractingInside
	shrinking // all vertices but the best
)

const (
	nothingFinite = "no finite value"
	tooFar        = 1e150 // a coordinate from where the next steps might overflow
)

type solver struct {
	p                        params
	rng                      *rand.Rand
	lower, upper             []float64
	expand, contract, shrink float64

	phase    phase
	restarts int    // so far
	outcome  string // why the last run ended
	done     bool

	simplex *mat.Dense // rows are vertices
	values  []float64  // of the vertices
	order   []int      // of the vertices, best first

	centroid       []float64 // of all vertices but the worst
	trial          *mat.Dense
	reflected      []float64
	reflectedValue float64
}

func newSolver(p params, env *core.Env) (*solver, error) {
	lower, upper, err := env.Box()
	if err != nil {
		return nil, err
	}
	n := env.Dim
	for j := range n {
		if width := upper[j] - lower[j]; !(width > 0) || math.IsInf(width, 1) {
			return nil, fmt.Errorf("%w: the domain is [%g, %g] in coordinate %d, it must have a width there", core.ErrUnsuitable, lower[j], upper[j], j)
		}
	}
	d := float64(max(2, n))
	s := &solver{
		p: p, rng: env.Rand("start"), lower: lower, upper: upper,
		expand: 1 + 2/d, contract: 0.75 - 1/(2*d), shrink: 1 - 1/d,
		simplex: mat.NewDense(n+1, n, nil), values: make([]float64, n+1), order: make([]int, n+1),
		centroid: make([]float64, n), trial: mat.NewDense(1, n, nil), reflected: make([]float64, n),
	}
	s.build()
	return s, nil
}

// Ask implements core.Solver.
func (s *solver) Ask(context.Context) (*mat.Dense, error) {
	n := len(s.centroid)
	switch {
	case s.done:
		return nil, nil
	case s.phase == building:
		return s.simplex, nil
	case s.phase == shrinking:
		return s.simplex.Slice(1, n+1, 0, n).(*mat.Dense), nil
	}
	return s.trial, nil
}

// Tell implements core.Solver.
func (s *solver) Tell(_ context.Context, f []float64) error {
	n := len(s.centroid)
	want := 1
	switch s.phase {
	case building:
		want = n + 1
	case shrinking:
		want = n
	}
	if len(f) != want {
		return fmt.Errorf("%w: %d values for a batch of %d points", core.ErrShape, len(f), want)
	}
	best, second, worst := s.values[s.order[0]], s.values[s.order[n-1]], s.values[s.order[n]]
	trial := s.trial.RawRowView(0)
	switch s.phase {
	case building:
		copy(s.values, f)
		s.sort()
		if math.IsInf(s.values[s.order[0]], 1) {
			s.finish(nothingFinite)
		} else {
			s.iterate()
		}
	case shrinking:
		copy(s.values[1:], f)
		s.sort()
		s.iterate()
	case reflecting:
		copy(s.reflected, trial)
		s.reflectedValue = f[0]
		switch {
		case f[0] < best:
			s.try(expanding, s.expand)
		case f[0] < second:
			s.accept(trial, f[0])
		case f[0] < worst:
			s.try(contractingOutside, s.contract)
		default:
			s.try(contractingInside, -s.contract)
		}
	case expanding:
		if f[0] < s.reflectedValue {
			s.accept(trial, f[0])
		} else {
			s.accept(s.reflected, s.reflectedValue)
		}
	case contractingOutside:
		if f[0] <= s.reflectedValue {
			s.accept(trial, f[0])
		} else {
			s.shrinkToBest()
		}
	case contractingInside:
		if f[0] < worst {
			s.accept(trial, f[0])
		} else {
			s.shrinkToBest()
		}
	}
	return nil
}

// Reason implements core.Explainer.
func (s *solver) Reason() string {
	if s.done {
		return s.outcome
	}
	return ""
}

var _ core.Explainer = (*solver)(nil)

// build makes a simplex around a new start point.
func (s *solver) build() {
	s.phase = building
	start := s.simplex.RawRowView(0)
	for j := range start {
		start[j] = s.lower[j] + (s.upper[j]-s.lower[j])*s.rng.Float64()
	}
	for j, v := range start {
		vertex := s.simplex.RawRowView(j + 1)
		copy(vertex, start)
		edge := s.p.Size * (s.upper[j] - s.lower[j])
		if v > (s.lower[j]+s.upper[j])/2 {
			edge = -edge
		}
		vertex[j] += edge
	}
}

// sort puts the vertices in order.
func (s *solver) sort() {
	for i := range s.order {
		s.order[i] = i
	}
	slices.SortFunc(s.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.values[a], s.values[b]), a-b)
	})
}

// iterate begins an iteration with a reflection, unless the run is at its end.
func (s *solver) iterate() {
	n := len(s.centroid)
	switch {
	case s.converged():
		s.finish("converged")
		return
	case floats.Norm(s.simplex.RawRowView(s.order[0]), math.Inf(1)) > tooFar:
		s.finish("diverged")
		return
	}
	clear(s.centroid)
	for _, i := range s.order[:n] {
		floats.Add(s.centroid, s.simplex.RawRowView(i))
	}
	floats.Scale(1/float64(n), s.centroid)
	s.try(reflecting, 1)
}

// try asks for the point at t on the line from the worst vertex, at t = -1,
// through the centroid.
func (s *solver) try(next phase, t float64) {
	s.phase = next
	x := s.trial.RawRowView(0)
	worst := s.simplex.RawRowView(s.order[len(s.centroid)])
	for j, c := range s.centroid {
		x[j] = c + t*(c-worst[j])
	}
}

// accept puts a point in the place of the worst vertex.
func (s *solver) accept(x []float64, f float64) {
	n := len(s.centroid)
	vertex := s.order[n]
	copy(s.simplex.RawRowView(vertex), x)
	s.values[vertex] = f
	i := n
	for ; i > 0 && f < s.values[s.order[i-1]]; i-- {
		s.order[i] = s.order[i-1]
	}
	s.order[i] = vertex
	s.iterate()
}

// shrinkToBest moves all vertices towards the best one, which becomes row 0 so
// that the others are one batch.
func (s *solver) shrinkToBest() {
	s.phase = shrinking
	first, best := s.simplex.RawRowView(0), s.simplex.RawRowView(s.order[0])
	if s.order[0] != 0 {
		for j := range first {
			first[j], best[j] = best[j], first[j]
		}
		s.values[0] = s.values[s.order[0]]
	}
	for i := range s.centroid {
		vertex := s.simplex.RawRowView(i + 1)
		for j, b := range first {
			vertex[j] = b + s.shrink*(vertex[j]-b)
		}
	}
}

// finish ends a run, and the search if no restart is left. A run without any
// value is no outcome if another had one.
func (s *solver) finish(outcome string) {
	if s.outcome == "" || outcome != nothingFinite {
		s.outcome = outcome
	}
	if s.restarts == s.p.Restarts {
		s.done = true
		return
	}
	s.restarts++
	s.build()
}

// converged reports whether the simplex is small in x and in f, or as small in
// x as rounding lets it become, as on the edge of a jump.
func (s *solver) converged() bool {
	spread := s.values[s.order[len(s.centroid)]] - s.values[s.order[0]]
	return s.within(1e-15) || s.within(s.p.TolX) && spread <= s.p.TolFun
}

// within reports whether no vertex is farther from the best one than tol times
// the width of the domain in any coordinate. A difference that a shrink by
// 1 - 1/d would round to itself does not count.
func (s *solver) within(tol float64) bool {
	const roundoff = 0x1p-52
	best := s.simplex.RawRowView(s.order[0])
	d := float64(len(best))
	for _, i := range s.order[1:] {
		for j, v := range s.simplex.RawRowView(i) {
			if math.Abs(v-best[j]) > tol*(s.upper[j]-s.lower[j])+d*roundoff*math.Abs(best[j]) {
				return false
			}
		}
	}
	return true
}
