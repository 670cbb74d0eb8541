package bbob

import "math"

// rotatedRastrigin is f15: ras(z) with
// z = R Lambda^10 Q T_asy^0.2(T_osz(R w)).
func rotatedRastrigin(v variant) function {
	xopt := v.point()
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt), linear(v.r()), oscillate(), asymmetric(0.2, v.dim), linear(v.rLambdaQ(10))},
		value:   func(_, z []float64) float64 { return rastrigin(z) },
	}
}

// weierstrass is f16: 10 (mean h(z_i) - h(0))^3 + 10/d P(x) with
// z = R Lambda^(1/100) Q T_osz(R w).
func weierstrass(v variant) function {
	xopt, d, h0 := v.point(), float64(v.dim), fractal(0)
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt), linear(v.r()), oscillate(), linear(v.rLambdaQ(0.01))},
		value: func(x, z []float64) float64 {
			var sum float64
			for _, t := range z {
				sum += fractal(t)
			}
			excess := sum/d - h0
			return 10*excess*excess*excess + 10/d*penalty(x)
		},
	}
}

// fractal is h(t) = sum_{k<12} 2^-k cos(2 pi 3^k (t + 1/2)).
func fractal(t float64) float64 {
	var sum float64
	amplitude, frequency := 1.0, 1.0
	for range 12 {
		sum += amplitude * math.Cos(2*math.Pi*frequency*(t+0.5))
		amplitude /= 2
		frequency *= 3
	}
	return sum
}

// schaffer is f17; see schafferF7.
func schaffer(v variant) function { return schafferF7(v, 10) }

// illConditionedSchaffer is f18; see schafferF7.
func illConditionedSchaffer(v variant) function { return schafferF7(v, 1000) }

// schafferF7 is (mean t_i^0.25 (1 + sin(50 t_i^0.1)^2))^2 + 10 P(x) with
// t_i = z_i^2 + z_{i+1}^2 and z = Lambda^alpha Q T_asy^0.5(R w).
func schafferF7(v variant, alpha float64) function {
	xopt, pairs := v.point(), float64(v.dim-1)
	return function{
		optimum: xopt,
		steps: []step{shift(xopt), linear(v.r()), asymmetric(0.5, v.dim),
			linear(scaledRows(lambda(alpha, v.dim), v.q()))},
		value: func(x, z []float64) float64 {
			var sum float64
			for i := range len(z) - 1 {
				t := z[i]*z[i] + z[i+1]*z[i+1]
				wave := math.Sin(50 * math.Pow(t, 0.1))
				sum += math.Sqrt(math.Sqrt(t)) * (1 + wave*wave)
			}
			mean := sum / pairs
			return mean*mean + 10*penalty(x)
		},
	}
}

// griewankRosenbrock is f19: 10 + 10 mean(t_i/4000 - cos(t_i)) with t_i the
// terms of the Rosenbrock function at z = c Q x + 1/2.
func griewankRosenbrock(v variant) function {
	q, c, pairs := v.q(), rosenbrockScale(v.dim), float64(v.dim-1)
	return function{
		optimum: rotatedRosenbrockOptimum(q, c),
		steps:   []step{linear(q), affine(c, 0.5)},
		value: func(_, z []float64) float64 {
			var sum float64
			for i := range len(z) - 1 {
				t := rosenbrockTerm(z[i], z[i+1])
				sum += t/4000 - math.Cos(t)
			}
			return 10 + 10*sum/pairs
		},
	}
}
