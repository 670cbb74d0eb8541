package cmaes

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func within(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*(1+math.Abs(want))) {
		t.Fatalf("%s: got %g, want %g", what, got, want)
	}
}

// naive is the update of the tutorial in plain matrix algebra.
type naive struct {
	*strategy
	mean, pathSigma, pathC *mat.VecDense
	cov                    *mat.SymDense
	sigma                  float64
	generation             int
}

func (a *naive) tell(y *mat.Dense, order []int) {
	n, _ := a.cov.Dims()
	var eig mat.EigenSym
	eig.Factorize(a.cov, true)
	var b, scaled, invRoot mat.Dense
	eig.VectorsTo(&b)
	scaled.CloneFrom(&b)
	for j, v := range eig.Values(nil) {
		for i := range n {
			scaled.Set(i, j, b.At(i, j)/math.Sqrt(v))
		}
	}
	invRoot.Mul(&scaled, b.T())

	step := mat.NewVecDense(n, nil)
	for i, w := range a.weights[:a.mu] {
		step.AddScaledVec(step, w, y.RowView(order[i]))
	}
	a.generation++
	a.mean.AddScaledVec(a.mean, a.sigma, step)
	var white mat.VecDense
	white.MulVec(&invRoot, step)
	a.pathSigma.ScaleVec(1-a.cSigma, a.pathSigma)
	a.pathSigma.AddScaledVec(a.pathSigma, math.Sqrt(a.cSigma*(2-a.cSigma)*a.muEff), &white)
	length := mat.Norm(a.pathSigma, 2)
	h := 0.0
	if length*length/(1-math.Pow(1-a.cSigma, float64(2*a.generation))) < float64(n)*(2+4/float64(n+1)) {
		h = 1
	}
	a.pathC.ScaleVec(1-a.cC, a.pathC)
	a.pathC.AddScaledVec(a.pathC, h*math.Sqrt(a.cC*(2-a.cC)*a.muEff), step)
	sum := 0.0
	for _, w := range a.weights {
		sum += w
	}
	a.cov.ScaleSym(1+a.c1*(1-h)*a.cC*(2-a.cC)-a.c1-a.cMu*sum, a.cov)
	a.cov.SymRankOne(a.cov, a.c1, a.pathC)
	for i, w := range a.weights {
		row := y.RowView(order[i])
		if w < 0 {
			white.MulVec(&invRoot, row)
			norm := mat.Norm(&white, 2)
			w *= float64(n) / (norm * norm)
		}
		a.cov.SymRankOne(a.cov, a.cMu*w, row)
	}
	a.sigma *= math.Exp(a.cSigma / a.dSigma * (length/a.chi - 1))
}

func TestUpdateAgainstNaive(t *testing.T) {
	for _, test := range []struct{ n, lambda int }{{1, 4}, {2, 6}, {5, 8}, {7, 31}, {4, 300}} {
		s := newStrategy(test.n, test.lambda, true)
		s.gap = 0 // decompose every time, as the naive twin does
		start, scale := make([]float64, test.n), make([]float64, test.n)
		for j := range start {
			start[j], scale[j] = 3, 1
		}
		lim := limits{generations: 1000, tolFacUpX: math.Inf(1), tolCondition: math.Inf(1), stagnation: 100, unit: 1}
		e := newEvolution(start, scale, 0.7, s, lim, nil)
		twin := &naive{strategy: s, sigma: 0.7, cov: mat.NewSymDense(test.n, nil),
			mean: mat.NewVecDense(test.n, nil), pathSigma: mat.NewVecDense(test.n, nil), pathC: mat.NewVecDense(test.n, nil)}
		for j := range test.n {
			twin.cov.SetSym(j, j, 1)
			twin.mean.SetVec(j, 3)
		}
		rng := rand.New(rand.NewPCG(3, uint64(test.n)))
		f := make([]float64, test.lambda)
		for range 30 {
			x := e.ask(rng)
			for k := range f {
				f[k] = ellipsoid(x.RawRowView(k))
			}
			e.update(f)
			twin.tell(e.y, e.order)
			within(t, "sigma", e.sigma, twin.sigma, 1e-8)
			for i := range test.n {
				within(t, "mean", e.mean[i], twin.mean.AtVec(i), 1e-8)
				for j := range i + 1 {
					within(t, "covariance", e.cov[i*test.n+j], twin.cov.At(i, j), 1e-8)
				}
			}
		}
		if e.stop != "" {
			t.Errorf("n = %d: stopped by %s", test.n, e.stop)
		}
	}
}

// The basis and the axes must belong to C whenever they are fresh.
func TestBasisRebuildsCovariance(t *testing.T) {
	const n = 6
	rng := rand.New(rand.NewPCG(5, 6))
	e := newEvolution(make([]float64, n), []float64{1, 1, 1, 1, 1, 1}, 1, newStrategy(n, 10, true), limits{tolCondition: 1e14}, nil)
	c := randomCovariance(n, 100, rng)
	copy(e.cov, elements(c))
	if condition := e.refreshBasis(); math.Abs(condition-100) > 1e-9 {
		t.Errorf("condition %g, want 100", condition)
	}
	for i := range n {
		for j := range n {
			var sum float64
			for k := range n {
				sum += e.basis[i*n+k] * e.axis[k] * e.axis[k] * e.basis[j*n+k]
			}
			within(t, "B D^2 B'", sum, c.At(i, j), 1e-12)
		}
	}
	e.cov[0] = -1
	if condition := e.refreshBasis(); !math.IsInf(condition, 1) {
		t.Errorf("an indefinite covariance has condition %g, want +Inf", condition)
	}
}

func TestFoldInto(t *testing.T) {
	const l, u = -2.0, 3.0
	b := newBoxMap([]float64{l}, []float64{u})
	fold := func(x float64) float64 { return foldInto(x, l, u, b.lowerMargin[0], b.upperMargin[0]) }
	low, high := l-b.lowerMargin[0], u+b.upperMargin[0]
	period := 2 * (high - low)
	previous := fold(-20)
	for x := -20.0; x < 20; x += 1e-3 {
		y := fold(x)
		switch {
		case y < l || y > u:
			t.Fatalf("%g is mapped to %g, outside of [%g, %g]", x, y, l, u)
		case x >= l+b.lowerMargin[0] && x <= u-b.upperMargin[0] && y != x:
			t.Fatalf("%g is mapped to %g, should stay", x, y)
		case math.Abs(y-previous) > 1.001e-3:
			t.Fatalf("a jump at %g", x)
		}
		within(t, "a period on", fold(x+period), y, 1e-9)
		within(t, "reflected", fold(2*high-x), y, 1e-9)
		previous = y
	}
	for _, x := range []float64{1e300, -1e300, math.MaxFloat64, l, u} {
		if y := fold(x); !(y >= l && y <= u) {
			t.Errorf("%g is mapped to %g", x, y)
		}
	}
}

func TestLimitSpread(t *testing.T) {
	b := newBoxMap([]float64{0, 0}, []float64{3, 30})
	cov := []float64{4, 0, 1, 4} // the standard deviations are 2 and 2
	if !b.limitSpread(cov, []float64{1, 1}, 1) {
		t.Fatal("nothing was limited")
	}
	for i, want := range map[int]float64{0: 1, 2: 0.5, 3: 4} {
		within(t, "covariance", cov[i], want, 1e-15)
	}
	if b.limitSpread(cov, []float64{1, 1}, 1) {
		t.Error("limited twice")
	}
}

// Around 1e17 steps of size 1 are lost in rounding.
func TestNoEffect(t *testing.T) {
	lim := limits{generations: 1000, tolFacUpX: 1e3, tolCondition: 1e14, stagnation: 100, unit: 1}
	e := newEvolution([]float64{0, 1e17}, []float64{1, 1}, 1, newStrategy(2, 6, true), lim, nil)
	e.ask(rand.New(rand.NewPCG(1, 2)))
	e.update([]float64{1, 2, 3, 4, 5, 6})
	if e.stop != "noeffectcoord" {
		t.Errorf("stopped by %q", e.stop)
	}
	for axis, want := range []bool{false, true} {
		if got := e.axisHasNoEffect(axis); got != want {
			t.Errorf("axis %d without effect: %v, want %v", axis, got, want)
		}
	}
}

// pycma decomposes this often with its default populations.
func TestLaziness(t *testing.T) {
	for n, every := range map[int]int{10: 1, 40: 1, 100: 2, 200: 3} {
		e := newSphereRun(n)
		f := make([]float64, e.lambda)
		rng := rand.New(rand.NewPCG(1, 2))
		for range 12 {
			x := e.ask(rng)
			for k := range f {
				f[k] = sphere(x.RawRowView(k))
			}
			e.update(f)
			if want := e.generation / every * every; e.decomposed != want {
				t.Errorf("n = %d: last decomposed in generation %d, want %d", n, e.decomposed, want)
			}
		}
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	e := newSphereRun(20)
	f := make([]float64, e.lambda)
	rng := rand.New(rand.NewPCG(1, 2))
	allocations := testing.AllocsPerRun(300, func() {
		x := e.ask(rng)
		for k := range f {
			f[k] = sphere(x.RawRowView(k))
		}
		e.update(f)
	})
	if allocations != 0 {
		t.Errorf("%g allocations a generation", allocations)
	}
}

func newSphereRun(n int) *evolution {
	start, scale := make([]float64, n), make([]float64, n)
	for j := range n {
		start[j], scale[j] = 3, 1
	}
	lim := limits{generations: 1e6, tolFacUpX: 1e3, tolCondition: 1e14, stagnation: 1e3, unit: 1}
	return newEvolution(start, scale, 1, newStrategy(n, int(defaultPopulation(n)), true), lim, nil)
}
