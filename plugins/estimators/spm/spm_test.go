package spm

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/estimators/internal/draw"
	"github.com/unbraid/unbraid/plugins/estimators/internal/testbed"
	"github.com/unbraid/unbraid/plugins/hessians/central"
	"github.com/unbraid/unbraid/plugins/hessians/shared"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func generator(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

func estimate(t *testing.T, f core.Objective, d int, seed uint64, values map[string]any) *core.Structure {
	t.Helper()
	s, _, err := testbed.Run(f, d, 10_000_000, seed, central.Component(), Component(), map[string]any{"step": 1e-3}, values)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(s.Certificate); err != nil {
		t.Errorf("certificate: %v", err)
	}
	return s
}

// small holds settings that suit 10 dimensions: samples where the functions of
// the paper have their minima.
var small = map[string]any{"samples": 40, "radius": 6.0}

func TestRecovers(t *testing.T) {
	const d = 10
	for _, name := range testbed.Paper[:3] {
		for _, rank := range []string{"cutoff", "gap"} {
			rng := generator(1)
			w := testbed.Mix(d, d, rng)
			s := estimate(t, core.NewLinear(testbed.PaperFunction(name, d, 1, rng), w), d, 1,
				map[string]any{"samples": 40, "radius": 6.0, "rank": rank})
			within, worst := testbed.Score(w, s.W)
			if within < 1 || s.Certificate.Verdict != core.Separable || s.Certificate.Rank != d {
				t.Errorf("%s, rank by %s: %.0f %% of the rows, worst %.1e, %+v", name, rank, 100*within, worst, s.Certificate)
			}
		}
	}
}

func TestFewerRowsThanDimensions(t *testing.T) {
	const m, d = 4, 12
	rng := generator(2)
	w := testbed.Mix(m, d, rng)
	f := core.NewLinear(testbed.PaperFunction("rastrigin", m, 1, rng), w)
	for _, complete := range []bool{false, true} {
		s := estimate(t, f, d, 2, map[string]any{"samples": 30, "radius": 6.0, "rank": "gap", "complete": complete})
		rows, _ := s.W.Dims()
		c := s.Certificate
		if within, worst := testbed.Score(w, s.W); within < 1 || c.Rank != m || c.Verdict != core.Separable {
			t.Errorf("%.0f %% of the rows, worst %.1e, %+v", 100*within, worst, c)
		}
		if want := map[bool]int{false: m, true: d}[complete]; rows != want || len(c.Unidentified) != want-m {
			t.Errorf("complete %t: %d rows, %+v", complete, rows, c)
		}
	}
}

func TestQuadraticIsSaidToBeHopeless(t *testing.T) {
	const d = 8
	rng := generator(3)
	w := testbed.Mix(d, d, rng)
	f := core.NewLinear(testbed.PaperFunction("squared-norm", d, 1, rng), w)
	s := estimate(t, f, d, 3, small)
	if c := s.Certificate; c.Verdict != core.NotSeparable || c.Rank != 0 || !strings.Contains(strings.Join(c.Notes, " "), "joint") {
		t.Errorf("%+v", c)
	}
	_, _, err := testbed.Run(f, d, 1_000_000, 3, shared.Component(), Component(), nil, map[string]any{"samples": 20, "complete": false})
	if !errors.Is(err, core.ErrUnsuitable) {
		t.Errorf("without completion: %v", err)
	}
}

func TestNotSeparable(t *testing.T) {
	const d = 8
	w := testbed.Orthogonal(d, generator(4))
	rosenbrock := testbed.Function(func(z []float64) float64 {
		var sum float64
		for j := range d - 1 {
			a, b := z[j], z[j+1]
			sum += 100*(b-a*a)*(b-a*a) + (1-a)*(1-a)
		}
		return sum
	})
	if s := estimate(t, core.NewLinear(rosenbrock, w), d, 4, small); s.Certificate.Verdict != core.NotSeparable {
		t.Errorf("%+v", s.Certificate)
	}
}

func TestErrors(t *testing.T) {
	const d = 6
	nan := func([]float64) float64 { return math.NaN() }
	constant := func([]float64) float64 { return 1 }
	rastrigin := testbed.Sum(d, 0, generator(5), testbed.Rastrigin)
	for name, c := range map[string]struct {
		f      testbed.Function
		budget int
		want   error
	}{
		"NaN":      {nan, 1_000_000, core.ErrUnsuitable},
		"constant": {constant, 1_000_000, core.ErrUnsuitable},
		"budget":   {rastrigin, 150*43 - 1, core.ErrBudget},
	} {
		_, queries, err := testbed.Run(c.f, d, c.budget, 5, shared.Component(), Component(), map[string]any{"step": 1e-3}, nil)
		if !errors.Is(err, c.want) || name == "budget" && queries > 0 {
			t.Errorf("%s: %v after %d queries", name, err, queries)
		}
	}
}

func TestSomeSamplesAreReplaced(t *testing.T) {
	const d = 6
	rng := generator(6)
	w := testbed.Orthogonal(d, rng)
	calls := 0
	f := testbed.PaperFunction("rastrigin", d, 1, rng)
	s := estimate(t, core.NewLinear(testbed.Function(func(z []float64) float64 {
		if calls++; calls == 500 || calls == 700 {
			return math.NaN()
		}
		return f(z)
	}), w), d, 6, small)
	if within, worst := testbed.Score(w, s.W); within < 1 {
		t.Errorf("%.0f %% of the rows, worst %.1e", 100*within, worst)
	}
}

func symmetric(d int, rng *rand.Rand) *mat.SymDense {
	h := mat.NewSymDense(d, nil)
	for i := range d {
		for j := i; j < d; j++ {
			h.SetSym(i, j, rng.NormFloat64())
		}
	}
	return h
}

func TestVectorisedMatrices(t *testing.T) {
	const d = 7
	rng := generator(7)
	a, b := symmetric(d, rng), symmetric(d, rng)
	va, vb := make([]float64, d*(d+1)/2), make([]float64, d*(d+1)/2)
	vectorise(va, a)
	vectorise(vb, b)
	var ab mat.Dense
	ab.Mul(a, b)
	if got, want := floats.Dot(va, vb), mat.Trace(&ab); math.Abs(got-want) > 1e-12 {
		t.Errorf("scalar product %g, want %g", got, want)
	}
	v := make([]float64, d)
	draw.Direction(v, rng)
	var want mat.VecDense
	want.MulVec(a, mat.NewVecDense(d, v))
	got := make([]float64, d)
	multiply(got, va, v)
	if !floats.EqualApprox(got, want.RawVector().Data, 1e-12) {
		t.Errorf("product %v, want %v", got, want.RawVector().Data)
	}
	outer := mat.NewSymDense(d, nil)
	outer.SymOuterK(1, mat.NewVecDense(d, v))
	vectorise(va, outer)
	vectoriseOuter(vb, v)
	if !floats.EqualApprox(va, vb, 1e-12) {
		t.Error("vectorised outer product differs")
	}
}

// span of vectorised v vᵀ with noise, as the basis of a search.
func exampleBasis(d int, seed uint64) (w, basis *mat.Dense) {
	rng := generator(seed)
	w = testbed.Mix(d, d, rng)
	stack := mat.NewDense(d+d/2, d*(d+1)/2, nil)
	rows, length := stack.Dims()
	outer := make([]float64, length)
	for k := range rows {
		for j := range d {
			vectoriseOuter(outer, w.RawRowView(j))
			floats.AddScaled(stack.RawRowView(k), rng.NormFloat64(), outer)
		}
	}
	basis, _, err := span(stack)
	if err != nil {
		panic(err)
	}
	return w, mat.DenseCopyOf(basis.Slice(0, d, 0, length))
}

// naiveSearch is the straightforward version: every start takes all steps, one
// vector at a time, with the basis as full matrices.
func naiveSearch(p params, basis *mat.Dense, d int, rng *rand.Rand) [][]float64 {
	rank, _ := basis.Dims()
	full := make([]*mat.Dense, rank)
	for r := range full {
		full[r] = mat.NewDense(d, d, nil)
		n := 0
		for i := range d {
			for j := i; j < d; j++ {
				v := basis.At(r, n)
				if i != j {
					v /= math.Sqrt2
				}
				full[r].Set(i, j, v)
				full[r].Set(j, i, v)
				n++
			}
		}
	}
	var found [][]float64
	for range p.Starts {
		v := make([]float64, d)
		draw.Direction(v, rng)
		for range p.Steps {
			x := mat.NewVecDense(d, v)
			g := make([]float64, d)
			for _, u := range full {
				var ux mat.VecDense
				ux.MulVec(u, x)
				floats.AddScaled(g, mat.Dot(x, &ux), ux.RawVector().Data)
			}
			floats.AddScaled(v, 2*p.Gamma, g)
			floats.Scale(1/floats.Norm(v, 2), v)
		}
		isNew := true
		for _, w := range found {
			isNew = isNew && math.Abs(floats.Dot(v, w)) < p.Cosine
		}
		if isNew && len(found) < d {
			found = append(found, v)
		}
	}
	return found
}

func defaults() params {
	return params{Starts: 800, Steps: 200, Gamma: 2, Cosine: 0.99, Level: 0.9}
}

func TestSearchAgreesWithNaive(t *testing.T) {
	const d = 12
	w, basis := exampleBasis(d, 8)
	p := defaults()
	p.Starts = 150
	for name, found := range map[string][][]float64{
		"naive": naiveSearch(p, basis, d, generator(9)),
		"fast":  (&searcher{p: p, d: d, basis: basis, want: d, rng: generator(9)}).run(),
	} {
		rows := mat.NewDense(len(found), d, nil)
		for i, v := range found {
			rows.SetRow(i, v)
		}
		if _, worst := testbed.Score(w, rows); worst > 1e-7 || len(found) != d {
			t.Errorf("%s: %d directions, worst %.1e", name, len(found), worst)
		}
	}
}

func TestRanks(t *testing.T) {
	values := []float64{100, 50, 20, 1e-4, 5e-5, 0}
	if got := rankByCutoff(values, 1e-3); got != 3 {
		t.Errorf("rank by cutoff %d", got)
	}
	if got := rankByGap(values, 5); got != 3 {
		t.Errorf("rank by gap %d", got)
	}
	if got := rankByGap([]float64{3, 2, 1}, 2); got != 1 && got != 2 {
		t.Errorf("rank by gap %d exceeds the dimension", got)
	}
	if got := rankByGap([]float64{0, 0}, 2); got != 0 {
		t.Errorf("rank %d of nothing", got)
	}
}

func TestCompletion(t *testing.T) {
	const d = 5
	w := [][]float64{{3, 0, 4, 0, 0}, {0, 1, 0, 0, 0}}
	for _, v := range w {
		testbed.Normalise(v)
	}
	w = complete(w, d, generator(10))
	if len(w) != d {
		t.Fatalf("%d rows", len(w))
	}
	for i := range w {
		for j := range max(i, 2) {
			if i > 1 && math.Abs(floats.Dot(w[i], w[j])) > 1e-12 {
				t.Errorf("rows %d and %d are not orthogonal", i, j)
			}
		}
	}
}

// The benchmarks compare the search with the straightforward version.
func BenchmarkSearch(b *testing.B) {
	const d = 40
	_, basis := exampleBasis(d, 11)
	b.Run("naive", func(b *testing.B) {
		for b.Loop() {
			naiveSearch(defaults(), basis, d, generator(12))
		}
	})
	b.Run("fast", func(b *testing.B) {
		for b.Loop() {
			(&searcher{p: defaults(), d: d, basis: basis, want: d, rng: generator(12)}).run()
		}
	})
}
