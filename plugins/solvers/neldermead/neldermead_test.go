package neldermead

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

type function func(x []float64) float64

func (f function) Evaluate(_ context.Context, dst []float64, x *mat.Dense) error {
	for i := range dst {
		dst[i] = f(x.RawRowView(i))
	}
	return nil
}

func sphere(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v * v
	}
	return sum
}

func rosenbrock(x []float64) float64 {
	var sum float64
	for i, v := range x[:len(x)-1] {
		a, b := x[i+1]-v*v, 1-v
		sum += 100*a*a + b*b
	}
	return sum
}

func environment(n, budget int, seed uint64) *core.Env {
	lower, upper := make([]float64, n), make([]float64, n)
	for j := range n {
		lower[j], upper[j] = -5, 5
	}
	return &core.Env{Dim: n, Budget: budget, Stream: core.NewStream(seed), Lower: lower, Upper: upper}
}

func solve(t *testing.T, values map[string]any, f function, n, budget int, seed uint64) (core.End, *core.Meter) {
	t.Helper()
	c := Component()
	made, err := c.Make(values, environment(n, budget, seed))
	if err != nil {
		t.Fatal(err)
	}
	meter := core.NewMeter(f, n, budget, 1e-8)
	end, err := core.Solve(context.Background(), meter, meter, made.(core.Solver), true)
	if err != nil {
		t.Fatal(err)
	}
	return end, meter
}

// From the same simplex gonum's method must take the same path: after any
// number of evaluations both have the same best value.
func TestSamePathAsGonum(t *testing.T) {
	for _, n := range []int{1, 2, 5, 12} {
		f := function(rosenbrock)
		if n == 1 {
			f = func(x []float64) float64 { return math.Cosh(x[0]-1) + x[0]*x[0]*x[0]/50 }
		}
		s, err := newSolver(params{Size: 0.1, Restarts: 0, TolX: 1e-8, TolFun: 1e-12}, environment(n, 1000, 3))
		if err != nil {
			t.Fatal(err)
		}
		method := &optimize.NelderMead{}
		for i := range n + 1 {
			vertex := append([]float64{}, s.simplex.RawRowView(i)...)
			method.InitialVertices = append(method.InitialVertices, vertex)
			method.InitialValues = append(method.InitialValues, f(vertex))
		}
		var path []float64 // of gonum: the best value after each evaluation
		best := math.Inf(1)
		for _, v := range method.InitialValues {
			best = math.Min(best, v)
			path = append(path, best)
		}
		count := 0
		_, err = optimize.Minimize(optimize.Problem{Func: func(x []float64) float64 {
			v := f(x)
			if count++; count > 1 { // the first value is that of the start, which is known already
				best = math.Min(best, v)
				path = append(path, best)
			}
			return v
		}}, method.InitialVertices[0], &optimize.Settings{FuncEvaluations: 250, Converger: optimize.NeverTerminate{}}, method)
		if err != nil {
			t.Fatal(err)
		}

		meter := core.NewMeter(f, n, len(path)-1, math.Inf(-1))
		if _, err := core.Solve(context.Background(), meter, meter, s, false); err != nil {
			t.Fatal(err)
		}
		for _, step := range meter.Trace() {
			if want := path[step.Query-1]; math.Abs(step.Value-want) > 1e-12+1e-6*math.Abs(want) {
				t.Fatalf("n = %d: %g after %d evaluations, gonum has %g", n, step.Value, step.Query, want)
			}
		}
	}
}

func TestFindsMinima(t *testing.T) {
	for _, test := range []struct {
		f         function
		n, budget int
	}{{sphere, 1, 100}, {sphere, 2, 500}, {sphere, 10, 5000}, {rosenbrock, 2, 2000}, {rosenbrock, 5, 10_000}} {
		for seed := range uint64(5) {
			if end, meter := solve(t, nil, test.f, test.n, test.budget, seed); end != core.EndTarget {
				best, _ := meter.Best()
				t.Errorf("n = %d, seed %d: ended with %q at %g after %d evaluations", test.n, seed, end, best, meter.Queries())
			}
		}
	}
}

// A function with many minima needs the restarts, and says so without them.
func TestRestarts(t *testing.T) {
	rastrigin := func(x []float64) float64 {
		var sum float64
		for _, v := range x {
			sum += 10 + v*v - 10*math.Cos(2*math.Pi*v)
		}
		return sum
	}
	if end, meter := solve(t, nil, rastrigin, 2, 50_000, 1); end != core.EndTarget {
		t.Errorf("with restarts: ended with %q after %d evaluations", end, meter.Queries())
	}
	unreachable := func(x []float64) float64 { return 1 + rastrigin(x) }
	queries := 0
	for _, restarts := range []int{0, 1, 5} {
		end, meter := solve(t, map[string]any{"restarts": restarts}, unreachable, 2, 50_000, 1)
		if end != "converged" || meter.Queries() <= queries {
			t.Errorf("%d restarts: ended with %q after %d evaluations", restarts, end, meter.Queries())
		}
		queries = meter.Queries()
	}
}

func TestDifficultObjectives(t *testing.T) {
	functions := map[string]function{
		"constant":        func([]float64) float64 { return 3 },
		"nowhere defined": func([]float64) float64 { return math.NaN() },
		"plateaus":        func(x []float64) float64 { return 1 + math.Floor(math.Abs(x[0])) },
		"half invalid": func(x []float64) float64 {
			if x[0] < 0 {
				return math.NaN()
			}
			return 1 + sphere(x)
		},
		"jump": func(x []float64) float64 {
			if x[0] < 0.1 {
				return math.Inf(1)
			}
			return 1 + x[0]
		},
	}
	for name, f := range functions {
		for _, n := range []int{1, 2, 7} {
			for _, restarts := range []int{0, 3, -1} {
				for _, budget := range []int{1, 3, 100_000} {
					t.Run(fmt.Sprintf("%s/d=%d/restarts=%d/budget=%d", name, n, restarts, budget), func(t *testing.T) {
						watched := function(func(x []float64) float64 {
							for _, v := range x {
								if math.IsNaN(v) || math.IsInf(v, 0) {
									t.Fatalf("asked for %v", x)
								}
							}
							return f(x)
						})
						want := core.EndBudget
						if restarts >= 0 && budget > (restarts+1)*n {
							want = "converged"
							switch {
							case name == "nowhere defined":
								want = "no finite value"
							case budget < 4:
								want = core.EndBudget
							}
						}
						if end, meter := solve(t, map[string]any{"restarts": restarts}, watched, n, budget, 1); end != want {
							t.Errorf("ended with %q after %d evaluations, want %q", end, meter.Queries(), want)
						}
					})
				}
			}
		}
	}
}

// A function without a minimum leads away for ever, but not to infinity.
func TestDivergence(t *testing.T) {
	for _, n := range []int{1, 2, 7} {
		s, err := newSolver(params{Size: 0.1, TolX: 1e-8, TolFun: 1e-12}, environment(n, 1, 1))
		if err != nil {
			t.Fatal(err)
		}
		meter := core.NewMeter(function(func(x []float64) float64 {
			for _, v := range x {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("asked for %v", x)
				}
			}
			return x[0]
		}), n, 1_000_000, math.Inf(-1))
		if end, err := core.Solve(context.Background(), meter, meter, s, false); err != nil || end != "diverged" {
			t.Errorf("n = %d: ended with %q, error %v", n, end, err)
		}
	}
}

func TestSameSeedSamePoints(t *testing.T) {
	_, first := solve(t, nil, rosenbrock, 4, 300, 7)
	_, again := solve(t, nil, rosenbrock, 4, 300, 7)
	_, other := solve(t, nil, rosenbrock, 4, 300, 8)
	a, _ := first.Best()
	b, _ := again.Best()
	c, _ := other.Best()
	if a != b || a == c {
		t.Errorf("seeds 7, 7 and 8 end at %g, %g and %g", a, b, c)
	}
}

func TestFirstSimplexIsInTheDomain(t *testing.T) {
	for seed := range uint64(50) {
		s, err := newSolver(params{Size: 0.4, Restarts: 0}, environment(3, 100, seed))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range s.simplex.RawMatrix().Data {
			if math.Abs(v) > 5 {
				t.Fatalf("seed %d: a vertex at %g", seed, v)
			}
		}
	}
}

func TestWrongSettings(t *testing.T) {
	c := Component()
	if _, err := c.Make(nil, &core.Env{Dim: 1}); !errors.Is(err, core.ErrUnsuitable) {
		t.Errorf("without a domain: error %v", err)
	}
	if _, err := c.Make(nil, &core.Env{Dim: 1, Lower: []float64{1}, Upper: []float64{1}}); !errors.Is(err, core.ErrUnsuitable) {
		t.Errorf("without a width: error %v", err)
	}
	made, err := c.Make(nil, environment(2, 100, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := made.(core.Solver).Tell(context.Background(), []float64{1}); !errors.Is(err, core.ErrShape) {
		t.Errorf("one value for a simplex: error %v", err)
	}
}
