package cmaes

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

type bipopParams struct {
	Restarts  int     `param:"restarts" doc:"restarts with a doubled population, after which the search ends; the small restarts in between are not counted" min:"0" max:"15"`
	PopSize   int     `param:"popsize" doc:"points a generation in the first run, at least 2; 0 stands for 4 + 3 ln d" min:"0" max:"1e5"`
	Sigma0    float64 `param:"sigma0" doc:"standard deviation at the start, the same in every coordinate; 0 stands for 0.3 times the width of the domain in each" min:"0" max:"1e100"`
	X0        string  `param:"x0" doc:"start point of every run: uniform in the domain, or its centre" oneof:"uniform,centre"`
	Bounds    string  `param:"bounds" doc:"map: points are folded smoothly into the domain before they are evaluated" oneof:"none,map"`
	Active    bool    `param:"active" doc:"whether the worse half of a generation shapes the covariance too, with negative weights"`
	MaxIter   int     `param:"maxiter" doc:"generations of a run at the most; 0 stands for 100 + 150 (d+3)^2 / sqrt(popsize)" min:"0"`
	TolFun    float64 `param:"tolfun" doc:"a run stops when the values of a generation and the recent best values lie within this range" min:"0"`
	TolHist   float64 `param:"tolfunhist" doc:"a run stops when the best values of the last 10 + 30 d / popsize generations lie within this range" min:"0"`
	TolX      float64 `param:"tolx" doc:"a run stops when all standard deviations are below this, relative to sigma0" min:"0"`
	TolFacUpX float64 `param:"tolfacupx" doc:"a run stops when a standard deviation is this many times that of its start (divergence)" above:"1" max:"1e20"`
	TolCond   float64 `param:"tolconditioncov" doc:"a run stops when the condition number of the covariance is above this" above:"1"`
}

// BIPOP describes the solver that restarts in two regimes.
func BIPOP() core.Component {
	d := defaults()
	return core.NewSolver("bipop-cmaes", `The CMA evolution strategy with restarts in two regimes.

After a first run as of cmaes, each restart is small if the small runs (and the
first one) have had fewer evaluations than the large ones, else large. Large run
number k has 2^k times the first population. A small run has the first
population times 2^(k U^2), k being the number of large runs so far, the step
size sigma0 10^(-2 V), and at most half of the evaluations of all large runs; U
and V are uniform on [0, 1]. Every run starts from a new point. The search ends
when a large run more than restarts would be due, if the budget has not ended it
before.

N. Hansen, Benchmarking a BI-population CMA-ES on the BBOB-2009 function testbed
(2009); the large regime is that of Auger and Hansen, A restart CMA evolution
strategy with increasing population size (2005). Where the sources differ it
does as pycma 4.4: 4 + 3 ln d is rounded after the doubling, and all runs have
the maxiter of the first. As in Hansen's own code for that paper, and other than
in pycma, the last large run is still followed by the small runs that it earned.

It ends with restarts when the schedule has come to its end.`,
		bipopParams{Restarts: 9, PopSize: d.PopSize, Sigma0: d.Sigma0, X0: d.X0, Bounds: d.Bounds, Active: d.Active,
			MaxIter: d.MaxIter, TolFun: d.TolFun, TolHist: d.TolHist, TolX: d.TolX, TolFacUpX: d.TolFacUpX, TolCond: d.TolCond},
		func(p bipopParams, env *core.Env) (core.Solver, error) { return newBIPOP(p, env) })
}

// bipop runs one evolution after the other.
type bipop struct {
	*setting
	run     *evolution
	samples *rand.Rand
	regimes *rand.Rand // draws the settings of small runs

	restarts int // large restarts that are allowed
	large    int // large restarts so far
	isLarge  bool
	// Evaluations in the two regimes, the present run included.
	spentLarge, spentSmall int
	done                   bool
}

func newBIPOP(p bipopParams, env *core.Env) (*bipop, error) {
	s, err := newSetting(params{PopSize: p.PopSize, Sigma0: p.Sigma0, X0: p.X0, Bounds: p.Bounds, Active: p.Active,
		MaxIter: p.MaxIter, TolFun: p.TolFun, TolHist: p.TolHist, TolX: p.TolX, TolFacUpX: p.TolFacUpX, TolCond: p.TolCond}, env)
	if err != nil {
		return nil, err
	}
	return &bipop{setting: s, run: s.first(), samples: env.Rand("samples"), regimes: env.Rand("regimes"), restarts: p.Restarts}, nil
}

// Ask implements core.Solver.
func (b *bipop) Ask(context.Context) (*mat.Dense, error) {
	if b.run.stop != "" && !b.done {
		b.restart()
	}
	if b.done {
		return nil, nil
	}
	return b.run.ask(b.samples), nil
}

// Tell implements core.Solver.
func (b *bipop) Tell(_ context.Context, f []float64) error {
	if b.isLarge {
		b.spentLarge += len(f)
	} else {
		b.spentSmall += len(f)
	}
	return b.run.tell(f)
}

// Reason implements core.Explainer.
func (b *bipop) Reason() string {
	if b.done {
		return "restarts"
	}
	return ""
}

var _ core.Explainer = (*bipop)(nil)

// restart chooses the regime of the next run and starts it, or ends the search.
func (b *bipop) restart() {
	b.isLarge = b.spentSmall >= b.spentLarge
	if b.isLarge {
		if b.large == b.restarts {
			b.done = true
			return
		}
		b.large++
		b.run = b.start(largePopulation(b.popSize, b.large), b.sigma, b.limits)
		return
	}
	lambda, sigma := smallRun(b.popSize, b.sigma, b.large, b.regimes.Float64(), b.regimes.Float64())
	lim := b.limits
	lim.generations = max(1, min(lim.generations, b.spentLarge/2/lambda))
	b.run = b.start(lambda, sigma, lim)
}

// largePopulation is the population of large run number k.
func largePopulation(popSize float64, k int) int { return int(math.Ldexp(popSize, k)) }

// smallRun returns the population and the step size of a small run after some
// large ones, for u and v in [0, 1].
func smallRun(popSize, sigma float64, large int, u, v float64) (int, float64) {
	return int(popSize * math.Exp2(float64(large)*u*u)), sigma * math.Pow(10, -2*v)
}
