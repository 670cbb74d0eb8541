package joint

import (
	"math"
	"testing"

	"github.com/unbraid/unbraid/plugins/estimators/internal/testbed"
	"gonum.org/v1/gonum/mat"
)

// example returns n matrices Wᵀ D_k W with random diagonals of both signs.
func example(w *mat.Dense, n int, seed uint64) []*mat.Dense {
	rng := generator(seed)
	_, m := w.Dims()
	hs := make([]*mat.Dense, n)
	for k := range hs {
		d := make([]float64, m)
		for i := range d {
			d[i] = rng.NormFloat64()
		}
		hs[k] = congruence(w, mat.NewDiagDense(m, d))
	}
	return hs
}

func ones(n, m int) [][]float64 {
	trust := make([][]float64, n)
	for k := range trust {
		trust[k] = make([]float64, m)
		for i := range trust[k] {
			trust[k][i] = 1
		}
	}
	return trust
}

// rowsOf returns the unit rows of the inverse of c.
func rowsOf(t *testing.T, c *mat.Dense) *mat.Dense {
	t.Helper()
	var w mat.Dense
	if err := w.Inverse(c); err != nil {
		t.Fatal(err)
	}
	m, _ := w.Dims()
	for i := range m {
		testbed.Normalise(w.RawRowView(i))
	}
	return &w
}

func TestPencilIsExactWithoutErrors(t *testing.T) {
	const m = 15
	w := testbed.Mix(m, m, generator(1))
	for n := 2; n <= 4; n++ {
		c := pencil(example(w, n, 2), generator(3))
		if c == nil {
			t.Fatal("no directions")
		}
		if _, worst := testbed.Score(w, rowsOf(t, c)); worst > 1e-6 {
			t.Errorf("%d matrices: a row is off by %.1e", n, worst)
		}
	}
	if c := pencil([]*mat.Dense{mat.NewDense(2, 2, nil), mat.NewDense(2, 2, nil)}, generator(1)); c != nil {
		t.Error("directions of nothing")
	}
}

func TestGaussNewtonRemovesErrors(t *testing.T) {
	const m = 15
	rng := generator(4)
	w := testbed.Mix(m, m, rng)
	hs := example(w, 3, 5)
	var c mat.Dense
	if err := c.Inverse(w); err != nil {
		t.Fatal(err)
	}
	e := identity(m)
	for i := range e.RawMatrix().Data {
		e.RawMatrix().Data[i] += 0.02 * rng.NormFloat64()
	}
	c.Mul(&c, e)
	for k := range hs {
		hs[k] = congruence(&c, hs[k])
	}
	if off := gaussNewton(&c, hs, ones(3, m), 40); off > 1e-10 {
		t.Errorf("off-diagonal part %.1e", off)
	}
	if _, worst := testbed.Score(w, rowsOf(t, &c)); worst > 1e-8 {
		t.Errorf("a row is off by %.1e", worst)
	}
}

// TestSolvePairsIsLeastSquares compares with a general least-squares solver.
func TestSolvePairsIsLeastSquares(t *testing.T) {
	const m, n = 4, 5
	rng := generator(6)
	ms := make([]*mat.Dense, n)
	trust := ones(n, m)
	for k := range ms {
		g := mat.NewDense(m, m, nil)
		for i := range g.RawMatrix().Data {
			g.RawMatrix().Data[i] = rng.NormFloat64()
		}
		ms[k] = mat.DenseCopyOf(symmetric(g))
		for i := range m {
			trust[k][i] = 0.5 + rng.Float64()
		}
	}
	e := mat.NewDense(m, m, nil)
	solvePairs(e, ms, trust)
	for i := range m {
		for j := i + 1; j < m; j++ {
			a, b := mat.NewDense(n, 2, nil), mat.NewVecDense(n, nil)
			for k := range n {
				weight := trust[k][i] * trust[k][j]
				a.SetRow(k, []float64{weight * ms[k].At(i, i), weight * ms[k].At(j, j)})
				b.SetVec(k, -weight*ms[k].At(i, j))
			}
			var x mat.VecDense
			if err := x.SolveVec(a, b); err != nil {
				t.Fatal(err)
			}
			if math.Abs(x.AtVec(0)-e.At(i, j)) > 1e-6 || math.Abs(x.AtVec(1)-e.At(j, i)) > 1e-6 {
				t.Errorf("pair %d %d: (%g, %g), want (%g, %g)", i, j, e.At(i, j), e.At(j, i), x.AtVec(0), x.AtVec(1))
			}
		}
	}
}

func TestGroups(t *testing.T) {
	got := groups(6, func(i, j int) bool { return (i+j)%5 == 0 && i > 0 })
	if len(got) != 2 || len(got[0]) != 2 || got[0][0] != 1 || got[0][1] != 4 || got[1][0] != 2 || got[1][1] != 3 {
		t.Errorf("%v", got)
	}
}

// BenchmarkGivenHessians is the work on five given Hessians at d = 100: a
// pencil and the Gauss-Newton iteration.
func BenchmarkGivenHessians(b *testing.B) {
	const m = 100
	hs := example(testbed.Mix(m, m, generator(7)), 5, 8)
	for b.Loop() {
		c := pencil(hs[:2], generator(9))
		ms := make([]*mat.Dense, len(hs))
		for k := range ms {
			ms[k] = congruence(c, hs[k])
		}
		gaussNewton(c, ms, ones(len(hs), m), 40)
	}
}
