package line

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

type function func(y float64) float64

func (f function) Evaluate(_ context.Context, dst []float64, x *mat.Dense) error {
	for i := range dst {
		dst[i] = f(x.At(i, 0))
	}
	return nil
}

type result struct {
	x, best float64
	queries int
	end     core.End
}

const plenty = 1 << 30

// minimise runs the solver on [-5.12, 5.12].
func minimise(t testing.TB, f function, values map[string]any, budget int) result {
	t.Helper()
	c := Component()
	made, err := c.Make(values, &core.Env{Dim: 1, Budget: budget, Lower: []float64{-5.12}, Upper: []float64{5.12}})
	if err != nil {
		t.Fatal(err)
	}
	meter := core.NewMeter(f, 1, plenty, math.Inf(-1))
	end, err := core.Solve(t.Context(), meter, meter, made.(core.Solver), false)
	if err != nil {
		t.Fatal(err)
	}
	r := result{x: math.NaN(), queries: meter.Queries(), end: end}
	if best, x := meter.Best(); x != nil {
		r.best, r.x = best, x[0]
	}
	return r
}

func rastrigin(b float64) function {
	return func(y float64) float64 { return (y-b)*(y-b) + 10 - 10*math.Cos(2*math.Pi*(y-b)) }
}

func power(p, b float64) function {
	return func(y float64) float64 { return math.Pow(math.Abs(y-b), p) }
}

func well(c float64) function {
	return func(y float64) float64 { return (y*y-4)*(y*y-4) - 0.3*math.Cos(3*y) + c*y }
}

// wellMinimum is the minimum of a well by Newton's method from both sides.
func wellMinimum(c float64) float64 {
	best := math.Inf(1)
	for _, y := range []float64{-2, 2} {
		for range 50 {
			slope := 4*y*(y*y-4) + 0.9*math.Sin(3*y) + c
			y -= slope / (12*y*y - 16 + 2.7*math.Cos(3*y))
		}
		best = min(best, well(c)(y))
	}
	return best
}

func TestFindsTheGlobalMinimum(t *testing.T) {
	for name, test := range map[string]struct {
		f       function
		minimum float64
		gap     float64
		queries int
	}{
		"rastrigin":             {rastrigin(1.37), 0, 1e-9, 290},
		"rastrigin left":        {rastrigin(-1.999), 0, 1e-9, 290},
		"well left":             {well(0.7), wellMinimum(0.7), 1e-11, 265},
		"well right":            {well(-0.01), wellMinimum(-0.01), 1e-11, 265},
		"square":                {power(2, 0.123), 0, 1e-12, 250},
		"fourth power":          {power(4, 1.9), 0, 1e-12, 280},
		"sixth power":           {power(6, -0.77), 0, 1e-12, 280},
		"root":                  {power(0.5, 0.1), 0, 2e-3, 280},
		"corner":                {power(1, 2.2), 0, 3e-6, 280},
		"far right":             {power(2, 1000), 0, 1e-8, 780},
		"far left, flat":        {power(4, -1e4), 0, 1e-8, 1000},
		"far, ripples":          {rastrigin(300), 0, 10, 700}, // the scan is coarse there: a good basin, not the best
		"on top of a large sum": {func(y float64) float64 { return 1e6 + power(2, 0.5)(y) }, 1e6, 1e-8, 250},
		"minimum at an end":     {power(2, 5.12), 0, 1e-12, 310},
		"just outside":          {power(2, -5.13), 0, 1e-12, 310},
		"concave, then walls":   {func(y float64) float64 { return max(-y*y, 100*(math.Abs(y)-6)-36) }, -36, 1e-3, 480},
	} {
		r := minimise(t, test.f, nil, plenty)
		if gap := r.best - test.minimum; !(gap <= test.gap) || r.end != "converged" || r.queries > test.queries {
			t.Errorf("%s: gap %.3g at %g after %d queries, ended with %q", name, gap, r.x, r.queries, r.end)
		}
	}
}

func TestEnds(t *testing.T) {
	inf := math.Inf(1)
	for name, test := range map[string]struct {
		f      function
		values map[string]any
		end    core.End
		x      float64 // NaN for any
		n      int     // 0 for any
	}{
		"constant":          {func(float64) float64 { return 3 }, nil, "converged", math.NaN(), 237},
		"nowhere finite":    {func(float64) float64 { return inf }, nil, "no finite value", math.NaN(), 237},
		"nowhere a number":  {func(float64) float64 { return math.NaN() }, nil, "no finite value", math.NaN(), 237},
		"falls for ever":    {func(y float64) float64 { return -y }, nil, "unbounded", math.NaN(), 237 + 16*60},
		"widened once":      {func(y float64) float64 { return y }, map[string]any{"widen": 1}, "unbounded", -15.36, 237 + 60},
		"never widened":     {func(y float64) float64 { return y }, map[string]any{"widen": 0}, "converged", -5.12, 0},
		"half not a number": {func(y float64) float64 { return math.Sqrt(y) * (y - 3) }, nil, "converged", 1, 0},
		"wall at the minimum": {func(y float64) float64 {
			if y < 1 {
				return inf
			}
			return y
		}, nil, "converged", 1, 0},
		"finite at a point or two": {func(y float64) float64 {
			if y >= 0 && y <= 0.05 {
				return 1
			}
			return inf
		}, nil, "converged", math.NaN(), 0},
		"steps":             {func(y float64) float64 { return math.Floor(math.Abs(y - 1.3)) }, nil, "converged", math.NaN(), 0},
		"staircase outside": {func(y float64) float64 { return math.Floor(math.Abs(y - 20)) }, nil, "converged", math.NaN(), 0},
		"no polish":         {power(2, 0.01), map[string]any{"steps": 0}, "converged", math.NaN(), 237},
	} {
		r := minimise(t, test.f, test.values, plenty)
		if r.end != test.end || !math.IsNaN(test.x) && math.Abs(r.x-test.x) > 1e-5 || test.n != 0 && r.queries != test.n {
			t.Errorf("%s: ended with %q at %g after %d queries", name, r.end, r.x, r.queries)
		}
	}
	if r := minimise(t, func(y float64) float64 { return math.Floor(math.Abs(y - 20)) }, nil, plenty); r.best != 0 {
		t.Errorf("staircase: best %g", r.best)
	}
}

// The middle of the domain, where many a test function has its minimum, is not
// found by the scan itself.
func TestScanAvoidsTheMiddle(t *testing.T) {
	met := false
	minimise(t, func(y float64) float64 { met = met || y == 0; return y * y }, map[string]any{"steps": 0}, plenty)
	if met {
		t.Error("the scan met the middle")
	}
}

// A small budget means fewer points, never more queries than it has.
func TestSmallBudgets(t *testing.T) {
	for budget := range 300 {
		for name, f := range map[string]function{
			"square": power(2, 0.8), "rastrigin": rastrigin(0.8), "outside": power(2, 40), "constant": power(0, 0),
			"half infinite": func(y float64) float64 { return math.Sqrt(y) - 1 },
		} {
			if r := minimise(t, f, nil, budget); r.queries > budget && budget < 237+40 {
				t.Fatalf("%s: %d queries of %d", name, r.queries, budget)
			} else if budget < 3 && r.end != core.EndBudget {
				t.Errorf("%s: a budget of %d ended with %q", name, budget, r.end)
			}
		}
		if budget%20 == 19 {
			if r := minimise(t, power(2, 0.8), nil, budget); r.best > 1e-4 {
				t.Errorf("square: best %g with a budget of %d", r.best, budget)
			}
		}
	}
	if r := minimise(t, rastrigin(0.8), nil, 100); r.best > 1e-6 {
		t.Errorf("rastrigin: best %g with 100 queries", r.best)
	}
}

func TestAffordable(t *testing.T) {
	for _, test := range [][2]int{{0, 0}, {-3, 0}, {1, 1}, {2, 2}, {4, 3}, {100, 75}, {200, 160}, {276, 236}, {277, 237}, {plenty, 237}} {
		if got := affordable(test[0], 237, 4); got != test[1] {
			t.Errorf("a budget of %d scans %d points, want %d", test[0], got, test[1])
		}
	}
}

func TestLocalMinima(t *testing.T) {
	inf := math.Inf(1)
	for name, test := range map[string]struct {
		f    []float64
		keep int
		want [][3]float64 // a, x, b of the brackets
	}{
		"two, the better first": {[]float64{3, 2, 4, 1, 5}, 9, [][3]float64{{2, 3, 4}, {0, 1, 2}}},
		"the best one only":     {[]float64{3, 2, 4, 1, 5}, 1, [][3]float64{{2, 3, 4}}},
		"ties in order":         {[]float64{3, 2, 4, 2, 5}, 9, [][3]float64{{0, 1, 2}, {2, 3, 4}}},
		"plateau":               {[]float64{3, 1, 1, 1, 5}, 9, [][3]float64{{0, 2, 4}}},
		"plateau on a slope":    {[]float64{5, 3, 3, 2, 4}, 9, [][3]float64{{2, 3, 4}}},
		"between walls":         {[]float64{inf, 1, inf, inf, 2, inf}, 9, [][3]float64{{0, 1, 2}, {3, 4, 5}}},
		"an end that is best":   {[]float64{1, 2, 3, 2.5, 4}, 9, [][3]float64{{0, 0, 1}, {2, 3, 4}}},
		"an end that is not":    {[]float64{2, 3, 1, 4, 0.5, 0.5}, 9, [][3]float64{{3, 4, 5}, {1, 2, 3}}},
		"low at both ends":      {[]float64{1, 3, 3, 1}, 9, [][3]float64{{0, 0, 1}, {2, 3, 3}}},
		"constant":              {[]float64{1, 1, 1}, 9, nil},
		"infinite":              {[]float64{inf, inf, inf}, 9, nil},
		"one point":             {[]float64{1}, 9, nil},
	} {
		points := make([]float64, len(test.f))
		for i := range points {
			points[i] = float64(i)
		}
		var got [][3]float64
		for _, b := range localMinima(points, test.f, test.keep) {
			got = append(got, [3]float64{b.a, b.x, b.b})
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// The brackets are polished side by side: each batch has one point for each.
func TestPolishIsBatched(t *testing.T) {
	c := Component()
	made, err := c.Make(nil, &core.Env{Dim: 1, Budget: plenty, Lower: []float64{-5.12}, Upper: []float64{5.12}})
	if err != nil {
		t.Fatal(err)
	}
	s := made.(core.Solver)
	var sizes []int
	for {
		x, err := s.Ask(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if x == nil {
			break
		}
		n, _ := x.Dims()
		sizes = append(sizes, n)
		f := make([]float64, n)
		_ = rastrigin(0.4).Evaluate(t.Context(), f, x)
		if err := s.Tell(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if sizes[0] != 237 || sizes[1] != 4 || sizes[2] != 4 || len(sizes) > 12 || !slices.IsSortedFunc(sizes, func(a, b int) int { return b - a }) {
		t.Errorf("batches of %v", sizes)
	}
}

func TestRefuses(t *testing.T) {
	c := Component()
	for text, env := range map[string]*core.Env{
		"inner solver of split": {Dim: 2, Lower: []float64{0, 0}, Upper: []float64{1, 1}},
		"domain = ":             {Dim: 1},
		"positive width":        {Dim: 1, Lower: []float64{1}, Upper: []float64{1}},
	} {
		if _, err := c.Make(nil, env); !errors.Is(err, core.ErrUnsuitable) || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}
