// Package line minimises a function of one variable over the whole line: it
// scans the domain, goes on beyond it where that is promising, and polishes the
// best local minima with Brent's method.
package line

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

type params struct {
	Points    int     `param:"points" doc:"equally spaced points of the scan of the domain" min:"3" max:"1e7"`
	Widen     int     `param:"widen" doc:"how often the scan may be widened where the best point lies at an end; 0 keeps it within the domain" min:"0" max:"100"`
	Keep      int     `param:"keep" doc:"number of the best local minima of the scan that are polished" min:"1" max:"1e4"`
	Steps     int     `param:"steps" doc:"steps of Brent's method for each of them at the most" min:"0" max:"1e4"`
	Tolerance float64 `param:"tolerance" doc:"a minimum is located to this share of the domain's width, or until values around it differ by less than its square, relatively" above:"0" max:"0.1"`
}

// Component describes the solver.
func Component() core.Component {
	return core.NewSolver("line", `A global solver for one variable, the cheap inner solver of split.

It scans the domain at equally spaced points with a random offset. While the best of all points is an
end of the scan, the scan is widened on that side by its present width, with a
quarter of the points. Then Brent's method (parabolic steps, golden sections as
the safeguard) polishes the best local minima of the scan, all of them at once:
a batch has one point for each. R. P. Brent, Algorithms for Minimization without
Derivatives (1973), chapter 5.

It finds the global minimum if the scan has a point in its basin that is among
the keep best basins. With a budget too small for points and the polish it scans
fewer points and ends by itself when the budget is spent; else the limit is left
to whoever runs it. A point where the objective has no finite value is a wall.

It ends with converged; with unbounded if the values still fall after the last
widening; with no finite value; or with budget.`,
		params{Points: 237, Widen: 16, Keep: 4, Steps: 40, Tolerance: 1e-7},
		func(p params, env *core.Env) (core.Solver, error) { return newSolver(p, env) })
}

type solver struct {
	p            params
	lower, width float64 // of the domain
	left         int     // queries that the budget still has
	limited      bool    // whether that counts here

	t, f    []float64 // the scan so far, t ascending
	widened int
	side    side       // where the points under way belong in the scan
	minima  []*bracket // those to be polished, the best of the scan first
	active  []*bracket // those with a point under way
	x       *mat.Dense // the points under way
	buffer  core.Buffer
	reason  string // why it has ended, "" while it has not
}

// side says where new points of the scan belong.
type side int

const (
	nowhere side = iota
	below
	above
)

func newSolver(p params, env *core.Env) (*solver, error) {
	if env.Dim != 1 {
		return nil, fmt.Errorf("%w: line is for one variable, the problem has %d: use it as the inner solver of split, inner = { plugin = \"line\" }", core.ErrUnsuitable, env.Dim)
	}
	lower, upper, err := env.Box()
	if err != nil {
		return nil, err
	}
	s := &solver{p: p, lower: lower[0], width: upper[0] - lower[0], left: env.Budget}
	if !(s.width > 0) || math.IsInf(s.width, 1) {
		return nil, fmt.Errorf("%w: the domain is [%g, %g], line needs one of positive width", core.ErrUnsuitable, lower[0], upper[0])
	}
	n := affordable(env.Budget, p.Points, p.Keep)
	if s.limited = n < p.Points; n == 0 {
		s.reason = string(core.EndBudget)
		return s, nil
	}
	s.x = mat.NewDense(n, 1, nil)
	if n == 1 {
		s.x.Set(0, 0, s.lower+s.width/2)
		return s, nil
	}
	// All but the ends are moved by the same part of a spacing: the middle of the
	// domain, where many a test function has its minimum, is no point of the
	// scan by design.
	offset := env.Rand("scan").Float64() - 0.5
	for i := range n {
		at := float64(i)
		if i > 0 && i < n-1 {
			at += offset
		}
		s.x.Set(i, 0, s.lower+s.width*(at/float64(n-1)))
	}
	return s, nil
}

// affordable is the number of points for the scan, less than points if the
// budget would not leave ten steps for the polish of each minimum.
func affordable(budget, points, keep int) int {
	polish := min(10*keep, points/3)
	if budget >= points+polish {
		return points
	}
	return max(0, budget-min(budget/4, polish))
}

// Ask implements core.Solver.
func (s *solver) Ask(context.Context) (*mat.Dense, error) {
	if s.reason != "" {
		return nil, nil
	}
	return s.x, nil
}

// Tell implements core.Solver.
func (s *solver) Tell(_ context.Context, f []float64) error {
	s.left -= len(f)
	if s.minima == nil {
		s.scanned(f)
	} else {
		for i, b := range s.active {
			b.tell(f[i])
		}
	}
	if s.reason == "" && s.minima != nil {
		s.polish()
	}
	return nil
}

// Reason implements core.Explainer.
func (s *solver) Reason() string { return s.reason }

var _ core.Explainer = (*solver)(nil)

// scanned adds the points under way to the scan, then widens it or ends it.
func (s *solver) scanned(f []float64) {
	before := least(s.f)
	if s.side == below {
		s.t, s.f = append(mat.Col(nil, 0, s.x), s.t...), append(slices.Clone(f), s.f...)
	} else {
		s.t, s.f = append(s.t, mat.Col(nil, 0, s.x)...), append(s.f, f...)
	}
	best := least(s.f)
	s.side = lowEnd(s.f, best)
	switch {
	case s.limited && s.left == 0:
		s.reason = string(core.EndBudget)
	case math.IsInf(best, 1):
		s.reason = "no finite value"
	case s.side == nowhere || s.p.Widen == 0 || !(best < before): // a widening that brought nothing is the last
		s.minima = localMinima(s.t, s.f, s.p.Keep)
	case s.widened == s.p.Widen:
		s.reason = "unbounded"
	default:
		s.widened++
		s.widen()
	}
}

// least is the smallest of f, +Inf if there is none.
func least(f []float64) float64 {
	best := math.Inf(1)
	for _, v := range f {
		best = min(best, v)
	}
	return best
}

// lowEnd says at which end of a scan its best value lies; nowhere if it lies
// within or all values are the same.
func lowEnd(f []float64, best float64) side {
	switch {
	case !slices.ContainsFunc(f, func(v float64) bool { return v > best }):
		return nowhere
	case f[0] == best:
		return below
	case f[len(f)-1] == best:
		return above
	}
	return nowhere
}

// widen asks for points beyond an end, over the width of the scan so far.
func (s *solver) widen() {
	n := (s.p.Points + 3) / 4
	if s.limited {
		n = min(n, s.left)
	}
	first, last := s.t[0], s.t[len(s.t)-1]
	step := (last - first) / float64(n)
	s.x = mat.NewDense(n, 1, nil)
	for i := range n {
		if s.side == below {
			s.x.Set(i, 0, first-step*float64(n-i))
		} else {
			s.x.Set(i, 0, last+step*float64(i+1))
		}
	}
}

// polish asks for the next point of every minimum that is not settled yet.
func (s *solver) polish() {
	s.active = s.active[:0]
	for _, b := range s.minima {
		if !b.settled(s.p.Tolerance*s.width, max(s.p.Tolerance*s.p.Tolerance, 4*epsilon)) && b.steps < s.p.Steps {
			s.active = append(s.active, b)
		}
	}
	if len(s.active) == 0 {
		s.reason = "converged"
		return
	}
	if s.limited && len(s.active) > s.left {
		if s.active = s.active[:s.left]; s.left == 0 {
			s.reason = string(core.EndBudget)
			return
		}
	}
	s.x = s.buffer.Dense(len(s.active), 1)
	for i, b := range s.active {
		s.x.Set(i, 0, b.next(s.p.Tolerance*s.width))
	}
}

// localMinima returns brackets of the best local minima of the values f at the
// points t, at most keep of them, the best first; never nil. A run of equal
// values is one minimum. An end counts only if it is the best of all.
func localMinima(t, f []float64, keep int) []*bracket {
	minima := []*bracket{}
	best, last := least(f), len(t)-1
	for i, k := 0, 0; i <= last; i = k + 1 {
		for k = i; k < last && f[k+1] == f[i]; k++ {
		}
		inside := i > 0 && k < last
		if math.IsInf(f[i], 1) || i > 0 && f[i-1] < f[i] || k < last && f[k+1] < f[i] || !inside && f[i] > best || k-i == last {
			continue
		}
		middle, from, to := (i+k)/2, max(i-1, 0), min(k+1, last)
		minima = append(minima, newBracket(t[from], f[from], t[middle], f[middle], t[to], f[to]))
	}
	slices.SortStableFunc(minima, func(a, b *bracket) int { return cmp.Compare(a.fx, b.fx) })
	return minima[:min(keep, len(minima))]
}
