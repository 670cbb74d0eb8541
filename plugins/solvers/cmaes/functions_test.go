package cmaes

import (
	"context"
	"math"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// function is an objective made of a function of one point.
type function func(x []float64) float64

func (f function) Evaluate(_ context.Context, dst []float64, x *mat.Dense) error {
	for i := range dst {
		dst[i] = f(x.RawRowView(i))
	}
	return nil
}

// share is (i-1)/(n-1) for the i-th of n coordinates, i counted from 0 here.
func share(i, n int) float64 { return float64(i) / float64(max(1, n-1)) }

func sphere(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v * v
	}
	return sum
}

func ellipsoid(x []float64) float64 {
	var sum float64
	for i, v := range x {
		sum += math.Pow(1e6, share(i, len(x))) * v * v
	}
	return sum
}

func cigar(x []float64) float64  { return x[0]*x[0] + 1e6*sphere(x[1:]) }
func discus(x []float64) float64 { return 1e6*x[0]*x[0] + sphere(x[1:]) }

func rosenbrock(x []float64) float64 {
	var sum float64
	for i, v := range x[:len(x)-1] {
		a, b := x[i+1]-v*v, 1-v
		sum += 100*a*a + b*b
	}
	return sum
}

func differentPowers(x []float64) float64 {
	var sum float64
	for i, v := range x {
		sum += math.Pow(math.Abs(v), 2+4*share(i, len(x)))
	}
	return sum
}

func ackley(x []float64) float64 {
	var cosines float64
	n := float64(len(x))
	for _, v := range x {
		cosines += math.Cos(2 * math.Pi * v)
	}
	return 20 + math.E - 20*math.Exp(-0.2*math.Sqrt(sphere(x)/n)) - math.Exp(cosines/n)
}

func rastrigin(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += 10 + v*v - 10*math.Cos(2*math.Pi*v)
	}
	return sum
}

func griewank(x []float64) float64 {
	product := 1.0
	for i, v := range x {
		product *= math.Cos(v / math.Sqrt(float64(i+1)))
	}
	return 1 + sphere(x)/4000 - product
}

func schaffer7(x []float64) float64 {
	var sum float64
	for i, v := range x[:len(x)-1] {
		s := math.Hypot(v, x[i+1])
		ripple := math.Sin(50 * math.Pow(s, 0.2))
		sum += math.Sqrt(s) * (1 + ripple*ripple)
	}
	sum /= float64(len(x) - 1)
	return sum * sum
}

// box returns the domain [-r, r]^n.
func box(n int, r float64) (lower, upper []float64) {
	lower, upper = make([]float64, n), make([]float64, n)
	for j := range n {
		lower[j], upper[j] = -r, r
	}
	return lower, upper
}

// outcome is what a solve came to.
type outcome struct {
	end   core.End
	meter *core.Meter
}

// solve runs a component on f over [-r, r]^n until it ends or reaches 1e-8.
func solve(t testing.TB, c core.Component, values map[string]any, f function, n int, r float64, budget int, seed uint64) outcome {
	t.Helper()
	lower, upper := box(n, r)
	env := &core.Env{Dim: n, Budget: budget, Stream: core.NewStream(seed), Lower: lower, Upper: upper}
	made, err := c.Make(values, env)
	if err != nil {
		t.Fatal(err)
	}
	meter := core.NewMeter(f, n, budget, 1e-8)
	end, err := core.Solve(context.Background(), meter, meter, made.(core.Solver), true)
	if err != nil {
		t.Fatal(err)
	}
	return outcome{end, meter}
}
