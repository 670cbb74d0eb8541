package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func normal(rng *rand.Rand, rows, cols int) *mat.Dense {
	m := mat.NewDense(rows, cols, nil)
	Normals(m.RawMatrix().Data, rng)
	return m
}

// shapes of x (n-by-d) and a (m-by-d): odd ones, and those at which a blocked
// multiplication changes its mind.
var shapes = []struct{ n, d, m int }{
	{1, 1, 1}, {1, 7, 3}, {3, 1, 5}, {2, 3, 2}, {5, 4, 1}, {7, 13, 11},
	{50, 100, 100}, {63, 65, 64}, {64, 64, 64}, {65, 65, 65}, {65, 129, 127},
	{130, 70, 193}, {193, 100, 10}, {200, 65, 66}, {300, 3, 2}, {2, 200, 257},
}

func TestMulTNaiveTwin(t *testing.T) {
	rng := newRand()
	for _, s := range shapes {
		x, a := normal(rng, s.n, s.d), normal(rng, s.m, s.d)
		dst := mat.NewDense(s.n, s.m, nil)
		for i := range dst.RawMatrix().Data {
			dst.RawMatrix().Data[i] = math.NaN() // what was there does not count
		}
		MulT(dst, x, a)
		for i := range s.n {
			for j := range s.m {
				var want, size float64
				for k := range s.d {
					want += x.At(i, k) * a.At(j, k)
					size += math.Abs(x.At(i, k) * a.At(j, k))
				}
				if got := dst.At(i, j); !(math.Abs(got-want) <= 1e-14*size) {
					t.Fatalf("%+v: entry %d, %d is %g, want %g", s, i, j, got, want)
				}
			}
		}
	}
}

// A row has the same value, bit for bit, in every batch.
func TestMulTRowsAreIndependent(t *testing.T) {
	rng := newRand()
	for _, s := range shapes {
		x, a := normal(rng, s.n, s.d), normal(rng, s.m, s.d)
		batch := mat.NewDense(s.n, s.m, nil)
		MulT(batch, x, a)
		for _, rows := range []int{1, 2, 3, 64, 100} {
			for i := 0; i+rows <= s.n; i += rows {
				part := mat.NewDense(rows, s.m, nil)
				MulT(part, mat.DenseCopyOf(x.Slice(i, i+rows, 0, s.d)), a)
				if !mat.Equal(part, batch.Slice(i, i+rows, 0, s.m)) {
					t.Fatalf("%+v: row %d and the %d after it differ from those in the whole batch", s, i, rows-1)
				}
			}
		}
	}
}

// Matrices that are views of larger ones work as well, and nothing around the
// destination is touched.
func TestMulTViews(t *testing.T) {
	rng := newRand()
	x, a, around := normal(rng, 9, 12), normal(rng, 8, 12), normal(rng, 9, 8)
	before := mat.DenseCopyOf(around)
	view := func(m *mat.Dense, i, k, j, l int) *mat.Dense { return m.Slice(i, k, j, l).(*mat.Dense) }
	want := mat.NewDense(4, 3, nil)
	MulT(want, mat.DenseCopyOf(view(x, 2, 6, 1, 11)), mat.DenseCopyOf(view(a, 5, 8, 1, 11)))
	MulT(view(around, 3, 7, 2, 5), view(x, 2, 6, 1, 11), view(a, 5, 8, 1, 11))
	if !mat.Equal(want, around.Slice(3, 7, 2, 5)) {
		t.Error("views give other values than copies")
	}
	view(before, 3, 7, 2, 5).Copy(want)
	if !mat.Equal(before, around) {
		t.Error("entries outside of the destination were changed")
	}
}

func TestMulTDoesNotAllocate(t *testing.T) {
	rng := newRand()
	for _, s := range shapes {
		x, a, dst := normal(rng, s.n, s.d), normal(rng, s.m, s.d), mat.NewDense(s.n, s.m, nil)
		if allocs := testing.AllocsPerRun(3, func() { MulT(dst, x, a) }); allocs != 0 {
			t.Errorf("%+v: %g allocations", s, allocs)
		}
	}
}

// The moments of 100000 draws, each within about six standard errors.
func TestNormals(t *testing.T) {
	v := make([]float64, 100_000)
	Normals(v, newRand())
	var moments [5]float64
	for _, x := range v {
		for p := range moments {
			moments[p] += math.Pow(x, float64(p)) / float64(len(v))
		}
	}
	for p, want := range []float64{1, 0, 1, 0, 3} {
		if math.Abs(moments[p]-want) > 0.02*(1+float64(p*p)/2) {
			t.Errorf("moment %d is %g, want about %g", p, moments[p], want)
		}
	}
}

func BenchmarkMulT(b *testing.B) {
	rng := newRand()
	for _, s := range []struct{ n, d int }{{50, 20}, {50, 100}, {500, 100}} {
		x, a, dst := normal(rng, s.n, s.d), normal(rng, s.d, s.d), mat.NewDense(s.n, s.d, nil)
		b.Run(fmt.Sprintf("n=%d/d=%d", s.n, s.d), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				MulT(dst, x, a)
			}
		})
	}
}
