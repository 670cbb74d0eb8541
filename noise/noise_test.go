package noise

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/core/kernel"
	"gonum.org/v1/gonum/mat"
)

var all = []core.Component{Isotropic(), Anisotropic(), Transform(), Covariance(), HeavyTailed()}

func newRand() *rand.Rand { return core.NewStream(1).Rand() }

func normals(rng *rand.Rand, rows, cols int) *mat.Dense {
	m := mat.NewDense(rows, cols, nil)
	kernel.Normals(m.RawMatrix().Data, rng)
	return m
}

// structure returns m well-conditioned directions in d dimensions.
func structure(t testing.TB, rng *rand.Rand, m, d int) *core.Structure {
	t.Helper()
	w := normals(rng, m, d)
	w.Scale(0.15, w)
	for i := range m {
		w.Set(i, i, w.At(i, i)+1)
	}
	s, err := core.NewStructure(w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func build(t testing.TB, c core.Component, values map[string]any, env *core.Env) core.Noise {
	t.Helper()
	made, err := c.Make(values, env)
	if err != nil {
		t.Fatal(err)
	}
	return made.(core.Noise)
}

func apply(t testing.TB, n core.Noise, z, xi *mat.Dense) *mat.Dense {
	t.Helper()
	rows, cols := z.Dims()
	dst := mat.NewDense(rows, cols, nil)
	if err := n.Apply(t.Context(), dst, z, xi); err != nil {
		t.Fatal(err)
	}
	return dst
}

// Every model is a pure function, silent where there is no drift, and works
// for few and for many particles one after the other.
func TestPure(t *testing.T) {
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			const d = 7
			rng := newRand()
			env := &core.Env{Dim: d, Structure: structure(t, rng, d, d)}
			n := build(t, c, nil, env)
			for _, rows := range []int{1, 3, 7, 20, 3} {
				z, xi := normals(rng, rows, d), normals(rng, rows, d)
				zCopy, xiCopy := mat.DenseCopyOf(z), mat.DenseCopyOf(xi)
				first := apply(t, n, z, xi)
				if !mat.Equal(z, zCopy) || !mat.Equal(xi, xiCopy) {
					t.Fatal("the input was changed")
				}
				if mat.Norm(first, 2) == 0 || math.IsNaN(mat.Norm(first, 2)) {
					t.Fatalf("noise of size %g", mat.Norm(first, 2))
				}
				if !mat.Equal(first, apply(t, n, z, xi)) || !mat.Equal(first, apply(t, build(t, c, nil, env), z, xi)) {
					t.Fatal("the same input gave different noise")
				}
				z.Zero()
				if got := apply(t, n, z, xi); mat.Norm(got, 2) != 0 {
					t.Fatalf("no drift gave noise of size %g", mat.Norm(got, 2))
				}
			}
		})
	}
}

// The entries have mean zero and the covariance that the formula says.
func TestMoments(t *testing.T) {
	const d, draws = 3, 40000
	rng := newRand()
	s := structure(t, rng, d, d)
	z := mat.NewDense(2, d, []float64{1, -2, 0.5, 0.3, 0.4, 2})

	diagonal := func(v ...float64) *mat.Dense {
		m := mat.NewDense(d, d, nil)
		for i, x := range v {
			m.Set(i, i, x)
		}
		return m
	}
	var outer, transformed mat.Dense
	outer.Mul(z.T(), z)
	outer.Scale(0.5, &outer)
	var wz mat.VecDense
	wz.MulVec(s.W, z.RowView(0))
	squares := diagonal(wz.AtVec(0)*wz.AtVec(0), wz.AtVec(1)*wz.AtVec(1), wz.AtVec(2)*wz.AtVec(2))
	transformed.Product(s.Inverse, squares, s.Inverse.T())

	for _, test := range []struct {
		component core.Component
		values    map[string]any
		want      mat.Matrix // covariance of the first row
	}{
		{Isotropic(), nil, diagonal(5.25, 5.25, 5.25)},
		{Anisotropic(), nil, diagonal(1, 4, 0.25)},
		{Transform(), nil, &transformed},
		{Covariance(), nil, &outer},
		{HeavyTailed(), map[string]any{"dof": 10.0}, diagonal(1*1.25, 4*1.25, 0.25*1.25)},
	} {
		t.Run(test.component.Name, func(t *testing.T) {
			n := build(t, test.component, test.values, &core.Env{Dim: d, Structure: s})
			mean, second := mat.NewVecDense(d, nil), mat.NewDense(d, d, nil)
			for range draws {
				row := apply(t, n, z, normals(rng, 2, d)).RowView(0)
				mean.AddVec(mean, row)
				second.RankOne(second, 1, row, row)
			}
			mean.ScaleVec(1.0/draws, mean)
			second.Scale(1.0/draws, second)
			size := mat.Norm(test.want, 2)
			if mat.Norm(mean, 2) > 0.03*math.Sqrt(size) {
				t.Errorf("mean %v", mean.RawVector().Data)
			}
			second.Sub(second, test.want)
			if mat.Norm(second, 2) > 0.05*size {
				t.Errorf("the covariance is off by %v of %v", mat.Formatted(second), mat.Formatted(test.want))
			}
		})
	}
}

func TestTransformNeedsStructure(t *testing.T) {
	c := Transform()
	_, err := c.Make(nil, &core.Env{Dim: 3})
	if !errors.Is(err, core.ErrUnsuitable) || !strings.Contains(err.Error(), "estimator") {
		t.Errorf("without a structure: %v", err)
	}
	_, err = c.Make(nil, &core.Env{Dim: 4, Structure: structure(t, newRand(), 2, 3)})
	if !errors.Is(err, core.ErrShape) {
		t.Errorf("with a structure of other dimension: %v", err)
	}
}

// Consensus-based optimisation with transformed noise on f = g(W.) is, path by
// path, the one with anisotropic noise on g in the coordinates z = Wx.
func TestTransformFollowsAnisotropic(t *testing.T) {
	for _, size := range []struct{ m, d int }{{12, 12}, {8, 20}} {
		const particles, steps = 30, 50
		rng := newRand()
		s := structure(t, rng, size.m, size.d)
		transform := build(t, Transform(), nil, &core.Env{Dim: size.d, Structure: s})
		anisotropic := build(t, Anisotropic(), nil, &core.Env{Dim: size.m})

		g := func(z []float64) float64 { // Rastrigin's function
			var sum float64
			for _, v := range z {
				sum += (v-1)*(v-1) - 10*math.Cos(2*math.Pi*(v-1))
			}
			return sum
		}
		z := normals(rng, particles, size.m)
		x, image := mat.NewDense(particles, size.d, nil), mat.NewDense(particles, size.m, nil)
		kernel.MulT(x, z, s.Inverse)
		for step := range steps {
			// Both are given the same normals; the transform ignores what is
			// beyond the first m.
			xi := normals(rng, particles, size.d)
			kernel.MulT(image, x, s.W)
			cboStep(t, transform, x, values(image, g), xi)
			cboStep(t, anisotropic, z, values(z, g), mat.DenseCopyOf(xi.Slice(0, particles, 0, size.m)))

			kernel.MulT(image, x, s.W)
			image.Sub(image, z)
			if off := mat.Norm(image, 2) / mat.Norm(z, 2); !(off < 1e-8) {
				t.Fatalf("m = %d, d = %d: after step %d the paths are %g apart", size.m, size.d, step+1, off)
			}
		}
	}
}

func values(x *mat.Dense, g func([]float64) float64) []float64 {
	rows, _ := x.Dims()
	f := make([]float64, rows)
	for i := range f {
		f[i] = g(x.RawRowView(i))
	}
	return f
}

// cboStep moves the particles x with values f by one step of consensus-based
// optimisation.
func cboStep(t *testing.T, n core.Noise, x *mat.Dense, f []float64, xi *mat.Dense) {
	const alpha, tau, sigma = 1, 0.01, 2
	rows, cols := x.Dims()
	least := math.Inf(1)
	for _, v := range f {
		least = min(least, v)
	}
	consensus := make([]float64, cols)
	var total float64
	for i, v := range f {
		w := math.Exp(-alpha * (v - least))
		total += w
		for j, c := range x.RawRowView(i) {
			consensus[j] += w * c
		}
	}
	drift := mat.NewDense(rows, cols, nil)
	for i := range rows {
		for j, v := range x.RawRowView(i) {
			drift.Set(i, j, v-consensus[j]/total)
		}
	}
	scatter := apply(t, n, drift, xi)
	drift.Scale(-tau, drift)
	scatter.Scale(sigma*math.Sqrt(tau), scatter)
	x.Add(x, drift)
	x.Add(x, scatter)
}

// Both forms agree with the textbook one, also where the drift spans less
// than its rows or columns could.
func TestCovarianceTwin(t *testing.T) {
	rng := newRand()
	for _, size := range []struct{ n, d, rank int }{{1, 1, 1}, {1, 5, 1}, {5, 1, 1}, {20, 6, 6}, {6, 20, 6}, {20, 6, 2}, {6, 20, 2}, {9, 9, 9}} {
		z := mat.NewDense(size.n, size.d, nil)
		z.Mul(normals(rng, size.n, size.rank), normals(rng, size.rank, size.d))
		xi := normals(rng, size.n, size.d)
		n := build(t, Covariance(), nil, &core.Env{Dim: size.d})
		got := apply(t, n, z, xi)

		c := mat.NewSymDense(size.d, nil)
		c.SymOuterK(1/float64(size.n), z.T())
		var eigen mat.EigenSym
		if !eigen.Factorize(c, true) {
			t.Fatal("no eigenvalues")
		}
		var vectors, want mat.Dense
		eigen.VectorsTo(&vectors)
		roots := mat.NewDiagDense(size.d, eigen.Values(nil))
		for i := range size.d {
			roots.SetDiag(i, math.Sqrt(max(0, roots.At(i, i))))
		}
		want.Product(xi, &vectors, roots, vectors.T())
		scale := mat.Norm(&want, 2)
		want.Sub(&want, got)
		// The textbook's roots of eigenvalues that vanish are rounding errors of
		// about 1e-8.
		if off := mat.Norm(&want, 2); !(off <= 1e-7*scale) {
			t.Errorf("%+v: off by %g of %g", size, off, scale)
		}
		// Taken twice the square root is C itself.
		want.Mul(xi, c)
		scale = mat.Norm(&want, 2)
		want.Sub(&want, apply(t, n, z, got))
		if off := mat.Norm(&want, 2); !(off <= 1e-12*scale) {
			t.Errorf("%+v: the square is off by %g of %g", size, off, scale)
		}
	}
}

func TestCovarianceNotFinite(t *testing.T) {
	for _, rows := range []int{2, 5} {
		n := build(t, Covariance(), nil, &core.Env{Dim: 3})
		xi := normals(newRand(), rows, 3)
		for _, v := range []float64{math.NaN(), math.Inf(1), 1e200} {
			z := normals(newRand(), rows, 3)
			z.Set(1, 2, v)
			if err := n.Apply(t.Context(), mat.NewDense(rows, 3, nil), z, xi); !errors.Is(err, core.ErrNaN) {
				t.Errorf("%d rows with %g: %v", rows, v, err)
			}
		}
		z, fresh := normals(newRand(), rows, 3), build(t, Covariance(), nil, &core.Env{Dim: 3})
		if !mat.Equal(apply(t, n, z, xi), apply(t, fresh, z, xi)) {
			t.Error("an error has left its traces")
		}
	}
}

// Student's t has closed forms for one, two and four degrees of freedom.
func TestStudentClosedForms(t *testing.T) {
	closed := map[float64]func(centre, tail float64) float64{
		1: func(centre, tail float64) float64 {
			if centre < tail {
				return math.Tan(math.Pi / 2 * centre)
			}
			return 1 / math.Tan(math.Pi/2*tail)
		},
		2: func(centre, tail float64) float64 {
			return centre * math.Sqrt(2/(tail*(2-tail)))
		},
		4: func(centre, tail float64) float64 {
			// 2 sqrt(cos(a/3) / cos(a) - 1) with sin(a) = centre; in the middle
			// the difference is turned into a product.
			cosine := math.Sqrt(tail * (2 - tail))
			a := math.Atan2(centre, cosine)
			q := math.Cos(a/3)/cosine - 1
			if centre < 0.1 {
				q = 2 * math.Sin(2*a/3) * math.Sin(a/3) / cosine
			}
			return 2 * math.Sqrt(q)
		},
	}
	for nu, want := range closed {
		n := newHeavyTailed(nu)
		for i := 1; i < 5000; i++ {
			x := 0.00199 * float64(i) // beyond the end of the table
			w := want(math.Erf(x/math.Sqrt2), math.Erfc(x/math.Sqrt2))
			if got := n.student(x); math.Abs(got-w) > 1e-10*w || n.student(-x) != -got {
				t.Fatalf("nu = %g, xi = %g: %.17g, want %.17g", nu, x, got, w)
			}
		}
	}
}

// The table agrees with the map it stands for, at every degree of freedom.
func TestStudentTable(t *testing.T) {
	rng := newRand()
	for _, nu := range []float64{0.5, 0.8, 1.5, 2.5, 3, 5, 7.3, 10, 30, 50} {
		n := newHeavyTailed(nu)
		previous := 0.0
		for i := range 1000 {
			x := 0.0091 * (float64(i) + 0.99*rng.Float64())
			got, want := n.student(x), n.exact(x)
			if !(math.Abs(got-want) <= 1e-10*want) {
				t.Fatalf("nu = %g, xi = %g: %.17g, want %.17g", nu, x, got, want)
			}
			if got < previous {
				t.Fatalf("nu = %g: decreasing at xi = %g", nu, x)
			}
			previous = got
		}
		if got := n.student(0); got != 0 {
			t.Errorf("nu = %g: student(0) = %g", nu, got)
		}
		if got := n.student(math.NaN()); !math.IsNaN(got) {
			t.Errorf("nu = %g: student(NaN) = %g", nu, got)
		}
		if got := n.student(math.Inf(-1)); !math.IsInf(got, -1) {
			t.Errorf("nu = %g: student(-Inf) = %g", nu, got)
		}
	}
}

func TestBadParameters(t *testing.T) {
	for _, dof := range []any{0, -1, 0.4, 51, "nan", "inf", "three", true} {
		c := HeavyTailed()
		if _, err := c.Make(map[string]any{"dof": dof}, &core.Env{Dim: 2}); !errors.Is(err, core.ErrParam) {
			t.Errorf("dof = %v: %v", dof, err)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, c := range all {
		for _, rows := range []int{5, 20} {
			n, dst, z, xi := batch(t, c, rows, 10)
			if allocs := testing.AllocsPerRun(10, func() { _ = n.Apply(context.Background(), dst, z, xi) }); allocs != 0 {
				t.Errorf("%s, %d rows: %g allocations a call", c.Name, rows, allocs)
			}
		}
	}
}

func batch(t testing.TB, c core.Component, rows, d int) (n core.Noise, dst, z, xi *mat.Dense) {
	rng := newRand()
	n = build(t, c, nil, &core.Env{Dim: d, Structure: structure(t, rng, d, d)})
	return n, mat.NewDense(rows, d, nil), normals(rng, rows, d), normals(rng, rows, d)
}

func BenchmarkApply(b *testing.B) {
	for _, c := range all {
		b.Run(c.Name, func(b *testing.B) {
			n, dst, z, xi := batch(b, c, 50, 100)
			run := func() {
				if err := n.Apply(context.Background(), dst, z, xi); err != nil {
					b.Fatal(err)
				}
			}
			run() // makes the buffers
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
