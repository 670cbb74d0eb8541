package bbob

import "math"

// rotatedEllipsoid is f10: sum 10^(6 e_i) z_i^2 with z = T_osz(R w).
func rotatedEllipsoid(v variant) function {
	xopt, weights := v.point(), powers(1e6, v.dim)
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt), linear(v.r()), oscillate()},
		value:   func(_, z []float64) float64 { return ellipsoid(z, weights) },
	}
}

// discus is f11: 10^6 z_0^2 + sum_{i>0} z_i^2 with z = T_osz(R w).
func discus(v variant) function {
	xopt := v.point()
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt), linear(v.r()), oscillate()},
		value:   func(_, z []float64) float64 { return 1e6*z[0]*z[0] + sumSquares(z[1:]) },
	}
}

// bentCigar is f12: z_0^2 + 10^6 sum_{i>0} z_i^2 with z = R T_asy^0.5(R w).
// Its minimiser comes from the seed of R.
func bentCigar(v variant) function {
	xopt, r := optimalPoint(v.dim, v.seed+rotationSeed), v.r()
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt), linear(r), asymmetric(0.5, v.dim), linear(r)},
		value:   func(_, z []float64) float64 { return z[0]*z[0] + 1e6*sumSquares(z[1:]) },
	}
}

// sharpRidge is f13: z_0^2 + 100 sqrt(sum_{i>0} z_i^2) with
// z = R Lambda^10 Q w.
func sharpRidge(v variant) function {
	xopt := v.point()
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt), linear(v.rLambdaQ(10))},
		value:   func(_, z []float64) float64 { return z[0]*z[0] + 100*math.Sqrt(sumSquares(z[1:])) },
	}
}

// differentPowers is f14: sqrt(sum |z_i|^(2 + 4 e_i)) with z = R w.
func differentPowers(v variant) function {
	xopt, exponents := v.point(), ramp(v.dim)
	for i := range exponents {
		exponents[i] = 2 + 4*exponents[i]
	}
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt), linear(v.r())},
		value: func(_, z []float64) float64 {
			var sum float64
			for i, t := range z {
				sum += math.Pow(math.Abs(t), exponents[i])
			}
			return math.Sqrt(sum)
		},
	}
}
