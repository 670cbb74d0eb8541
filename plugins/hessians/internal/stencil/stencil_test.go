package stencil

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// The two rules in use, so that both ways of sharing points are tested here.
var rules = map[string]Rule{
	"shared": {
		Reach: 1,
		Signs: [][2]float64{{1, 1}, {-1, -1}},
		Mixed: func(pair []float64, axes float64) float64 { return (pair[0] + pair[1] - axes) / 2 },
	},
	"central": {
		Reach: 2,
		Signs: [][2]float64{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}},
		Mixed: func(pair []float64, _ float64) float64 { return (pair[0] - pair[1] - pair[2] + pair[3]) / 4 },
	},
}

// measure runs an approximator on f and returns its Hessians and all points it
// asked for.
func measure(t *testing.T, a *Approximator, q core.HessianQuery, f func(x []float64) float64) ([]*mat.SymDense, [][]float64) {
	t.Helper()
	ctx := context.Background()
	if err := a.Begin(ctx, q); err != nil {
		t.Fatal(err)
	}
	var points [][]float64
	for {
		x, err := a.Ask(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if x == nil {
			break
		}
		rows, _ := x.Dims()
		values := make([]float64, rows)
		for i := range values {
			points = append(points, append([]float64(nil), x.RawRowView(i)...))
			values[i] = f(x.RawRowView(i))
		}
		if err := a.Tell(ctx, values); err != nil {
			t.Fatal(err)
		}
	}
	h, err := a.Hessians(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if samples, _ := q.X.Dims(); len(h) != samples || len(points) > samples*a.Cost(q.Directions()) {
		t.Fatalf("%d Hessians for %d samples, %d queries where %d each were announced", len(h), samples, len(points), a.Cost(q.Directions()))
	}
	return h, points
}

func gaussian(rows, cols int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 1))
	a := mat.NewDense(rows, cols, nil)
	for i := range a.RawMatrix().Data {
		a.RawMatrix().Data[i] = rng.NormFloat64()
	}
	return a
}

// smooth is sum_j (j+1) sin(x_j) + exp(x_0 x_1 / 4), smoothHessian its Hessian.
func smooth(x []float64) float64 {
	sum := math.Exp(x[0] * x[1] / 4)
	for j, v := range x {
		sum += float64(j+1) * math.Sin(v)
	}
	return sum
}

func smoothHessian(x []float64) *mat.SymDense {
	h := mat.NewSymDense(len(x), nil)
	for j, v := range x {
		h.SetSym(j, j, -float64(j+1)*math.Sin(v))
	}
	e := math.Exp(x[0] * x[1] / 4)
	h.SetSym(0, 0, h.At(0, 0)+e*x[1]*x[1]/16)
	h.SetSym(1, 1, h.At(1, 1)+e*x[0]*x[0]/16)
	h.SetSym(0, 1, e*(1+x[0]*x[1]/4)/4)
	return h
}

func TestAccuracyAlongAxesAndDirections(t *testing.T) {
	const d = 5
	x := gaussian(3, d, 1)
	stretched := gaussian(d, 4, 2)
	for j, scale := range []float64{1e-3, 1, 30, 1e3} {
		for i := range d {
			stretched.Set(i, j, scale*stretched.At(i, j))
		}
	}
	for name, rule := range rules {
		for _, step := range []float64{0, 1e-3} {
			for _, v := range []*mat.Dense{nil, gaussian(d, 3, 3), stretched} {
				if step > 0 && v == stretched {
					continue // one step cannot fit directions of all lengths
				}
				a := New(rule, step, &core.Env{Dim: d})
				h, points := measure(t, a, core.HessianQuery{X: x, V: v}, smooth)
				directions := v
				if v == nil {
					directions = mat.NewDense(d, d, nil)
					for i := range d {
						directions.Set(i, i, 1)
					}
				}
				_, m := directions.Dims()
				if step > 0 && len(points) != 3*rule.Points(m) {
					t.Errorf("%s: %d queries instead of %d", name, len(points), 3*rule.Points(m))
				}
				for k := range h {
					var want, hv mat.Dense
					hv.Mul(smoothHessian(x.RawRowView(k)), directions)
					want.Mul(directions.T(), &hv)
					for i := range m {
						for j := range m {
							size := mat.Norm(directions.ColView(i), 2) * mat.Norm(directions.ColView(j), 2) * d
							if diff := math.Abs(h[k].At(i, j) - want.At(i, j)); diff > 1e-5*size {
								t.Errorf("%s step %g sample %d: H_%d%d = %g, want %g", name, step, k, i, j, h[k].At(i, j), want.At(i, j))
							}
						}
					}
				}
			}
		}
	}
}

// TestNoPointTwice also holds for automatic steps, whose trials become points
// of the stencil where they can.
func TestNoPointTwice(t *testing.T) {
	const d = 6
	for name, rule := range rules {
		for _, step := range []float64{0, 1e-2} {
			a := New(rule, step, &core.Env{Dim: d})
			_, points := measure(t, a, core.HessianQuery{X: gaussian(2, d, 4)}, smooth)
			seen := map[string]bool{}
			for _, p := range points {
				key := fmt.Sprint(p)
				if seen[key] {
					t.Errorf("%s step %g: %s was asked for twice", name, step, key)
				}
				seen[key] = true
			}
		}
	}
}

func TestNaive(t *testing.T) {
	const d, h = 4, 1e-3
	x := gaussian(1, d, 5)
	at := func(i int, a float64, j int, b float64) float64 {
		y := append([]float64(nil), x.RawRowView(0)...)
		y[i] += a * h
		y[j] += b * h
		return smooth(y)
	}
	naive := map[string]func(i, j int) float64{
		"central": func(i, j int) float64 {
			return (at(i, 1, j, 1) - at(i, 1, j, -1) - at(i, -1, j, 1) + at(i, -1, j, -1)) / (4 * h * h)
		},
		"shared": func(i, j int) float64 {
			if i == j {
				return (at(i, 1, i, 0) + at(i, -1, i, 0) - 2*at(i, 0, i, 0)) / (h * h)
			}
			return (at(i, 1, j, 1) + at(i, -1, j, -1) - at(i, 1, j, 0) - at(i, -1, j, 0) - at(i, 0, j, 1) - at(i, 0, j, -1) + 2*at(i, 0, j, 0)) / (2 * h * h)
		},
	}
	for name, rule := range rules {
		found, _ := measure(t, New(rule, h, &core.Env{Dim: d}), core.HessianQuery{X: x}, smooth)
		for i := range d {
			for j := range d {
				if want := naive[name](i, j); math.Abs(found[0].At(i, j)-want) > 1e-7 {
					t.Errorf("%s: H_%d%d = %g, want %g", name, i, j, found[0].At(i, j), want)
				}
			}
		}
	}
}

func TestAutomaticStepUnderLargeOffset(t *testing.T) {
	const d = 4
	f := func(x []float64) float64 {
		sum := 1e6
		for j, v := range x {
			sum += math.Pow(10, float64(j-3)) * math.Cos(v)
		}
		return sum
	}
	x := gaussian(2, d, 6)
	for name, rule := range rules {
		h, _ := measure(t, New(rule, 0, &core.Env{Dim: d}), core.HessianQuery{X: x}, f)
		for k := range h {
			for j, v := range x.RawRowView(k) {
				scale := math.Pow(10, float64(j-3))
				if diff := math.Abs(h[k].At(j, j) + scale*math.Cos(v)); diff > 0.05*scale {
					t.Errorf("%s sample %d: H_%d%d = %g, want %g", name, k, j, j, h[k].At(j, j), -scale*math.Cos(v))
				}
			}
		}
	}
}

func TestSamplesWithoutFiniteValues(t *testing.T) {
	const d = 3
	x := gaussian(3, d, 7)
	x.Set(1, 0, 10)
	x.Set(2, 0, 0.5)
	for name, rule := range rules {
		for _, step := range []float64{0, 1e-3} {
			a := New(rule, step, &core.Env{Dim: d})
			h, points := measure(t, a, core.HessianQuery{X: x}, func(x []float64) float64 {
				if x[0] > 9 {
					return math.Inf(1)
				}
				return smooth(x)
			})
			if math.IsNaN(h[0].At(0, 0)) || !math.IsNaN(h[1].At(0, 0)) || !math.IsNaN(h[1].At(1, 2)) || math.IsNaN(h[2].At(0, 0)) {
				t.Errorf("%s step %g: wrong samples are NaN", name, step)
			}
			if len(points) > 2*a.Cost(d)+noisePoints+2*d+1 {
				t.Errorf("%s step %g: %d queries although one sample was useless", name, step, len(points))
			}
		}
	}
}

func TestFunctionsWithoutCurvature(t *testing.T) {
	const d = 3
	for name, rule := range rules {
		for what, f := range map[string]func([]float64) float64{
			"constant": func([]float64) float64 { return 7 },
			"zero":     func([]float64) float64 { return 0 },
			"linear":   func(x []float64) float64 { return x[0] + 2*x[1] - x[2] },
			"kinks":    func(x []float64) float64 { return math.Abs(x[0]) + math.Abs(x[1]) },
		} {
			h, _ := measure(t, New(rule, 0, &core.Env{Dim: d}), core.HessianQuery{X: gaussian(1, d, 8)}, f)
			for i := range d {
				for j := range d {
					if v := h[0].At(i, j); math.IsNaN(v) || what != "kinks" && math.Abs(v) > 1e-6 {
						t.Errorf("%s of a %s function: H_%d%d = %g", name, what, i, j, v)
					}
				}
			}
		}
	}
}

func TestBatchesStaySmall(t *testing.T) {
	const d = 700
	a := New(rules["shared"], 1e-3, &core.Env{Dim: d})
	ctx := context.Background()
	if err := a.Begin(ctx, core.HessianQuery{X: mat.NewDense(1, d, nil)}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		x, err := a.Ask(ctx)
		if err != nil {
			t.Fatal(err)
		}
		rows, _ := x.Dims()
		if rows > batchPoints || rows*d > batchNumbers {
			t.Fatalf("a batch of %d points in %d dimensions", rows, d)
		}
		if err := a.Tell(ctx, make([]float64, rows)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStretchLengthensSteps(t *testing.T) {
	const d = 3
	x := gaussian(1, d, 9)
	reach := func(stretch float64) float64 {
		_, points := measure(t, New(rules["shared"], 0, &core.Env{Dim: d}), core.HessianQuery{X: x, Stretch: stretch}, smooth)
		last := points[len(points)-1]
		return math.Abs(last[d-1] - x.At(0, d-1))
	}
	if quotient := reach(8) / reach(1); quotient < 3 || quotient > 25 {
		t.Errorf("steps are %g times as long, want about 8", quotient)
	}
}

func TestRoundingError(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	f := make([]float64, noisePoints)
	for range 20 {
		for i := range f {
			s := float64(i) / 10
			f[i] = 3 + s + s*s + 1e-4*rng.NormFloat64()
		}
		if e := roundingError(f); e < 2e-5 || e > 2e-3 {
			t.Errorf("error %g estimated for noise of 1e-4", e)
		}
	}
	if e := roundingError(make([]float64, noisePoints)); !(e > 0) {
		t.Errorf("error %g of a function that is 0", e)
	}
}

func TestShapesAreChecked(t *testing.T) {
	a := New(rules["shared"], 0, &core.Env{Dim: 3})
	ctx := context.Background()
	if _, err := a.Ask(ctx); err == nil {
		t.Error("points before Begin")
	}
	if a.Begin(ctx, core.HessianQuery{X: mat.NewDense(1, 2, nil)}) == nil ||
		a.Begin(ctx, core.HessianQuery{X: mat.NewDense(1, 3, nil), V: mat.NewDense(2, 2, nil)}) == nil {
		t.Error("wrong shapes were accepted")
	}
}
