package joint

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/estimators/internal/testbed"
	"github.com/unbraid/unbraid/plugins/hessians/central"
	"github.com/unbraid/unbraid/plugins/hessians/shared"
	"gonum.org/v1/gonum/mat"
)

func generator(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// estimate runs the estimator with automatic steps and checks that the
// certificate can be written as JSON.
func estimate(t *testing.T, f core.Objective, d int, seed uint64) (*core.Structure, int) {
	t.Helper()
	s, queries, err := testbed.Run(f, d, 1_000_000, seed, shared.Component(), Component(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(s.Certificate); err != nil {
		t.Errorf("certificate: %v", err)
	}
	return s, queries
}

func TestPaperFunctions(t *testing.T) {
	const d = 20
	for _, name := range testbed.Paper[:3] {
		for _, shift := range []float64{0, 2} {
			for seed := range uint64(2) {
				rng := generator(seed)
				w := testbed.Mix(d, d, rng)
				s, queries := estimate(t, core.NewLinear(testbed.PaperFunction(name, d, shift, rng), w), d, seed)
				within, worst := testbed.Score(w, s.W)
				if within < 1 || s.Certificate.Verdict != core.Separable || queries > 10*d*d {
					t.Errorf("%s shift %g seed %d: %.0f %% of the rows, worst %.1e, %d queries, %+v", name, shift, seed, 100*within, worst, queries, s.Certificate)
				}
			}
		}
	}
}

func TestWorksWithCentral(t *testing.T) {
	const d = 12
	rng := generator(1)
	w := testbed.Mix(d, d, rng)
	f := core.NewLinear(testbed.PaperFunction("rastrigin", d, 2, rng), w)
	for _, step := range []float64{0, 1e-3} {
		s, _, err := testbed.Run(f, d, 1_000_000, 1, central.Component(), Component(), map[string]any{"step": step}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if within, worst := testbed.Score(w, s.W); within < 1 {
			t.Errorf("step %g: %.0f %% of the rows, worst %.1e", step, 100*within, worst)
		}
	}
}

func TestQuadratic(t *testing.T) {
	const d = 20
	signs := func(j int, y float64) float64 { return float64(1-2*(j%2)) * y * y }
	for name, one := range map[string]func(int, float64) float64{
		"convex":     func(_ int, y float64) float64 { return y * y },
		"indefinite": signs,
	} {
		rng := generator(3)
		w := testbed.Mix(d, d, rng)
		s, queries := estimate(t, core.NewLinear(testbed.Sum(d, 2, rng, one), w), d, 3)
		if s.Certificate.Verdict != core.Quadratic || len(s.Certificate.Unidentified) != d || queries > 4*d*d {
			t.Errorf("%s: %d queries, %+v", name, queries, s.Certificate)
		}
		if off := offIdentity(w, s.Inverse); name == "convex" && off > 1e-6 {
			t.Errorf("off-diagonal entries of VᵀHV up to %g", off)
		}
	}
}

func TestQuadraticInSomeDirections(t *testing.T) {
	const d = 16
	rng := generator(4)
	w := testbed.Mix(d, d, rng)
	f := testbed.Sum(d, 2, rng, func(j int, y float64) float64 {
		if j < d/2 {
			return float64(j+1) * y * y
		}
		return testbed.Rastrigin(j, y)
	})
	s, _ := estimate(t, core.NewLinear(f, w), d, 4)
	if s.Certificate.Verdict != core.Separable || len(s.Certificate.Unidentified) != d/2 {
		t.Errorf("%+v", s.Certificate)
	}
	if within, worst := testbed.Score(mat.DenseCopyOf(w.Slice(d/2, d, 0, d)), s.W); within < 1 {
		t.Errorf("%.0f %% of the identifiable rows, worst %.1e", 100*within, worst)
	}
}

func TestFewerRowsThanDimensions(t *testing.T) {
	const d = 24
	for _, m := range []int{1, 2, 5, 23} {
		rng := generator(uint64(m))
		w := testbed.Mix(m, d, rng)
		s, _ := estimate(t, core.NewLinear(testbed.PaperFunction("rastrigin", m, 2, rng), w), d, uint64(m))
		within, worst := testbed.Score(w, s.W)
		if within < 1 || s.Certificate.Rank != m || s.Certificate.Verdict != core.Separable {
			t.Errorf("rank %d: %.0f %% of the rows, worst %.1e, %+v", m, 100*within, worst, s.Certificate)
		}
	}
}

func TestHardButSeparable(t *testing.T) {
	const d = 20
	for name, f := range map[string]struct {
		one func(j int, y float64) float64
		w   func(rng *rand.Rand) *mat.Dense
	}{
		"condition 3000": {testbed.Rastrigin, func(rng *rand.Rand) *mat.Dense { return testbed.Conditioned(d, 3000, rng) }},
		"curvatures over six orders": {func(j int, y float64) float64 {
			return math.Pow(10, 6*float64(j)/d) * (y*y + math.Sin(3*y))
		}, nil},
		"large values": {func(j int, y float64) float64 { return testbed.Rastrigin(j, y) + 1e6/d }, nil},
		"indefinite":   {func(_ int, y float64) float64 { return math.Sin(2 * y) }, nil},
	} {
		rng := generator(5)
		if f.w == nil {
			f.w = func(rng *rand.Rand) *mat.Dense { return testbed.Mix(d, d, rng) }
		}
		w := f.w(rng)
		s, _ := estimate(t, core.NewLinear(testbed.Sum(d, 2, rng, f.one), w), d, 5)
		if within, worst := testbed.Score(w, s.W); within < 1 || s.Certificate.Verdict != core.Separable {
			t.Errorf("%s: %.0f %% of the rows, worst %.1e, %+v", name, 100*within, worst, s.Certificate)
		}
	}
}

func TestBlocks(t *testing.T) {
	const d = 16
	rng := generator(6)
	w := testbed.Mix(d, d, rng)
	ripples := testbed.Sum(d, 2, rng, testbed.Rastrigin)
	f := testbed.Function(func(z []float64) float64 {
		return ripples(z) + 40*math.Sin(z[0]*z[1]) + 40*math.Sin(z[2]*z[3])
	})
	s, _ := estimate(t, core.NewLinear(f, w), d, 6)
	c := s.Certificate
	if c.Verdict != core.Blocks || len(c.Blocks) != 2 || len(c.Blocks[0]) != 2 || len(c.Blocks[1]) != 2 {
		t.Fatalf("%+v", c)
	}
	if within, worst := testbed.Score(mat.DenseCopyOf(w.Slice(4, d, 0, d)), s.W); within < 1 {
		t.Errorf("%.0f %% of the rows outside the blocks, worst %.1e", 100*within, worst)
	}
	// The rows of a block span the same plane as the true ones.
	for b, block := range c.Blocks {
		var matched bool
		for _, first := range []int{0, 2} {
			plane := mat.NewDense(4, d, nil)
			for i := range 2 {
				plane.SetRow(i, s.W.RawRowView(block[i]))
				plane.SetRow(2+i, w.RawRowView(first+i))
			}
			var svd mat.SVD
			svd.Factorize(plane, mat.SVDNone)
			matched = matched || svd.Values(nil)[2] < 1e-4
		}
		if !matched {
			t.Errorf("block %d does not span a coupled plane", b)
		}
	}
}

func TestNotSeparable(t *testing.T) {
	const d = 16
	for name, f := range map[string]testbed.Function{
		"rosenbrock": func(z []float64) float64 {
			var sum float64
			for j := range d - 1 {
				a, b := z[j], z[j+1]
				sum += 100*(b-a*a)*(b-a*a) + (1-a)*(1-a)
			}
			return sum
		},
		"norm": func(z []float64) float64 { return mat.Norm(mat.NewVecDense(d, z), 2) },
		"largest": func(z []float64) float64 {
			return mat.Norm(mat.NewVecDense(d, z), math.Inf(1))
		},
		"kinks": func(z []float64) float64 { return mat.Norm(mat.NewVecDense(d, z), 1) },
	} {
		for seed := range uint64(3) {
			w := testbed.Orthogonal(d, generator(seed))
			s, queries := estimate(t, core.NewLinear(f, w), d, seed)
			if s.Certificate.Verdict != core.NotSeparable {
				t.Errorf("%s seed %d: %d queries, %+v", name, seed, queries, s.Certificate)
			}
		}
	}
}

func TestConstantAndLinear(t *testing.T) {
	const d = 10
	_, _, err := testbed.Run(testbed.Function(func([]float64) float64 { return 3 }), d, 100_000, 1, shared.Component(), Component(), nil, nil)
	if !errors.Is(err, core.ErrUnsuitable) {
		t.Errorf("constant: %v", err)
	}
	c := make([]float64, d)
	for j := range c {
		c[j] = float64(j + 1)
	}
	s, _ := estimate(t, testbed.Function(func(x []float64) float64 {
		return mat.Dot(mat.NewVecDense(d, x), mat.NewVecDense(d, c))
	}), d, 1)
	testbed.Normalise(c)
	if within, _ := testbed.Score(mat.NewDense(1, d, c), s.W); within < 1 || s.Certificate.Rank != 1 || s.Certificate.Verdict != core.Separable {
		t.Errorf("linear: %+v", s.Certificate)
	}
}

func TestOneLinearDirection(t *testing.T) {
	const d = 12
	rng := generator(7)
	w := testbed.Mix(d, d, rng)
	s, _ := estimate(t, core.NewLinear(testbed.Sum(d, 2, rng, func(j int, y float64) float64 {
		if j == 0 {
			return 3 * y
		}
		return testbed.Rastrigin(j, y)
	}), w), d, 7)
	if within, worst := testbed.Score(mat.DenseCopyOf(w.Slice(1, d, 0, d)), s.W); within < 1 || s.Certificate.Verdict != core.Separable {
		t.Errorf("%.0f %% of the curved rows, worst %.1e, %+v", 100*within, worst, s.Certificate)
	}
}

func TestValuesThatAreNotFinite(t *testing.T) {
	const d = 10
	rng := generator(8)
	w := testbed.Mix(d, d, rng)
	f := testbed.Sum(d, 0, rng, func(_ int, y float64) float64 {
		if y > 3 {
			return math.NaN()
		}
		return y*y*y*y + y*y
	})
	s, _ := estimate(t, core.NewLinear(f, w), d, 8)
	if within, worst := testbed.Score(w, s.W); within < 1 || s.Certificate.Verdict != core.Separable {
		t.Errorf("%.0f %% of the rows, worst %.1e, %+v", 100*within, worst, s.Certificate)
	}
	_, queries, err := testbed.Run(testbed.Function(func([]float64) float64 { return math.NaN() }), d, 100_000, 8, shared.Component(), Component(), nil, nil)
	if !errors.Is(err, core.ErrUnsuitable) || queries > 1000 {
		t.Errorf("NaN everywhere: %v after %d queries", err, queries)
	}
}

func TestBudgets(t *testing.T) {
	const d = 12
	rng := generator(9)
	w := testbed.Mix(d, d, rng)
	f := core.NewLinear(testbed.PaperFunction("rastrigin", d, 2, rng), w)
	for budget := 0; budget < 2000; budget += 171 {
		s, queries, err := testbed.Run(f, d, budget, 9, shared.Component(), Component(), nil, nil)
		switch {
		case err != nil && (!errors.Is(err, core.ErrBudget) || queries > 0 || !strings.Contains(err.Error(), "needs at least")):
			t.Errorf("budget %d: %v after %d queries", budget, err, queries)
		case err == nil && queries > budget:
			t.Errorf("budget %d: %d queries", budget, queries)
		case err == nil && len(s.Certificate.Notes) == 0:
			if within, _ := testbed.Score(w, s.W); within < 1 {
				t.Errorf("budget %d: a bad estimate without a note: %+v", budget, s.Certificate)
			}
		}
	}
}

func TestSmallDimensions(t *testing.T) {
	for d := 1; d <= 4; d++ {
		rng := generator(uint64(d))
		w := testbed.Mix(d, d, rng)
		s, _ := estimate(t, core.NewLinear(testbed.PaperFunction("rastrigin", d, 2, rng), w), d, uint64(d))
		if within, worst := testbed.Score(w, s.W); within < 1 || s.Certificate.Verdict != core.Separable {
			t.Errorf("d = %d: %.0f %% of the rows, worst %.1e, %+v", d, 100*within, worst, s.Certificate)
		}
	}
}

func TestSameSeedSameResult(t *testing.T) {
	const d = 10
	rng := generator(2)
	w := testbed.Mix(d, d, rng)
	f := core.NewLinear(testbed.PaperFunction("rastrigin", d, 2, rng), w)
	a, n := estimate(t, f, d, 2)
	b, m := estimate(t, f, d, 2)
	if n != m || !mat.Equal(a.W, b.W) {
		t.Error("two runs differ")
	}
}

func TestNoDomain(t *testing.T) {
	const d = 8
	rng := generator(2)
	w := testbed.Mix(d, d, rng)
	f := core.NewLinear(testbed.PaperFunction("rastrigin-like", d, 2, rng), w)
	env := &core.Env{Dim: d, Budget: 100_000, Stream: core.NewStream(1)}
	hc, ec := shared.Component(), Component()
	h, err := hc.Make(nil, env)
	if err != nil {
		t.Fatal(err)
	}
	e, err := ec.Make(nil, env)
	if err != nil {
		t.Fatal(err)
	}
	s, err := core.Estimate(context.Background(), core.NewMeter(f, d, 100_000, 0), h.(core.Hessian), e.(core.Estimator))
	if err != nil {
		t.Fatal(err)
	}
	if within, worst := testbed.Score(w, s.W); within < 1 {
		t.Errorf("%.0f %% of the rows, worst %.1e", 100*within, worst)
	}
}
