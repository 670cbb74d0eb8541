// Package split solves a separable problem coordinate by coordinate: as many
// problems of one variable as there are coordinates, all at the same time.
package split

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

type params struct {
	Inner     core.SolverTable `param:"inner" doc:"the solver of the problems of one variable, with its parameters"`
	Refine    int              `param:"refine" doc:"rounds of coordinate refinement at the most, if the joined point is not what the components promise" min:"0" max:"1e4"`
	Tolerance float64          `param:"tolerance" doc:"how far it may be from that, and what gain is not worth a round, relative to the size of the values" min:"0"`
}

// Component describes the solver.
func Component() core.Component {
	return core.NewSolver("split", `Componentwise optimisation: one problem of one variable for each coordinate.

For f(z) = sum_j f_j(z_j), with b a random point close to the middle of the
domain,

	s_j = argmin_s f(b + (s - b_j) e_j),   z* = (s_1, ..., s_m).

The inner solver makes each of these searches in the domain of its coordinate;
all advance together, and one batch has the points of all. Use it with
structure = "coordinates", so that z = W~x. Fiedler and Roith, Consensus-based
optimization for linearly separable functions, section on splitting. There b is
the origin, which is evaluated here and would give away the answer on test
functions that have their minimum there; and there the particles of component j
start from <x0, w_j> with x0 uniform in the domain, here uniformly in the domain
of z_j. An inner cbo has the method's noise, if it has
none anisotropic noise, which for one variable is the same as isotropic.

The budget is shared evenly, after a few queries for the rest are set aside. What
a component leaves when it is done goes to the others. One whose next batch
exceeds its share waits for that, and gives up if nobody else can go on.

Then z* is evaluated. If that is not f(b) + sum_j (min_s f(b + (s - b_j) e_j) - f(b))
as promised, f is not quite separable in these coordinates, and rounds of
refinement around the best point follow. A round evaluates c +- h_j e_j for all
j, takes the parabola through three points in every coordinate, and tries the
joint step to all their minima at several lengths; h_j follows the steps. After
it, coordinates are tried in other local minima of their components that were
nearly as good, until that changes nothing. The refinement ends early when the
parabolas promise no more gain than the tolerance.

It ends with converged when the promise was kept, else with refined; with budget
if components or the refinement lacked queries, with unbounded if a component
says so, or with no finite value.`,
		params{Inner: core.SolverTable{"plugin": "line"}, Refine: 10, Tolerance: 1e-9},
		func(p params, env *core.Env) (core.Solver, error) { return newSolver(p, env) })
}

// stage is what the batch under way, or the next one, is for.
type stage int

const (
	searching stage = iota // the components, with the base point before them
	joining                // the joined point
	probing                // the neighbours of the centre of refinement
	stepping               // its steps
	comparing              // the centre with a coordinate in another local minimum
	swapping               // with all coordinates in those that were better
	ended
)

type solver struct {
	p          params
	components []component
	base       []float64
	atBase     float64 // NaN until known
	left       int     // queries that are left of the budget
	first      int     // the component that comes first in the next batch
	chosen     []int   // those with points in the batch under way

	stage     stage
	promised  float64 // what the joined point should have
	deviation float64 // how far it is from that
	scale     float64 // the size of the values
	refine    refinement
	rounds    int
	settled   bool // whether the last round had little to gain
	others    []other
	compared  bool // whether other local minima turned out to be no better

	x      *mat.Dense // the batch under way, nil if there is none
	buffer core.Buffer
	reason string
}

func newSolver(p params, env *core.Env) (*solver, error) {
	lower, upper, err := env.Box()
	if err != nil {
		return nil, err
	}
	if env.Inner == nil {
		return nil, fmt.Errorf("%w: split needs a solver for its components, and nothing here can make one", core.ErrUnsuitable)
	}
	m := env.Dim
	s := &solver{p: p, components: make([]component, m), base: make([]float64, m), atBase: math.NaN(), left: env.Budget}
	noise := env.Noise
	if noise == nil {
		noise = core.NewFactoredNoise(core.Factors{})
	}
	share := max(0, env.Budget-s.reserve()) / m
	rng := env.Rand("base")
	for j := range s.components {
		s.base[j] = lower[j] + (upper[j]-lower[j])*(0.45+0.1*rng.Float64())
		inner, err := env.Inner(&core.Env{Dim: 1, Budget: share, Stream: env.Stream.Split(fmt.Sprintf("component %d", j)),
			Lower: lower[j : j+1 : j+1], Upper: upper[j : j+1 : j+1], Noise: noise})
		if err != nil {
			return nil, err
		}
		s.components[j] = component{solver: inner, allowance: share, seen: newProfile(lower[j], upper[j])}
	}
	s.refine = newRefinement(lower, upper)
	return s, nil
}

// reserve is what is kept back from the components: a query for the base point
// and, unless there is nothing to join, one for the joined point and some for
// the refinement, up to a tenth of the budget.
func (s *solver) reserve() int {
	if len(s.components) == 1 {
		return 1
	}
	return 2 + min(s.left/10, s.p.Refine*s.round())
}

// round is what a round of refinement takes.
func (s *solver) round() int { return 2*len(s.components) + len(lengths) }

// Ask implements core.Solver.
func (s *solver) Ask(ctx context.Context) (*mat.Dense, error) {
	if s.stage == searching && s.x == nil {
		if err := s.search(ctx); err != nil {
			return nil, err
		}
		if s.x == nil {
			s.join()
		}
	}
	return s.x, nil
}

// Tell implements core.Solver.
func (s *solver) Tell(ctx context.Context, f []float64) error {
	x := s.x
	s.x = nil
	switch s.stage {
	case searching:
		return s.found(ctx, f)
	case joining:
		s.refine.accept(x.RawRowView(0), f[0])
		s.deviation = math.Abs(f[0] - s.promised)
		if s.deviation <= s.p.Tolerance*s.scale {
			s.end("converged")
		} else {
			s.probe()
		}
	case probing:
		s.refine.probed(f)
		s.stage = stepping
		s.refine.steps(s.batch(len(lengths)))
	case stepping:
		s.refine.stepped(x, f)
		s.settled = s.refine.gain <= s.p.Tolerance*s.scale
		if s.compared || !s.compare() {
			s.probe()
		}
	case comparing:
		if s.compared = !s.swap(x, f); s.compared {
			s.probe()
		}
	case swapping:
		s.refine.accept(x.RawRowView(0), f[0])
		s.settled = false
		s.probe()
	}
	return nil
}

// Reason implements core.Explainer.
func (s *solver) Reason() string { return s.reason }

var _ core.Explainer = (*solver)(nil)

// batch makes the next batch, of unspecified contents, and charges for it.
func (s *solver) batch(rows int) *mat.Dense {
	s.left -= rows
	s.x = s.buffer.Dense(rows, len(s.base))
	return s.x
}

// end ends the search, for this reason unless there is a graver one.
func (s *solver) end(reason string) {
	s.stage, s.reason = ended, reason
	for j := range s.components {
		switch s.components[j].reason {
		case "unbounded":
			s.reason = "unbounded"
		case string(core.EndBudget):
			s.reason = string(core.EndBudget)
			return
		}
	}
}

// join asks for the joined point, if it is not one of those seen.
func (s *solver) join() {
	if math.IsNaN(s.atBase) {
		s.end(string(core.EndBudget))
		return
	}
	z := slices.Clone(s.base)
	s.promised = s.atBase
	s.refine.accept(z, s.atBase)
	moved := 0
	for j := range s.components {
		v, at := s.components[j].seen.best()
		if !(v < s.atBase) {
			continue
		}
		z[j] = at
		s.promised += v - s.atBase
		moved++
		if v < s.refine.value {
			copy(s.refine.centre, s.base)
			s.refine.centre[j], s.refine.value = at, v
		}
	}
	s.scale = math.Abs(s.atBase) + (s.atBase - s.promised)
	if math.IsInf(s.atBase, 1) { // then nothing is promised
		s.scale, s.promised = math.Abs(s.refine.value), math.Inf(-1)
	}
	switch {
	case math.IsInf(s.refine.value, 1):
		s.end("no finite value")
	case moved <= 1 && !math.IsInf(s.atBase, 1):
		s.end("converged")
	case s.left == 0:
		s.end(string(core.EndBudget))
	default:
		s.stage = joining
		copy(s.batch(1).RawRowView(0), z)
	}
}

// probe begins the next round of refinement, if there is one.
func (s *solver) probe() {
	switch {
	case s.rounds == s.p.Refine || s.settled:
		s.end("refined")
	case s.left < s.round():
		s.end(string(core.EndBudget))
	default:
		s.rounds++
		s.stage = probing
		s.refine.probes(s.batch(2 * len(s.base)))
	}
}

// Other local minima of a component are compared only if they were worse by at
// most doubt times the deviation of the joined point: that much, with a wide
// margin, the other coordinates may have shown through.
const (
	doubt      = 30
	otherLimit = 3 // for each component
)

// compare asks for the values of the centre with one coordinate moved to
// another local minimum of its component. It reports whether there are any.
func (s *solver) compare() bool {
	s.others = s.others[:0]
	for j := range s.components {
		seen := s.components[j].seen
		best, _ := seen.best()
		for _, at := range seen.others(s.refine.centre[j], best+doubt*s.deviation, otherLimit) {
			s.others = append(s.others, other{j, at})
		}
	}
	if len(s.others) == 0 || len(s.others) >= s.left {
		return false
	}
	s.stage = comparing
	x := s.batch(len(s.others))
	for i, o := range s.others {
		row := x.RawRowView(i)
		copy(row, s.refine.centre)
		row[o.coordinate] = o.at
	}
	return true
}

// swap asks for the point with every coordinate in the best of its local
// minima. It reports whether another one was better for any.
func (s *solver) swap(x *mat.Dense, f []float64) bool {
	z, lowest, better := slices.Clone(s.refine.centre), 0.0, false
	for i, o := range s.others {
		if i == 0 || o.coordinate != s.others[i-1].coordinate {
			lowest = s.refine.value
		}
		if f[i] < lowest {
			lowest, better = f[i], true
			z[o.coordinate] = o.at
		}
	}
	if !better {
		return false
	}
	for i, v := range f {
		s.refine.accept(x.RawRowView(i), v)
	}
	s.stage = swapping
	copy(s.batch(1).RawRowView(0), z)
	return true
}

// other is another local minimum of a component.
type other struct {
	coordinate int
	at         float64
}
