package cmaes

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func randomCovariance(n int, condition float64, rng *rand.Rand) *mat.SymDense {
	g := mat.NewDense(n, n, nil)
	for i := range g.RawMatrix().Data {
		g.RawMatrix().Data[i] = rng.NormFloat64()
	}
	var qr mat.QR
	qr.Factorize(g)
	var q, scaled, c mat.Dense
	qr.QTo(&q)
	scaled.CloneFrom(&q)
	for j := range n {
		value := math.Pow(condition, float64(j)/float64(max(1, n-1)))
		for i := range n {
			scaled.Set(i, j, scaled.At(i, j)*value)
		}
	}
	c.Mul(&scaled, q.T())
	sym := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			sym.SetSym(i, j, (c.At(i, j)+c.At(j, i))/2)
		}
	}
	return sym
}

func elements(s *mat.SymDense) []float64 { return mat.DenseCopyOf(s).RawMatrix().Data }

func checkDecomposition(t *testing.T, s *mat.SymDense) {
	t.Helper()
	n := s.SymmetricDim()
	a, values := elements(s), make([]float64, n)
	if !newEigen(n).decompose(a, values) {
		t.Fatal("no convergence")
	}
	var reference mat.EigenSym
	if !reference.Factorize(s, false) {
		t.Fatal("the reference did not converge")
	}
	want := reference.Values(nil)
	size := math.Max(math.Abs(want[0]), math.Abs(want[n-1]))
	tolerance := 1e-15 * float64(n+10)
	got := slices.Sorted(slices.Values(values))
	for i := range want {
		if d := math.Abs(got[i] - want[i]); !(d <= tolerance*size) {
			t.Errorf("eigenvalue %d: got %g, want %g", i, got[i], want[i])
		}
	}
	v := mat.NewDense(n, n, a)
	var gram, av mat.Dense
	gram.Mul(v, v.T())
	av.Mul(v, s)
	for i := range n {
		for j := range n {
			want := 0.0
			if i == j {
				want = 1
			}
			if d := math.Abs(gram.At(i, j) - want); !(d <= tolerance) {
				t.Fatalf("vectors %d and %d have product %g", i, j, gram.At(i, j))
			}
			if d := math.Abs(av.At(i, j) - values[i]*v.At(i, j)); !(d <= tolerance*size) {
				t.Fatalf("vector %d is no eigenvector: residual %g", i, d)
			}
		}
	}
}

func TestDecomposeAgainstGonum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 4, 5, 10, 31, 64, 100} {
		for _, condition := range []float64{1, 1.01, 1e3, 1e6, 1e14} {
			t.Run(fmt.Sprintf("n=%d,condition=%g", n, condition), func(t *testing.T) {
				checkDecomposition(t, randomCovariance(n, condition, rng))
			})
		}
	}
}

func TestDecomposeSpecialMatrices(t *testing.T) {
	identity := mat.NewSymDense(7, nil)
	split := mat.NewSymDense(6, nil) // two blocks that do not see each other
	ones := mat.NewSymDense(8, nil)  // rank one
	huge := mat.NewSymDense(4, nil)
	small := mat.NewSymDense(4, nil)
	for i := range 8 {
		for j := range 8 {
			ones.SetSym(i, j, 1)
		}
	}
	for i := range 7 {
		identity.SetSym(i, i, 1)
	}
	for _, block := range []int{0, 3} {
		for i := range 3 {
			for j := range 3 {
				split.SetSym(block+i, block+j, float64(i*j+1))
			}
		}
	}
	for i := range 4 {
		for j := range i + 1 {
			huge.SetSym(i, j, 1e120/float64(i+j+1))
			small.SetSym(i, j, 1e-120/float64(i+j+1))
		}
	}
	for name, s := range map[string]*mat.SymDense{"identity": identity, "zero": mat.NewSymDense(5, nil), "split": split, "ones": ones, "huge": huge, "small": small} {
		t.Run(name, func(t *testing.T) { checkDecomposition(t, s) })
	}
}

// The scaled and shuffled rows must stand for what plain rotations give, also
// when the scales are at their limits.
func TestRotateAgainstNaive(t *testing.T) {
	const n, sweeps = 5, 200
	rng := rand.New(rand.NewPCG(1, 2))
	q, plain := make([]float64, n*n), make([]float64, n*n)
	scale, row := make([]float64, n), make([]int, n)
	for i := range n {
		size := math.Pow(1e100, float64(1-i%3))
		q[i*n+i], plain[i*n+i], scale[i], row[i] = 1/size, 1, size, i
	}
	cosines, sines := make([]float64, n), make([]float64, n)
	settled := false
	for range sweeps {
		for i := range n {
			sines[i], cosines[i] = math.Sincos(2 * math.Pi * rng.Float64())
		}
		rotate(q, scale, row, cosines, sines)
		for i := n - 2; i >= 0; i-- {
			for j := range n {
				low, high := plain[i*n+j], plain[(i+1)*n+j]
				plain[i*n+j] = cosines[i]*low - sines[i]*high
				plain[(i+1)*n+j] = sines[i]*low + cosines[i]*high
			}
		}
		settled = settled || slices.Contains(scale, 1)
	}
	if !settled {
		t.Error("the scales have stayed within their limits, the test does not test them")
	}
	for i, r := range row {
		for j := range n {
			within(t, "a rotated vector", scale[r]*q[r*n+j], plain[i*n+j], 1e-11)
		}
	}
}

func BenchmarkDecompose(b *testing.B) {
	for _, n := range []int{10, 40, 100, 200, 400} {
		s := randomCovariance(n, 10, rand.New(rand.NewPCG(1, 2)))
		full, a := elements(s), make([]float64, n*n)
		values, e := make([]float64, n), newEigen(n)
		b.Run(fmt.Sprintf("own/d=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				copy(a, full)
				e.decompose(a, values)
			}
		})
		b.Run(fmt.Sprintf("gonum/d=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var e mat.EigenSym
				e.Factorize(s, true)
			}
		})
	}
}
