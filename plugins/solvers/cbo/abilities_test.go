package cbo

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

func anisotropic() core.Noise { return core.NewFactoredNoise(core.Factors{}) }

func tell(t testing.TB, s *solver, f []float64) {
	t.Helper()
	if err := s.Tell(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

// solve runs to the end, at most so many steps, and returns the reason.
func solve(t testing.TB, s *solver, f func(*mat.Dense) []float64, steps int) (string, int) {
	t.Helper()
	for k := range steps {
		x := ask(t, s)
		if x == nil {
			return s.Reason(), k
		}
		tell(t, s, f(x))
	}
	return "", steps
}

// The settings that stand for nothing change nothing, to the last bit.
func TestDefaultsAreThePapers(t *testing.T) {
	want := path(t, build(t, nil, environment(3, anisotropic(), 5)), 200)
	for _, values := range []map[string]any{
		{"batch": 50}, {"batch": 1000}, {"tau_factor": 1, "tau_min": 1e-9, "sigma_factor": 1, "sigma_min": 1e-9},
		{"stagnation": 10000, "collapse": 1e-300}, {"ess_fraction": 0.1}, {"bounds": "none"},
	} {
		if !slices.Equal(path(t, build(t, values, environment(3, anisotropic(), 5)), 200), want) {
			t.Errorf("%v changes the path", values)
		}
	}
}

// With noise a step multiplies the squared distance from the consensus point of
// before by (1 - tau)^2 + sigma^2 tau on average.
func TestSquaredDistancesOverManySteps(t *testing.T) {
	const particles, steps, tau, sigma = 4000, 40, 0.02, 1.5
	s := build(t, map[string]any{"particles": particles, "tau": tau, "sigma": sigma, "alpha": 0.1, "alpha_factor": 1},
		environment(1, anisotropic(), 11))
	var sum float64
	for range steps {
		x := ask(t, s)
		tell(t, s, sphere(x))
		c := s.consensus[0]
		squares := func() (sum float64) {
			for _, v := range x.RawMatrix().Data {
				sum += (v - c) * (v - c)
			}
			return sum
		}
		before := squares()
		x = ask(t, s)
		sum += math.Log(squares() / before)
	}
	// Heavy tails grow with the steps, hence the margin.
	if got, want := math.Exp(sum/steps), (1-tau)*(1-tau)+sigma*sigma*tau; math.Abs(got-want) > 0.01 {
		t.Errorf("squared distances change by %.4f a step, theory says %.4f", got, want)
	}
}

func TestDecay(t *testing.T) {
	s := build(t, map[string]any{"tau": 0.5, "tau_factor": 0.5, "tau_min": 0.1, "sigma": 8, "sigma_factor": 0.25, "sigma_min": 1}, environment(2, anisotropic(), 1))
	for _, want := range [][2]float64{{0.5, 8}, {0.25, 2}, {0.125, 1}, {0.1, 1}} {
		x := ask(t, s)
		if s.tau != want[0] || s.sigma != want[1] {
			t.Errorf("tau = %g, sigma = %g, want %v", s.tau, s.sigma, want)
		}
		tell(t, s, sphere(x))
	}
	// Without noise the steps are 1 - tau_k exactly.
	s = build(t, map[string]any{"tau": 0.5, "tau_factor": 0.5, "sigma": 0}, environment(1, anisotropic(), 1))
	before := spread(ask(t, s))
	path(t, s, 3)
	if got, want := spread(ask(t, s))/before, 0.5*0.75*0.875; math.Abs(got-want) > 1e-12 {
		t.Errorf("the spread shrinks by %g, want %g", got, want)
	}
}

func TestESSAlpha(t *testing.T) {
	f := make([]float64, 100)
	for i := range f {
		f[i] = 1e3 + math.Pow(1.1, float64(i))
	}
	w := make([]float64, len(f))
	for _, unit := range []float64{1, 1e-20, 1e30} {
		scaled := make([]float64, len(f))
		for i, v := range f {
			scaled[i] = unit * v
		}
		for _, share := range []float64{0.05, 0.5, 0.9} {
			alpha := essAlpha(scaled, share*100, math.Inf(1))
			softmax(w, scaled, alpha)
			var squares float64
			for _, v := range w {
				squares += v * v
			}
			if size := 1 / squares; math.Abs(size-share*100) > 0.01 {
				t.Errorf("values of size %g: effective sample size %g, want %g", unit, size, share*100)
			}
		}
	}
	inf := math.Inf(1)
	for name, test := range map[string]struct {
		f           []float64
		target      float64
		limit       float64
		least, most float64
	}{
		"at the limit":         {[]float64{1, 1 + 1e-9}, 1.5, 100, 100, 100},
		"all the same":         {[]float64{2, 2, 2}, 1.5, 100, 100, 100},
		"nothing finite":       {[]float64{inf, inf}, 1, 100, 100, 100},
		"too many infinite":    {[]float64{1, 3, inf, inf}, 3, 100, 5e-10, 5e-10},
		"more best than aimed": {[]float64{1, 1, 1, 2}, 2, 100, 100, 100},
		"all of them":          {[]float64{1, 2, 3}, 3, 100, 0, 1e-8},
		"extreme":              {[]float64{-1e308, 1e308, 0}, 1.5, 1e5, 1e-310, 1e-307},
	} {
		if got := essAlpha(test.f, test.target, test.limit); !(got >= test.least && got <= test.most) {
			t.Errorf("%s: %g", name, got)
		}
	}
}

func TestESSSchedule(t *testing.T) {
	s := build(t, map[string]any{"alpha_schedule": "ess", "ess_fraction": 0.2, "sigma": 1}, environment(3, anisotropic(), 1))
	for k := range 300 {
		tell(t, s, sphere(ask(t, s)))
		var squares float64
		for _, v := range s.weights {
			squares += v * v
		}
		if size := 1 / squares; s.alpha < 1e5 && math.Abs(size-10) > 0.01 {
			t.Fatalf("step %d: effective sample size %g with alpha = %g", k, size, s.alpha)
		}
	}
	if f := slices.Min(sphere(ask(t, s))); f > 1e-2 {
		t.Errorf("best value %g", f)
	}
}

func TestStagnation(t *testing.T) {
	steady := func(x *mat.Dense) []float64 { return make([]float64, x.RawMatrix().Rows) }
	if reason, steps := solve(t, build(t, map[string]any{"stagnation": 7}, environment(2, anisotropic(), 1)), steady, 100); reason != "stagnation" || steps != 8 {
		t.Errorf("a constant function: ended with %q after %d steps", reason, steps)
	}
	infinite := func(x *mat.Dense) []float64 { return slices.Repeat([]float64{math.Inf(1)}, x.RawMatrix().Rows) }
	if reason, steps := solve(t, build(t, map[string]any{"stagnation": 7}, environment(2, anisotropic(), 1)), infinite, 100); reason != "stagnation" || steps != 7 {
		t.Errorf("no finite value: ended with %q after %d steps", reason, steps)
	}
	// Every step is better by 1.
	falling := func() func(*mat.Dense) []float64 {
		v := 0.0
		return func(x *mat.Dense) []float64 { v--; return slices.Repeat([]float64{v}, x.RawMatrix().Rows) }
	}
	for tol, want := range map[float64]string{0: "", 0.9: "", 2.5: "", 7: "stagnation"} {
		s := build(t, map[string]any{"stagnation": 7, "stagnation_tolerance": tol}, environment(2, anisotropic(), 1))
		if reason, _ := solve(t, s, falling(), 100); reason != want {
			t.Errorf("tolerance %g: ended with %q", tol, reason)
		}
	}
	if reason, steps := solve(t, build(t, nil, environment(2, anisotropic(), 1)), steady, 500); reason != "" || steps != 500 {
		t.Errorf("off: ended with %q after %d steps", reason, steps)
	}
}

func TestCollapse(t *testing.T) {
	s := build(t, map[string]any{"collapse": 0.01, "sigma": 0, "tau": 0.1}, environment(2, anisotropic(), 1))
	if reason, _ := solve(t, s, sphere, 1000); reason != "collapse" {
		t.Fatalf("ended with %q", reason)
	}
	if r := farthest(s.x, s.consensus); r > 0.01 || r < 0.005 {
		t.Errorf("the farthest particle is %g away", r)
	}
	if x := ask(t, s); x != nil {
		t.Error("asks after the end")
	}
}

func TestReflectAndClip(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct{ v, l, u, clipped, reflected float64 }{
		{0.5, 0, 1, 0.5, 0.5}, {-0.25, 0, 1, 0, 0.25}, {1.25, 0, 1, 1, 0.75}, {2.25, 0, 1, 1, 0.25}, {-3.5, 0, 1, 0, 0.5},
		{5, -2, 3, 3, 1}, {-2, -2, 3, -2, -2}, {3, -2, 3, 3, 3}, {7, 4, 4, 4, 4}, {-1e8, 0, 1, 0, 0},
		{-5, 0, inf, 0, 0}, {5, 0, inf, 5, 5},
	} {
		if got := clip(test.v, test.l, test.u); got != test.clipped {
			t.Errorf("clip(%g, %g, %g) = %g", test.v, test.l, test.u, got)
		}
		if got := reflect(test.v, test.l, test.u); math.Abs(got-test.reflected) > 1e-15 {
			t.Errorf("reflect(%g, %g, %g) = %g", test.v, test.l, test.u, got)
		}
	}
}

func TestBounds(t *testing.T) {
	for _, bounds := range []string{"none", "clip", "reflect"} {
		env := environment(3, anisotropic(), 1)
		s := build(t, map[string]any{"bounds": bounds}, env)
		outside, atWall := 0, 0
		for range 50 {
			x := ask(t, s)
			for i := range s.p.Particles {
				for j, v := range x.RawRowView(i) {
					if v < env.Lower[j] || v > env.Upper[j] {
						outside++
					} else if v == env.Lower[j] || v == env.Upper[j] {
						atWall++
					}
				}
			}
			tell(t, s, sphere(x))
		}
		if (outside > 0) != (bounds == "none") || (atWall > 0) != (bounds == "clip") {
			t.Errorf("%s: %d coordinates outside, %d at a wall", bounds, outside, atWall)
		}
	}
}

// In a batch step only the chosen particles move and are evaluated, the
// consensus is theirs, and values stay with their particles.
func TestBatch(t *testing.T) {
	const n, size = 10, 4
	s := build(t, map[string]any{"particles": n, "batch": size, "alpha": 2.0}, environment(2, anisotropic(), 3))
	x := ask(t, s)
	if rows, _ := x.Dims(); rows != n {
		t.Fatalf("at first %d particles are evaluated", rows)
	}
	tell(t, s, sphere(x))
	moved := make([]int, n)
	for k := range 40 {
		before := mat.DenseCopyOf(s.x)
		x := ask(t, s)
		if rows, _ := x.Dims(); rows != size {
			t.Fatalf("%d particles are evaluated", rows)
		}
		// The consensus by hand: of the chosen, at their places before the step.
		w, c := make([]float64, size), make([]float64, 2)
		was := mat.NewDense(size, 2, nil)
		for i, p := range s.batch.chosen {
			was.SetRow(i, before.RawRowView(p))
		}
		softmax(w, sphere(was), 2*math.Pow(1.005, float64(k)))
		mean(c, w, was)
		for j := range c {
			if math.Abs(c[j]-s.consensus[j]) > 1e-9*(1+math.Abs(c[j])) {
				t.Fatalf("step %d: consensus %v, want %v", k, s.consensus, c)
			}
		}
		for p := range n {
			i := slices.Index(s.batch.chosen, p)
			if i < 0 && !slices.Equal(s.x.RawRowView(p), before.RawRowView(p)) {
				t.Errorf("particle %d has moved", p)
			}
			if i >= 0 {
				moved[p]++
				if !slices.Equal(s.x.RawRowView(p), x.RawRowView(i)) {
					t.Errorf("particle %d is not where it was evaluated", p)
				}
			}
		}
		tell(t, s, sphere(x))
		if !slices.Equal(s.batch.f, sphere(s.x)) {
			t.Fatal("values and particles do not belong together")
		}
	}
	// 20 orders of 10 with 8 used from each.
	if slices.Min(moved) < 8 || slices.Max(moved) > 20 {
		t.Errorf("the particles have moved %v times", moved)
	}
}

func TestBatchSolves(t *testing.T) {
	s := build(t, map[string]any{"batch": 10, "sigma": 3.0}, environment(3, anisotropic(), 2))
	solve(t, s, sphere, 5000)
	if f := slices.Min(sphere(s.x)); f > 1e-4 {
		t.Errorf("best value %g", f)
	}
}

// Half of the domain without values, or a budget below the number of particles,
// is nothing special.
func TestHardObjectives(t *testing.T) {
	half := func(x *mat.Dense) []float64 {
		f := sphere(x)
		for i := range f {
			if x.At(i, 0) > 0.5 {
				f[i] = math.Inf(1)
			}
		}
		return f
	}
	for _, values := range []map[string]any{nil, {"alpha_schedule": "ess"}, {"batch": 7}, {"bounds": "reflect"}} {
		s := build(t, values, environment(2, anisotropic(), 2))
		solve(t, s, half, 300)
		for _, v := range s.x.RawMatrix().Data {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%v: a particle at %g", values, v)
			}
		}
	}
}

// A step makes no garbage, whatever is switched on.
func TestAbilitiesDoNotAllocate(t *testing.T) {
	for _, values := range []map[string]any{
		nil, {"alpha_schedule": "ess"}, {"batch": 20}, {"bounds": "clip"}, {"bounds": "reflect"},
		{"stagnation": 1 << 40, "collapse": 1e-300},
	} {
		step := stepper(t, values, 10)
		if allocs := testing.AllocsPerRun(100, step); allocs != 0 {
			t.Errorf("%v: %g allocations a step", values, allocs)
		}
	}
}

// stepper returns a step in d dimensions, with values that cost nothing.
func stepper(t testing.TB, values map[string]any, d int) func() {
	s := build(t, values, environment(d, anisotropic(), 1))
	f := make([]float64, s.p.Particles)
	for i := range f {
		f[i] = float64(i*i%17) / 17
	}
	step := func() {
		x, err := s.Ask(t.Context())
		if err == nil {
			err = s.Tell(t.Context(), f[:x.RawMatrix().Rows])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	step()
	step()
	return step
}

func BenchmarkStep(b *testing.B) {
	for _, d := range []int{10, 40, 100, 200, 400} {
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
			step := stepper(b, nil, d)
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
		})
	}
}
