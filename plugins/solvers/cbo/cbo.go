// Package cbo is consensus-based optimisation: particles drift towards a
// weighted mean of themselves, in which the better ones count more, and are
// scattered by a noise model on the way.
package cbo

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/core/kernel"
	"gonum.org/v1/gonum/mat"
)

type params struct {
	Particles   int     `param:"particles" doc:"number of particles n" min:"2"`
	Batch       int     `param:"batch" doc:"size of the random part of the particles that makes a step; 0 stands for all" min:"0"`
	Tau         float64 `param:"tau" doc:"step size of the Euler-Maruyama scheme" above:"0"`
	TauFactor   float64 `param:"tau_factor" doc:"tau is multiplied by this after each step" above:"0" max:"1"`
	TauMin      float64 `param:"tau_min" doc:"lower limit of tau" min:"0"`
	Sigma       float64 `param:"sigma" doc:"strength of the noise" min:"0"`
	SigmaFactor float64 `param:"sigma_factor" doc:"sigma is multiplied by this after each step" above:"0" max:"1"`
	SigmaMin    float64 `param:"sigma_min" doc:"lower limit of sigma" min:"0"`
	Drift       float64 `param:"drift" doc:"strength of the drift towards the consensus point" min:"0"`
	Alpha       float64 `param:"alpha" doc:"weight exponent at the start: a particle weighs exp(-alpha f)" above:"0"`
	Schedule    string  `param:"alpha_schedule" doc:"multiply: alpha grows by alpha_factor; ess: each step has the alpha with which the effective sample size is ess_fraction times the number of particles in it" oneof:"multiply,ess"`
	AlphaFactor float64 `param:"alpha_factor" doc:"alpha is multiplied by this after each step" above:"0"`
	AlphaMax    float64 `param:"alpha_max" doc:"upper limit of alpha" above:"0"`
	ESSFraction float64 `param:"ess_fraction" doc:"effective sample size that the schedule ess aims at, as a share of the particles" above:"0" max:"1"`
	Clip        float64 `param:"clip" doc:"positions are kept within [-clip, clip]" above:"0"`
	Bounds      string  `param:"bounds" doc:"what happens to particles that leave the domain: nothing, they stop at its wall, or they are reflected by it" oneof:"none,clip,reflect"`
	Stagnation  int     `param:"stagnation" doc:"end after this many steps without a better value; 0 goes on" min:"0"`
	StagnantTol float64 `param:"stagnation_tolerance" doc:"a value is better if it is below the last better one by more than this" min:"0"`
	Collapse    float64 `param:"collapse" doc:"end when no particle is farther than this from the consensus point; 0 goes on" min:"0"`
}

// defaults are the settings of the paper: what it does not have is off.
func defaults() params {
	return params{Particles: 50, Tau: 0.03, TauFactor: 1, Sigma: 7.1, SigmaFactor: 1, Drift: 1,
		Alpha: 100, Schedule: "multiply", AlphaFactor: 1.005, AlphaMax: 1e5, ESSFraction: 0.5, Clip: 1e8, Bounds: "none"}
}

// Component describes the solver, with the settings of the paper as defaults.
func Component() core.Component {
	return core.NewSolver("cbo", `Consensus-based optimisation with any noise model.

x_i <- x_i - drift tau (x_i - c) + sigma sqrt(tau) D(x_i - c) xi_i, where c is
the mean of the particles weighted by exp(-alpha f(x_i)). Particles start
uniformly in the domain. Defaults as in Fiedler and Roith, Consensus-based
optimization for linearly separable functions; the method is of Pinnau,
Totzeck, Tse and Martin (2017).

With a batch, a step takes the next particles of a random order, drawn afresh
when fewer than a batch are left in it: c is the mean of the batch, and only the
batch moves and is evaluated; the others keep position and value. This and the
schedule ess (the effective sample size is 1 / sum_i w_i^2 for weights w_i of
sum 1) are as in the package CBXPy of Bailo and others (2024).

Where no budget or target ends it, it goes on for ever unless told otherwise; it
ends with stagnation or collapse by the parameters of these names.`,
		defaults(),
		func(p params, env *core.Env) (core.Solver, error) { return newSolver(p, env) })
}

type solver struct {
	p                 params
	noise             core.Noise
	rng               *rand.Rand
	lower, upper      []float64
	alpha, tau, sigma float64

	x     *mat.Dense // all particles
	batch *batch     // nil if all of them move
	// What a step works on: the moving rows, which are x or the batch's copy.
	moving, drift, xi, scatter *mat.Dense
	consensus, weights         []float64
	told                       bool

	stagnation stagnation
	reason     string
}

func newSolver(p params, env *core.Env) (*solver, error) {
	lower, upper, err := env.Box()
	if err != nil {
		return nil, err
	}
	if env.Noise == nil {
		return nil, fmt.Errorf("%w: cbo needs a noise model: give the method one, for example noise = { plugin = \"anisotropic\" }", core.ErrUnsuitable)
	}
	d := env.Dim
	s := &solver{
		p: p, noise: env.Noise, rng: env.Rand("steps"), lower: lower, upper: upper,
		alpha: min(p.Alpha, p.AlphaMax), tau: max(p.Tau, p.TauMin), sigma: max(p.Sigma, p.SigmaMin),
		x: mat.NewDense(p.Particles, d, nil), consensus: make([]float64, d),
		stagnation: stagnation{best: math.Inf(1)},
	}
	start := env.Rand("start")
	for i := range p.Particles {
		for j, row := 0, s.x.RawRowView(i); j < d; j++ {
			row[j] = lower[j] + (upper[j]-lower[j])*start.Float64()
		}
	}
	n := p.Particles
	s.moving = s.x
	if 0 < p.Batch && p.Batch < n {
		n = p.Batch
		s.moving = mat.NewDense(n, d, nil)
		s.batch = newBatch(p.Particles, n, env.Rand("batches"))
	}
	s.drift, s.xi, s.scatter = mat.NewDense(n, d, nil), mat.NewDense(n, d, nil), mat.NewDense(n, d, nil)
	s.weights = make([]float64, n)
	return s, nil
}

// Ask implements core.Solver.
func (s *solver) Ask(ctx context.Context) (*mat.Dense, error) {
	if s.reason != "" {
		return nil, nil
	}
	if s.told {
		if err := s.step(ctx); err != nil {
			return nil, err
		}
		s.told = false
	}
	if s.batch != nil && s.batch.chosen == nil { // the start
		return s.x, nil
	}
	return s.moving, nil
}

// Tell implements core.Solver.
func (s *solver) Tell(_ context.Context, f []float64) error {
	least := slices.Min(f)
	if s.batch != nil {
		s.batch.tell(f)
		s.batch.choose()
		f = s.batch.gather(s.moving, s.x)
	}
	if s.p.Schedule == "ess" {
		s.alpha = essAlpha(f, s.p.ESSFraction*float64(len(f)), s.p.AlphaMax)
	}
	softmax(s.weights, f, s.alpha)
	mean(s.consensus, s.weights, s.moving)
	s.told = true

	if s.p.Collapse > 0 && farthest(s.x, s.consensus) <= s.p.Collapse {
		s.reason = "collapse"
	} else if s.p.Stagnation > 0 && s.stagnation.after(least, s.p.StagnantTol) >= s.p.Stagnation {
		s.reason = "stagnation"
	}
	return nil
}

// Reason implements core.Explainer.
func (s *solver) Reason() string { return s.reason }

var _ core.Explainer = (*solver)(nil)

func (s *solver) step(ctx context.Context) error {
	for i := range s.weights {
		x, z := s.moving.RawRowView(i), s.drift.RawRowView(i)
		for j, c := range s.consensus {
			z[j] = x[j] - c
		}
	}
	kernel.Normals(s.xi.RawMatrix().Data, s.rng)
	if err := s.noise.Apply(ctx, s.scatter, s.drift, s.xi); err != nil {
		return err
	}
	x, z, noise := s.moving.RawMatrix().Data, s.drift.RawMatrix().Data, s.scatter.RawMatrix().Data
	step(x, z, noise, s.p.Drift*s.tau, s.sigma*math.Sqrt(s.tau), s.p.Clip)
	switch s.p.Bounds {
	case "clip":
		eachCoordinate(s.moving, s.lower, s.upper, clip)
	case "reflect":
		eachCoordinate(s.moving, s.lower, s.upper, reflect)
	}
	if s.batch != nil {
		s.batch.scatter(s.x, s.moving)
	}
	if s.p.Schedule == "multiply" {
		s.alpha = min(s.alpha*s.p.AlphaFactor, s.p.AlphaMax)
	}
	s.tau = max(s.tau*s.p.TauFactor, s.p.TauMin)
	s.sigma = max(s.sigma*s.p.SigmaFactor, s.p.SigmaMin)
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
