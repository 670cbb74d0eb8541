package bbob

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// attractiveSector is f6: T_osz(sum (q_i z_i)^2)^0.9 with z = R Lambda^10 Q w
// and q_i = 100 where z_i has the sign of xopt_i, else 1.
func attractiveSector(v variant) function {
	xopt := v.point()
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt), linear(v.rLambdaQ(10))},
		value: func(_, z []float64) float64 {
			var sum float64
			for i, t := range z {
				if t*xopt[i] > 0 {
					t *= 100
				}
				sum += t * t
			}
			return math.Pow(osz(sum), 0.9)
		},
	}
}

// stepEllipsoid is f7: max(|y_0|/10^4, sum 10^(2 e_i) z_i^2)/10 + P(x) with
// y = Lambda^10 Q w, and z = R times y rounded to whole numbers or, where
// |y_i| <= 1/2, to tenths.
func stepEllipsoid(v variant) function {
	xopt, q, weights := v.point(), v.q(), powers(100, v.dim)
	terrace := step{point: func(y []float64) {
		for i, t := range y {
			if math.Abs(t) > 0.5 {
				y[i] = round(t)
			} else {
				y[i] = round(10*t) / 10
			}
		}
	}}
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt), linear(q), scale(lambda(10, v.dim)), terrace, linear(v.r())},
		value: func(x, z []float64) float64 {
			var y0 float64 // the steps have rounded theirs away
			for i, factor := range q.RawRowView(0) {
				y0 += factor * (x[i] - xopt[i])
			}
			return 0.1*max(math.Abs(y0)/1e4, ellipsoid(z, weights)) + penalty(x)
		},
	}
}

// originalRosenbrock is f8: rosenbrock(z) with z = c w + 1.
func originalRosenbrock(v variant) function {
	xopt := v.point()
	for i := range xopt {
		xopt[i] *= 0.75
	}
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt), affine(rosenbrockScale(v.dim), 1)},
		value:   func(_, z []float64) float64 { return rosenbrock(z) },
	}
}

// rotatedRosenbrock is f9: rosenbrock(z) with z = c Q x + 1/2.
func rotatedRosenbrock(v variant) function {
	q, c := v.q(), rosenbrockScale(v.dim)
	return function{
		optimum: rotatedRosenbrockOptimum(q, c),
		steps:   []step{linear(q), affine(c, 0.5)},
		value:   func(_, z []float64) float64 { return rosenbrock(z) },
	}
}

// rotatedRosenbrockOptimum is where c Q x + 1/2 is 1 in each coordinate:
// Q^T (1, ..., 1) / (2c).
func rotatedRosenbrockOptimum(q *mat.Dense, c float64) []float64 {
	dim, _ := q.Dims()
	x := make([]float64, dim)
	for r := range dim {
		for i, t := range q.RawRowView(r) {
			x[i] += t / (2 * c)
		}
	}
	return x
}

// rosenbrockScale is c = max(1, sqrt(d)/8).
func rosenbrockScale(dim int) float64 { return max(1, math.Sqrt(float64(dim))/8) }

// rosenbrock sums rosenbrockTerm over neighbouring coordinates.
func rosenbrock(z []float64) float64 {
	var sum float64
	for i := range len(z) - 1 {
		sum += rosenbrockTerm(z[i], z[i+1])
	}
	return sum
}

// rosenbrockTerm is 100 (a^2 - b)^2 + (a - 1)^2.
func rosenbrockTerm(a, b float64) float64 {
	valley, slope := a*a-b, a-1
	return 100*valley*valley + slope*slope
}
