package random

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// recorder notes the points that it is asked for and answers f.
type recorder struct {
	points [][]float64
	f      func(x []float64) float64
}

func (r *recorder) Evaluate(_ context.Context, dst []float64, x *mat.Dense) error {
	for i := range dst {
		row := append([]float64{}, x.RawRowView(i)...)
		r.points = append(r.points, row)
		dst[i] = r.f(row)
	}
	return nil
}

func solve(t *testing.T, values map[string]any, env *core.Env, f func([]float64) float64) (*recorder, core.End) {
	t.Helper()
	c := Component()
	made, err := c.Make(values, env)
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{f: f}
	meter := core.NewMeter(r, env.Dim, env.Budget, math.Inf(-1))
	end, err := core.Solve(context.Background(), meter, meter, made.(core.Solver), true)
	if err != nil {
		t.Fatal(err)
	}
	return r, end
}

func TestUniformInTheDomain(t *testing.T) {
	lower, upper := []float64{-1, 10, 0}, []float64{1, 30, 1e-6}
	const budget = 40_000
	env := &core.Env{Dim: 3, Budget: budget, Stream: core.NewStream(1), Lower: lower, Upper: upper}
	r, end := solve(t, nil, env, func(x []float64) float64 { return x[0] })
	if end != core.EndBudget || len(r.points) != budget {
		t.Fatalf("ended with %q after %d points", end, len(r.points))
	}
	for j := range 3 {
		var quarters [4]int
		for _, x := range r.points {
			share := (x[j] - lower[j]) / (upper[j] - lower[j])
			if !(share >= 0 && share < 1) {
				t.Fatalf("%g is outside of [%g, %g]", x[j], lower[j], upper[j])
			}
			quarters[int(4*share)]++
		}
		for _, count := range quarters {
			// Five standard deviations of a binomial count.
			if math.Abs(float64(count)-budget/4) > 5*math.Sqrt(budget*3.0/16) {
				t.Errorf("coordinate %d: %v points in the quarters", j, quarters)
			}
		}
	}
}

func TestPointsDependOnTheSeedOnly(t *testing.T) {
	points := func(seed uint64, batch int) string {
		env := &core.Env{Dim: 2, Budget: 100, Stream: core.NewStream(seed), Lower: []float64{0, 0}, Upper: []float64{1, 1}}
		r, _ := solve(t, map[string]any{"batch": batch}, env, func([]float64) float64 { return math.NaN() })
		return fmt.Sprint(r.points)
	}
	if points(1, 50) != points(1, 7) {
		t.Error("the points depend on the batch size")
	}
	if points(1, 50) == points(2, 50) {
		t.Error("two seeds give the same points")
	}
}

func TestSmallBudgetAndMissingDomain(t *testing.T) {
	env := &core.Env{Dim: 1, Budget: 1, Stream: core.NewStream(1), Lower: []float64{0}, Upper: []float64{1}}
	if r, end := solve(t, nil, env, func([]float64) float64 { return math.Inf(1) }); end != core.EndBudget || len(r.points) != 1 {
		t.Errorf("a budget of 1: ended with %q after %d points", end, len(r.points))
	}
	c := Component()
	if _, err := c.Make(nil, &core.Env{Dim: 1}); !errors.Is(err, core.ErrUnsuitable) {
		t.Errorf("without a domain: error %v", err)
	}
}
