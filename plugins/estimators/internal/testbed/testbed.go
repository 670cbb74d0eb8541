// Package testbed holds what the tests of the estimators share: functions with
// known structure and a way to run an estimator on them.
package testbed

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// Function is an objective given by its value at one point.
type Function func(z []float64) float64

// Evaluate implements core.Objective.
func (f Function) Evaluate(_ context.Context, dst []float64, x *mat.Dense) error {
	for i := range dst {
		dst[i] = f(x.RawRowView(i))
	}
	return nil
}

// Sum returns z -> sum_j f(j, z_j - b_j), b uniform on [-shift, shift]^m.
func Sum(m int, shift float64, rng *rand.Rand, f func(j int, y float64) float64) Function {
	b := make([]float64, m)
	for j := range b {
		b[j] = shift * (2*rng.Float64() - 1)
	}
	return func(z []float64) float64 {
		var sum float64
		for j, v := range z {
			sum += f(j, v-b[j])
		}
		return sum
	}
}

// Rastrigin is one ripple of Rastrigin's function.
func Rastrigin(_ int, y float64) float64 { return y*y + 10*(1-math.Cos(2*math.Pi*y)) }

// Paper names the functions of the paper's experiment.
var Paper = []string{"rastrigin", "rastrigin-like", "different-powers", "squared-norm"}

// PaperFunction returns a function of the paper's experiment in m dimensions.
func PaperFunction(name string, m int, shift float64, rng *rand.Rand) Function {
	switch name {
	case "rastrigin":
		return Sum(m, shift, rng, Rastrigin)
	case "rastrigin-like":
		tilt := make([]float64, m)
		for j := range tilt {
			tilt[j] = 2*rng.Float64() - 1
		}
		return Sum(m, shift, rng, func(j int, y float64) float64 {
			return (y*y-4)*(y*y-4) - 0.3*math.Cos(3*y) + tilt[j]*y
		})
	case "different-powers":
		return Sum(m, shift, rng, func(j int, y float64) float64 {
			return math.Pow(math.Abs(y), 2+4*float64(j)/float64(max(1, m-1)))
		})
	case "squared-norm":
		return Sum(m, shift, rng, func(_ int, y float64) float64 { return y * y })
	}
	panic("testbed: unknown function " + name)
}

// Mix returns m unit rows in d dimensions: Q + 5R normalised, Q with random
// orthonormal rows and R standard normal, as in the paper.
func Mix(m, d int, rng *rand.Rand) *mat.Dense {
	w := Orthogonal(d, rng).Slice(0, m, 0, d).(*mat.Dense)
	for i := range m {
		row := w.RawRowView(i)
		for j := range row {
			row[j] += 5 * rng.NormFloat64()
		}
		Normalise(row)
	}
	return mat.DenseCopyOf(w)
}

// Orthogonal returns a random orthogonal matrix.
func Orthogonal(d int, rng *rand.Rand) *mat.Dense {
	g := mat.NewDense(d, d, nil)
	for i := range g.RawMatrix().Data {
		g.RawMatrix().Data[i] = rng.NormFloat64()
	}
	var qr mat.QR
	qr.Factorize(g)
	var q mat.Dense
	qr.QTo(&q)
	return &q
}

// Normalise scales a vector to length one.
func Normalise(v []float64) {
	var sum float64
	for _, x := range v {
		sum += x * x
	}
	for i := range v {
		v[i] /= math.Sqrt(sum)
	}
}

// Conditioned returns a d-by-d matrix with unit rows and about the given
// condition number.
func Conditioned(d int, condition float64, rng *rand.Rand) *mat.Dense {
	a, b := Orthogonal(d, rng), Orthogonal(d, rng)
	for i := range d {
		row := b.RawRowView(i)
		scale := math.Pow(condition, -float64(i)/float64(max(1, d-1)))
		for j := range row {
			row[j] *= scale
		}
	}
	var w mat.Dense
	w.Mul(a, b)
	for i := range d {
		Normalise(w.RawRowView(i))
	}
	return &w
}

// Score returns the share of the rows of w that have an estimate within 1e-4,
// up to sign, and the largest distance of one from its nearest estimate.
func Score(w, estimate *mat.Dense) (within, worst float64) {
	m, _ := w.Dims()
	n, _ := estimate.Dims()
	for i := range m {
		nearest := math.Inf(1)
		for j := range n {
			var minus, plus float64
			for k, v := range w.RawRowView(i) {
				e := estimate.At(j, k)
				minus += (v - e) * (v - e)
				plus += (v + e) * (v + e)
			}
			nearest = min(nearest, math.Sqrt(min(minus, plus)))
		}
		if nearest <= 1e-4 {
			within++
		}
		worst = max(worst, nearest)
	}
	return within / float64(m), worst
}

// Run estimates the structure of f on the domain [-5.12, 5.12]^d and returns it
// with the number of queries.
func Run(f core.Objective, d, budget int, seed uint64, hessian, estimator core.Component, hp, ep map[string]any) (*core.Structure, int, error) {
	env := &core.Env{Dim: d, Budget: budget, Stream: core.NewStream(seed).Split("hessian"),
		Lower: make([]float64, d), Upper: make([]float64, d)}
	for i := range d {
		env.Lower[i], env.Upper[i] = -5.12, 5.12
	}
	h, err := hessian.Make(hp, env)
	if err != nil {
		return nil, 0, err
	}
	env.Stream = core.NewStream(seed).Split("estimator")
	env.HessianCost = h.(core.Hessian).Cost(d)
	e, err := estimator.Make(ep, env)
	if err != nil {
		return nil, 0, err
	}
	meter := core.NewMeter(f, d, budget, math.Inf(-1))
	s, err := core.Estimate(context.Background(), meter, h.(core.Hessian), e.(core.Estimator))
	return s, meter.Queries(), err
}
