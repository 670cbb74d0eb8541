// Package cmaes is the CMA evolution strategy, as a single run and with the
// restarts of BIPOP: normal samples around a mean, whose covariance learns the
// shape of the objective from the ranking of the samples.
package cmaes

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

type params struct {
	PopSize   int     `param:"popsize" doc:"points a generation, at least 2; 0 stands for 4 + floor(3 ln d)" min:"0" max:"1e5"`
	Sigma0    float64 `param:"sigma0" doc:"standard deviation at the start, the same in every coordinate; 0 stands for 0.3 times the width of the domain in each" min:"0" max:"1e100"`
	X0        string  `param:"x0" doc:"start point: uniform in the domain, or its centre" oneof:"uniform,centre"`
	Bounds    string  `param:"bounds" doc:"map: points are folded smoothly into the domain before they are evaluated" oneof:"none,map"`
	Active    bool    `param:"active" doc:"whether the worse half of a generation shapes the covariance too, with negative weights"`
	MaxIter   int     `param:"maxiter" doc:"stop after this many generations; 0 stands for 100 + 150 (d+3)^2 / sqrt(popsize)" min:"0"`
	TolFun    float64 `param:"tolfun" doc:"stop when the values of a generation and the recent best values lie within this range" min:"0"`
	TolHist   float64 `param:"tolfunhist" doc:"stop when the best values of the last 10 + 30 d / popsize generations lie within this range" min:"0"`
	TolX      float64 `param:"tolx" doc:"stop when all standard deviations are below this, relative to the start" min:"0"`
	TolFacUpX float64 `param:"tolfacupx" doc:"stop when a standard deviation is this many times that of the start (divergence)" above:"1" max:"1e20"`
	TolCond   float64 `param:"tolconditioncov" doc:"stop when the condition number of the covariance is above this" above:"1"`
}

// defaults are pycma's, but for tolx, which is the tutorial's.
func defaults() params {
	return params{X0: "uniform", Bounds: "none", Active: true,
		TolFun: 1e-11, TolHist: 1e-12, TolX: 1e-12, TolFacUpX: 1e3, TolCond: 1e14}
}

// Component describes the solver that makes a single run.
func Component() core.Component {
	return core.NewSolver("cmaes", `The CMA evolution strategy, one run without restarts.

A generation samples x_k = m + sigma B D z_k, z_k ~ N(0, I), for k = 1..popsize,
with C = B D^2 B'. The mean m moves to the weighted mean of the better half,
sigma follows the length of a path of these moves, and C learns from the path
(rank one) and from all steps of the generation (rank mu, negative weights for
the worse half). C is decomposed lazily.

N. Hansen, The CMA Evolution Strategy: A Tutorial, arXiv 1604.00772. Where the
sources differ the constants, the laziness and the stopping criteria are those
of pycma 4.4, with these exceptions: lengths in tolx and in the criterion
tolxstagnation are relative to the first step size, because the unit of the
coordinates is arbitrary; a covariance with a condition number above
tolconditioncov ends the run, as in the tutorial, where pycma first changes
coordinates; the final mean is not evaluated.

It ends with the name of the criterion met: tolfun, tolfunhist, tolx, tolfacupx,
tolupsigma, conditioncov, noeffectaxis, noeffectcoord, tolxstagnation,
stagnation, flatfitness or maxiter.`,
		defaults(),
		func(p params, env *core.Env) (core.Solver, error) { return newSolver(p, env) })
}

type solver struct {
	run *evolution
	rng *rand.Rand
}

func newSolver(p params, env *core.Env) (*solver, error) {
	s, err := newSetting(p, env)
	if err != nil {
		return nil, err
	}
	return &solver{run: s.first(), rng: env.Rand("samples")}, nil
}

// Ask implements core.Solver.
func (s *solver) Ask(context.Context) (*mat.Dense, error) {
	if s.run.stop != "" {
		return nil, nil
	}
	return s.run.ask(s.rng), nil
}

// Tell implements core.Solver.
func (s *solver) Tell(_ context.Context, f []float64) error { return s.run.tell(f) }

// Reason implements core.Explainer.
func (s *solver) Reason() string { return s.run.stop }

var _ core.Explainer = (*solver)(nil)

// setting is what all runs of a solver share.
type setting struct {
	lower, upper []float64
	popSize      float64 // before it is rounded down
	sigma        float64
	scale        []float64
	centre       bool
	active       bool
	box          *boxMap
	limits       limits
	starts       *rand.Rand
}

func newSetting(p params, env *core.Env) (*setting, error) {
	lower, upper, err := env.Box()
	if err != nil {
		return nil, err
	}
	if p.PopSize == 1 {
		return nil, core.BadParam("popsize", "1 is not possible, must be at least 2, or 0 for the default")
	}
	s := &setting{lower: lower, upper: upper, popSize: float64(p.PopSize), scale: make([]float64, env.Dim),
		centre: p.X0 == "centre", active: p.Active, starts: env.Rand("start")}
	if p.PopSize == 0 {
		s.popSize = defaultPopulation(env.Dim)
	}
	if p.Bounds == "map" {
		s.box = newBoxMap(lower, upper)
	}
	for j := range s.scale {
		width := upper[j] - lower[j]
		if !(width > 0) || math.IsInf(width, 1) {
			return nil, fmt.Errorf("%w: the domain is [%g, %g] in coordinate %d, it must have a width there", core.ErrUnsuitable, lower[j], upper[j], j)
		}
		s.scale[j] = p.Sigma0
		if p.Sigma0 == 0 {
			s.scale[j] = 0.3 * width
		}
		if s.box != nil {
			s.scale[j] = min(s.scale[j], maxSpread*width)
		}
		s.sigma = max(s.sigma, s.scale[j])
	}
	for j := range s.scale {
		s.scale[j] /= s.sigma
	}
	s.limits = limits{
		generations: p.MaxIter, tolFun: p.TolFun, tolFunHist: p.TolHist, tolX: p.TolX, tolFacUpX: p.TolFacUpX,
		tolCondition: p.TolCond, stagnation: stagnationTime(env.Dim, s.popSize), unit: s.sigma,
	}
	if p.MaxIter == 0 {
		s.limits.generations = defaultGenerations(env.Dim, s.popSize)
	}
	return s, nil
}

// first starts the first run.
func (s *setting) first() *evolution { return s.start(int(s.popSize), s.sigma, s.limits) }

// start starts a run from a new point.
func (s *setting) start(lambda int, sigma float64, lim limits) *evolution {
	x0 := make([]float64, len(s.scale))
	for j := range x0 {
		share := 0.5
		if !s.centre {
			share = s.starts.Float64()
		}
		x0[j] = s.lower[j] + share*(s.upper[j]-s.lower[j])
	}
	return newEvolution(x0, s.scale, sigma, newStrategy(len(x0), lambda, s.active), lim, s.box)
}
