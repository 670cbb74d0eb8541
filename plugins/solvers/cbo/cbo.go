// Package cbo is consensus-based optimisation: particles drift towards a
// weighted mean of themselves, in which the better ones count more, and are
// scattered by a noise model on the way.
package cbo

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/core/kernel"
	"gonum.org/v1/gonum/mat"
)

type params struct {
	Particles   int     `param:"particles" doc:"number of particles n" min:"2"`
	Tau         float64 `param:"tau" doc:"step size of the Euler-Maruyama scheme" above:"0"`
	Sigma       float64 `param:"sigma" doc:"strength of the noise" min:"0"`
	Drift       float64 `param:"drift" doc:"strength of the drift towards the consensus point" min:"0"`
	Alpha       float64 `param:"alpha" doc:"weight exponent at the start: a particle weighs exp(-alpha f)" above:"0"`
	AlphaFactor float64 `param:"alpha_factor" doc:"alpha is multiplied by this after each step" above:"0"`
	AlphaMax    float64 `param:"alpha_max" doc:"upper limit of alpha" above:"0"`
	Clip        float64 `param:"clip" doc:"positions are kept within [-clip, clip]" above:"0"`
}

// Component describes the solver, with the settings of the paper as defaults.
func Component() core.Component {
	return core.NewSolver("cbo", `Consensus-based optimisation with any noise model.

x_i <- x_i - drift tau (x_i - c) + sigma sqrt(tau) D(x_i - c) xi_i, where c is
the mean of the particles weighted by exp(-alpha f(x_i)). Particles start
uniformly in the domain. Defaults as in Fiedler and Roith, Consensus-based
optimization for linearly separable functions; the method is of Pinnau,
Totzeck, Tse and Martin (2017).`,
		params{Particles: 50, Tau: 0.03, Sigma: 7.1, Drift: 1, Alpha: 100, AlphaFactor: 1.005, AlphaMax: 1e5, Clip: 1e8},
		func(p params, env *core.Env) (core.Solver, error) { return newSolver(p, env) })
}

type solver struct {
	p     params
	noise core.Noise
	rng   *rand.Rand
	alpha float64

	x, drift, xi, scatter *mat.Dense
	consensus, weights    []float64
	told                  bool
}

func newSolver(p params, env *core.Env) (*solver, error) {
	lower, upper, err := env.Box()
	if err != nil {
		return nil, err
	}
	if env.Noise == nil {
		return nil, fmt.Errorf("%w: cbo needs a noise model: give the method one, for example noise = { plugin = \"anisotropic\" }", core.ErrUnsuitable)
	}
	n, d := p.Particles, env.Dim
	s := &solver{
		p: p, noise: env.Noise, rng: env.Rand("steps"), alpha: min(p.Alpha, p.AlphaMax),
		x: mat.NewDense(n, d, nil), drift: mat.NewDense(n, d, nil),
		xi: mat.NewDense(n, d, nil), scatter: mat.NewDense(n, d, nil),
		consensus: make([]float64, d), weights: make([]float64, n),
	}
	start := env.Rand("start")
	for i := range n {
		for j, row := 0, s.x.RawRowView(i); j < d; j++ {
			row[j] = lower[j] + (upper[j]-lower[j])*start.Float64()
		}
	}
	return s, nil
}

// Ask implements core.Solver.
func (s *solver) Ask(ctx context.Context) (*mat.Dense, error) {
	if s.told {
		if err := s.step(ctx); err != nil {
			return nil, err
		}
		s.told = false
	}
	return s.x, nil
}

// Tell implements core.Solver.
func (s *solver) Tell(_ context.Context, f []float64) error {
	softmax(s.weights, f, s.alpha)
	mean(s.consensus, s.weights, s.x)
	s.told = true
	return nil
}

func (s *solver) step(ctx context.Context) error {
	for i := range s.p.Particles {
		x, z := s.x.RawRowView(i), s.drift.RawRowView(i)
		for j, c := range s.consensus {
			z[j] = x[j] - c
		}
	}
	kernel.Normals(s.xi.RawMatrix().Data, s.rng)
	if err := s.noise.Apply(ctx, s.scatter, s.drift, s.xi); err != nil {
		return err
	}
	x, z, noise := s.x.RawMatrix().Data, s.drift.RawMatrix().Data, s.scatter.RawMatrix().Data
	step(x, z, noise, s.p.Drift*s.p.Tau, s.p.Sigma*math.Sqrt(s.p.Tau), s.p.Clip)
	s.alpha = min(s.alpha*s.p.AlphaFactor, s.p.AlphaMax)
	return nil
}

// step moves x by -pull z + push noise and keeps it within [-clip, clip]; what
// is not a number becomes clip.
func step(x, z, noise []float64, pull, push, clip float64) {
	for i := range x {
		v := x[i] - pull*z[i] + push*noise[i]
		if !(v <= clip) {
			v = clip
		} else if v < -clip {
			v = -clip
		}
		x[i] = v
	}
}

// softmax sets w_i = exp(-alpha f_i) / sum_j exp(-alpha f_j), the smallest f
// taken out first so that the sum neither overflows nor vanishes. Where no
// value is finite all weights are equal.
func softmax(w, f []float64, alpha float64) {
	least := math.Inf(1)
	for _, v := range f {
		least = min(least, v)
	}
	var sum float64
	for i, v := range f {
		w[i] = 1
		if v != least {
			w[i] = math.Exp(-alpha * (v - least))
		}
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
}

// mean sets c to the mean of the rows of x weighted by w.
func mean(c, w []float64, x *mat.Dense) {
	clear(c)
	for i, wi := range w {
		if wi == 0 {
			continue
		}
		for j, v := range x.RawRowView(i) {
			c[j] += wi * v
		}
	}
}
