package cmaes

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

func components() []core.Component { return []core.Component{Component(), BIPOP()} }

func constant([]float64) float64 { return 3 }
func nowhere([]float64) float64  { return math.NaN() }
func plateaus(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += math.Floor(math.Abs(v))
	}
	return sum
}

// halfInvalid is the sphere where x_0 > -1, else NaN or +Inf.
func halfInvalid(x []float64) float64 {
	switch {
	case x[0] < -2:
		return math.NaN()
	case x[0] < -1:
		return math.Inf(1)
	}
	return sphere(x)
}

// scrambled has no structure and no two equal values.
func scrambled(x []float64) float64 {
	var sum float64
	for i, v := range x {
		sum += v * 1e6 * float64(i+1)
	}
	return 1 + math.Abs(math.Sin(sum))
}

func TestDifficultObjectives(t *testing.T) {
	functions := map[string]function{"constant": constant, "nowhere defined": nowhere, "plateaus": plateaus,
		"half invalid": halfInvalid, "scrambled": scrambled, "linear": func(x []float64) float64 { return x[0] }}
	for _, c := range components() {
		for name, f := range functions {
			for _, n := range []int{1, 2, 7} {
				for _, bounds := range []string{"none", "map"} {
					for _, budget := range []int{1, 3, 20_000} {
						t.Run(fmt.Sprintf("%s/%s/d=%d/%s/budget=%d", c.Name, name, n, bounds, budget), func(t *testing.T) {
							watched := function(func(x []float64) float64 {
								for _, v := range x {
									if math.IsNaN(v) || math.IsInf(v, 0) || bounds == "map" && math.Abs(v) > 5 {
										t.Fatalf("asked for %v", x)
									}
								}
								return f(x)
							})
							got := solve(t, c, map[string]any{"bounds": bounds}, watched, n, 5, budget, 1)
							if got.end == core.EndDone || got.end == "" {
								t.Errorf("ended with %q, a reason was due", got.end)
							}
							if got.end != core.EndBudget && got.end != core.EndTarget && budget < 4 {
								t.Errorf("ended with %q after a budget of %d", got.end, budget)
							}
							if name == "half invalid" && budget > 3 && got.end != core.EndTarget {
								t.Errorf("ended with %q, the target was within reach", got.end)
							}
						})
					}
				}
			}
		}
	}
}

func TestReasons(t *testing.T) {
	never := map[string]any{"tolfun": 0.0, "tolfunhist": 0.0}
	with := func(key string, value any) map[string]any {
		values := map[string]any{key: value}
		for k, v := range never {
			values[k] = v
		}
		return values
	}
	shifted := func(x []float64) float64 { return 1 + ellipsoid(x) } // out of reach of the target
	sharp := func(x []float64) (sum float64) {                       // its values tell neighbouring numbers apart
		for _, v := range x {
			sum += math.Sqrt(math.Abs(v - 1000))
		}
		return sum
	}
	for _, test := range []struct {
		want   string
		values map[string]any
		f      function
		radius float64
	}{
		{"tolfun", nil, shifted, 5},
		{"tolfun", nil, constant, 5},
		{"tolfunhist", map[string]any{"tolfun": 0.0, "tolfunhist": 1e-3}, shifted, 5},
		{"flatfitness", nil, nowhere, 5},
		{"flatfitness", never, constant, 5},
		{"tolx", with("tolx", 1e-3), shifted, 5},
		{"tolfacupx", nil, func(x []float64) float64 { return 1e9 + x[0] }, 5},
		{"conditioncov", map[string]any{"tolconditioncov": 100.0}, shifted, 5},
		{"tolxstagnation", with("tolx", 0.0), sharp, 2000},
		{"maxiter", map[string]any{"maxiter": 7}, shifted, 5},
		{"stagnation", never, func(x []float64) float64 { return sphere(x) + scrambled(x) }, 5},
	} {
		t.Run(test.want, func(t *testing.T) {
			got := solve(t, Component(), test.values, test.f, 4, test.radius, 1_000_000, 1)
			if string(got.end) != test.want {
				t.Errorf("ended with %q after %d evaluations, want %q", got.end, got.meter.Queries(), test.want)
			}
		})
	}
	if got := solve(t, BIPOP(), map[string]any{"restarts": 2}, shifted, 3, 5, 1_000_000, 1); got.end != "restarts" {
		t.Errorf("bipop-cmaes ended with %q", got.end)
	}
}

// newAsker makes a component with a box of its own.
func newAsker(t *testing.T, c core.Component, values map[string]any, lower, upper []float64, seed uint64) core.Solver {
	t.Helper()
	made, err := c.Make(values, &core.Env{Dim: len(lower), Budget: 1000, Stream: core.NewStream(seed), Lower: lower, Upper: upper})
	if err != nil {
		t.Fatal(err)
	}
	return made.(core.Solver)
}

func TestStartFollowsTheDomain(t *testing.T) {
	lower, upper := []float64{0, -1e4}, []float64{1e-3, 1e4}
	for _, c := range components() {
		s := newAsker(t, c, map[string]any{"x0": "centre", "popsize": 20_000}, lower, upper, 1)
		x, _ := s.Ask(context.Background())
		for j := range lower {
			width := upper[j] - lower[j]
			var mean, square float64
			for k := range 20_000 {
				v := (x.At(k, j) - lower[j]) / width
				mean += v / 20_000
				square += v * v / 20_000
			}
			within(t, "mean", mean, 0.5, 0.01)
			within(t, "standard deviation", math.Sqrt(square-mean*mean), 0.3, 0.01)
		}
	}
}

func TestStartPointsAreFresh(t *testing.T) {
	lower, upper := box(3, 5)
	s := newAsker(t, BIPOP(), map[string]any{"sigma0": 1e-9}, lower, upper, 1)
	starts := map[float64]bool{}
	generations := 0
	for {
		x, _ := s.Ask(context.Background())
		if x == nil {
			break
		}
		generations++
		starts[math.Round(1e6*x.At(0, 0))] = true
		rows, _ := x.Dims()
		if err := s.Tell(context.Background(), make([]float64, rows)); err != nil {
			t.Fatal(err)
		}
	}
	// A constant function ends every run after one generation.
	if generations < 11 || len(starts) != generations {
		t.Errorf("%d generations from %d start points", generations, len(starts))
	}
}

func TestSameSeedSamePoints(t *testing.T) {
	for _, c := range components() {
		first := solve(t, c, nil, rastrigin, 4, 5, 3000, 7).meter
		again := solve(t, c, nil, rastrigin, 4, 5, 3000, 7).meter
		other := solve(t, c, nil, rastrigin, 4, 5, 3000, 8).meter
		a, x := first.Best()
		b, y := again.Best()
		if a != b || !mat.Equal(mat.NewVecDense(4, x), mat.NewVecDense(4, y)) || first.Queries() != again.Queries() {
			t.Errorf("%s: two runs of one seed end with %v and %v", c.Name, x, y)
		}
		if v, _ := other.Best(); v == a {
			t.Errorf("%s: two seeds end with the same value %g", c.Name, a)
		}
	}
}

// The minimum within the box is in a corner.
func TestBoundedMinimum(t *testing.T) {
	corner := func(x []float64) float64 {
		var sum float64
		for _, v := range x {
			if math.Abs(v) > 5 {
				return math.Inf(1)
			}
			sum += (v - 7) * (v - 7)
		}
		return sum - 4*float64(len(x))
	}
	for _, c := range components() {
		got := solve(t, c, map[string]any{"bounds": "map"}, corner, 6, 5, 20_000, 1)
		if got.end != core.EndTarget {
			value, x := got.meter.Best()
			t.Errorf("%s ended with %q at %g, %v", c.Name, got.end, value, x)
		}
	}
}

func TestWrongSettings(t *testing.T) {
	lower, upper := box(2, 5)
	for _, c := range components() {
		for _, test := range []struct {
			values map[string]any
			env    core.Env
			want   error
		}{
			{map[string]any{"popsize": 1}, core.Env{Dim: 2, Lower: lower, Upper: upper}, core.ErrParam},
			{map[string]any{"bounds": "clip"}, core.Env{Dim: 2, Lower: lower, Upper: upper}, core.ErrParam},
			{nil, core.Env{Dim: 2}, core.ErrUnsuitable},
			{nil, core.Env{Dim: 2, Lower: lower, Upper: lower}, core.ErrUnsuitable},
			{nil, core.Env{Dim: 2, Lower: lower, Upper: []float64{5, math.Inf(1)}}, core.ErrUnsuitable},
		} {
			if _, err := c.Make(test.values, &test.env); !errors.Is(err, test.want) {
				t.Errorf("%s with %v: error %v, want %v", c.Name, test.values, err, test.want)
			}
		}
		s := newAsker(t, c, nil, lower, upper, 1)
		if _, err := s.Ask(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := s.Tell(context.Background(), []float64{1}); !errors.Is(err, core.ErrShape) {
			t.Errorf("%s: one value for a generation: error %v", c.Name, err)
		}
	}
}
