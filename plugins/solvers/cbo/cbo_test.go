package cbo

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

func TestSoftmaxNaiveTwin(t *testing.T) {
	for _, alpha := range []float64{0.1, 1, 30} {
		f := []float64{1, 0.5, 2, -1, 0.5}
		w := make([]float64, len(f))
		softmax(w, f, alpha)
		var sum float64
		for _, v := range f {
			sum += math.Exp(-alpha * v)
		}
		for i, v := range f {
			if want := math.Exp(-alpha*v) / sum; math.Abs(w[i]-want) > 1e-14 {
				t.Errorf("alpha = %g: weight %d is %g, want %g", alpha, i, w[i], want)
			}
		}
	}
}

func TestSoftmaxAtTheLimits(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		alpha   float64
		f, want []float64
	}{
		{1e5, []float64{1e308, 1e300, 1e307}, []float64{0, 1, 0}},
		{1e5, []float64{-1e308, 1e308}, []float64{1, 0}},
		{1, []float64{1e200, 1e200, 1e200, 1e200}, []float64{0.25, 0.25, 0.25, 0.25}},
		{100, []float64{inf, 3, inf, 3}, []float64{0, 0.5, 0, 0.5}},
		{100, []float64{inf, inf, inf, inf}, []float64{0.25, 0.25, 0.25, 0.25}},
		{inf, []float64{2, 1, 2, 1}, []float64{0, 0.5, 0, 0.5}},
		{1e-300, []float64{1, 2}, []float64{0.5, 0.5}},
	} {
		w := make([]float64, len(test.f))
		if softmax(w, test.f, test.alpha); !slices.Equal(w, test.want) {
			t.Errorf("alpha = %g, f = %v: %v, want %v", test.alpha, test.f, w, test.want)
		}
	}
}

func TestMean(t *testing.T) {
	x := mat.NewDense(3, 2, []float64{1, 2, 3, 4, math.Inf(1), math.NaN()})
	c := []float64{7, 7}
	if mean(c, []float64{0.25, 0.75, 0}, x); !slices.Equal(c, []float64{2.5, 3.5}) { // what has no weight does not count
		t.Errorf("got %v", c)
	}
}

func TestStepClips(t *testing.T) {
	inf := math.Inf(1)
	x := []float64{1, 0, 0, 0, 0, inf, -9}
	z := []float64{2, 0, 0, 0, inf, inf, 0}
	noise := []float64{3, 1e9, -1e9, math.NaN(), inf, 1, 0}
	step(x, z, noise, 0.5, 0.125, 10)
	if want := []float64{0.375, 10, -10, 10, 10, 10, -9}; !slices.Equal(x, want) {
		t.Errorf("got %v, want %v", x, want)
	}
}

// constant is noise that does not depend on anything.
type constant float64

func (c constant) Apply(_ context.Context, dst, _, _ *mat.Dense) error {
	dst.Apply(func(int, int, float64) float64 { return float64(c) }, dst)
	return nil
}

func environment(d int, noise core.Noise, seed uint64) *core.Env {
	lower, upper := make([]float64, d), make([]float64, d)
	for j := range d {
		lower[j], upper[j] = -1-float64(j), 3
	}
	return &core.Env{Dim: d, Stream: core.NewStream(seed), Lower: lower, Upper: upper, Noise: noise}
}

func build(t testing.TB, values map[string]any, env *core.Env) *solver {
	t.Helper()
	c := Component()
	made, err := c.Make(values, env)
	if err != nil {
		t.Fatal(err)
	}
	return made.(*solver)
}

func ask(t testing.TB, s *solver) *mat.Dense {
	t.Helper()
	x, err := s.Ask(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Two particles, 1 and 3, with weights 3/4 and 1/4: the consensus is 1.5.
func TestStepByHand(t *testing.T) {
	s := build(t, map[string]any{"particles": 2, "tau": 0.25, "sigma": 2, "drift": 0.5, "alpha": math.Log(3), "alpha_factor": 2, "alpha_max": 2},
		environment(1, constant(0.125), 0))
	x := ask(t, s)
	x.Set(0, 0, 1)
	x.Set(1, 0, 3)
	if err := s.Tell(t.Context(), []float64{7, 8}); err != nil {
		t.Fatal(err)
	}
	if math.Abs(s.consensus[0]-1.5) > 1e-15 {
		t.Errorf("consensus at %g", s.consensus[0])
	}
	// x - 0.5 * 0.25 (x - 1.5) + 2 sqrt(0.25) * 0.125
	x = ask(t, s)
	for i, want := range []float64{1 + 0.0625 + 0.125, 3 - 0.1875 + 0.125} {
		if math.Abs(x.At(i, 0)-want) > 1e-15 {
			t.Errorf("particle %d moved to %g, want %g", i, x.At(i, 0), want)
		}
	}
	if s.alpha != 2 {
		t.Errorf("alpha is %g after a step, its limit is 2", s.alpha)
	}
	before := mat.DenseCopyOf(x)
	if !mat.Equal(ask(t, s), before) {
		t.Error("particles move without being told of values")
	}
}

func TestAlphaStartsBelowItsLimit(t *testing.T) {
	if s := build(t, map[string]any{"alpha": 100, "alpha_max": 10}, environment(1, constant(0), 0)); s.alpha != 10 {
		t.Errorf("alpha starts at %g", s.alpha)
	}
}

// sphere is the squared norm about (1, ..., 1).
func sphere(x *mat.Dense) []float64 {
	rows, _ := x.Dims()
	f := make([]float64, rows)
	for i := range f {
		for _, v := range x.RawRowView(i) {
			f[i] += (v - 1) * (v - 1)
		}
	}
	return f
}

// path returns all positions over some steps.
func path(t testing.TB, s *solver, steps int) []float64 {
	t.Helper()
	var out []float64
	for range steps {
		x := ask(t, s)
		out = append(out, x.RawMatrix().Data...)
		if err := s.Tell(t.Context(), sphere(x)); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestPathIsThatOfTheStream(t *testing.T) {
	anisotropic := func() core.Noise { return core.NewFactoredNoise(core.Factors{}) }
	first := path(t, build(t, nil, environment(3, anisotropic(), 5)), 10)
	if !slices.Equal(first, path(t, build(t, nil, environment(3, anisotropic(), 5)), 10)) {
		t.Error("one stream, two paths")
	}
	if slices.Equal(first, path(t, build(t, nil, environment(3, anisotropic(), 6)), 10)) {
		t.Error("two streams, one path")
	}
	isotropic := path(t, build(t, nil, environment(3, core.NewFactoredNoise(core.Factors{Norm: true}), 5)), 2)
	if !slices.Equal(first[:150], isotropic[:150]) {
		t.Error("the noise model has changed where particles start")
	}
	if slices.Equal(first[150:300], isotropic[150:300]) {
		t.Error("the noise model has not changed the first step")
	}
}

func TestStartFillsTheDomain(t *testing.T) {
	env := environment(3, constant(0), 1)
	x := ask(t, build(t, map[string]any{"particles": 1000}, env))
	for j := range 3 {
		column := mat.Col(nil, j, x)
		low, high := slices.Min(column), slices.Max(column)
		width := env.Upper[j] - env.Lower[j]
		if low < env.Lower[j] || high > env.Upper[j] || high-low < 0.95*width {
			t.Errorf("coordinate %d starts within [%g, %g], the domain is [%g, %g]", j, low, high, env.Lower[j], env.Upper[j])
		}
	}
}

func spread(x *mat.Dense) float64 {
	data := x.RawMatrix().Data
	var mean, sum float64
	for _, v := range data {
		mean += v / float64(len(data))
	}
	for _, v := range data {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(data)))
}

// In one dimension a step multiplies every particle's distance from the
// consensus by 1 - tau + sigma sqrt(tau) xi. Without noise the spread shrinks by
// exactly 1 - tau a step, with little noise by about that.
func TestContraction(t *testing.T) {
	const steps, tau = 100, 0.02
	rate := func(sigma float64) float64 {
		s := build(t, map[string]any{"particles": 500, "tau": tau, "sigma": sigma, "alpha": 1.0, "alpha_factor": 1.0},
			environment(1, core.NewFactoredNoise(core.Factors{}), 3))
		before := spread(ask(t, s))
		path(t, s, steps)
		return math.Pow(spread(ask(t, s))/before, 1.0/steps)
	}
	if got := rate(0); math.Abs(got-(1-tau)) > 1e-12 {
		t.Errorf("without noise the spread shrinks by %g a step, want %g", got, 1-tau)
	}
	if got := rate(0.1); math.Abs(got-(1-tau)) > tau/4 {
		t.Errorf("with little noise the spread shrinks by %g a step, want about %g", got, 1-tau)
	}
}

// On average a step multiplies the squared distance by (1 - tau)^2 + sigma^2 tau.
func TestScattering(t *testing.T) {
	const tau, sigma = 0.02, 3.0
	s := build(t, map[string]any{"particles": 5000, "tau": tau, "sigma": sigma}, environment(1, core.NewFactoredNoise(core.Factors{}), 3))
	squares := func(x *mat.Dense) (sum float64) {
		for _, v := range x.RawMatrix().Data {
			sum += (v - s.consensus[0]) * (v - s.consensus[0])
		}
		return sum
	}
	x := ask(t, s)
	if err := s.Tell(t.Context(), sphere(x)); err != nil {
		t.Fatal(err)
	}
	before := squares(x)
	if got, want := squares(ask(t, s))/before, (1-tau)*(1-tau)+sigma*sigma*tau; math.Abs(got-want) > 0.08 {
		t.Errorf("squared distances grow by %g, want about %g", got, want)
	}
}

func TestFindsTheMinimum(t *testing.T) {
	s := build(t, nil, environment(4, core.NewFactoredNoise(core.Factors{}), 2))
	path(t, s, 1000)
	if f := slices.Min(sphere(ask(t, s))); f > 1e-4 {
		t.Errorf("best value %g after 1000 steps", f)
	}
}

func TestRefuses(t *testing.T) {
	noise := constant(0)
	full := environment(2, noise, 0)
	for name, test := range map[string]struct {
		values map[string]any
		env    *core.Env
		want   error
		text   string
	}{
		"no domain":         {nil, &core.Env{Dim: 2, Noise: noise}, core.ErrUnsuitable, "domain = [-5.0, 5.0]"},
		"no noise":          {nil, &core.Env{Dim: 2, Lower: full.Lower, Upper: full.Upper}, core.ErrUnsuitable, "needs a noise model"},
		"one particle":      {map[string]any{"particles": 1}, full, core.ErrParam, "particles: 1 is not possible, must be at least 2"},
		"no step":           {map[string]any{"tau": 0}, full, core.ErrParam, "tau: 0 is not possible"},
		"negative noise":    {map[string]any{"sigma": -1}, full, core.ErrParam, "sigma"},
		"no such parameter": {map[string]any{"sgima": 1}, full, core.ErrParam, "sgima: unknown key"},
	} {
		c := Component()
		if _, err := c.Make(test.values, test.env); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	reason := errors.New("no noise today")
	s := build(t, nil, environment(1, failing{reason}, 0))
	if err := s.Tell(t.Context(), sphere(ask(t, s))); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ask(t.Context()); !errors.Is(err, reason) {
		t.Errorf("noise that fails: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Apply(context.Context, *mat.Dense, *mat.Dense, *mat.Dense) error { return f.err }
