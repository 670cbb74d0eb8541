package bbob

import "math"

// sphere is f1: sum w_i^2 with w = x - xopt.
func sphere(v variant) function {
	xopt := v.point()
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt)},
		value:   func(_, z []float64) float64 { return sumSquares(z) },
	}
}

// separableEllipsoid is f2: sum 10^(6 e_i) z_i^2 with z = T_osz(w).
func separableEllipsoid(v variant) function {
	xopt, weights := v.point(), powers(1e6, v.dim)
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt), oscillate()},
		value:   func(_, z []float64) float64 { return ellipsoid(z, weights) },
	}
}

// separableRastrigin is f3: ras(z) with z = Lambda^10 T_asy^0.2(T_osz(w)).
func separableRastrigin(v variant) function {
	xopt := v.point()
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt), oscillate(), asymmetric(0.2, v.dim), scale(lambda(10, v.dim))},
		value:   func(_, z []float64) float64 { return rastrigin(z) },
	}
}

// bueche is f4: ras(z) + 100 P(x) with z_i = 10^(e_i/2) y_i, y = T_osz(w),
// and ten times that for positive y_i with even i. The minimiser is that of f3
// with its even coordinates made positive.
func bueche(v variant) function {
	xopt, factors := v.point(), lambda(10, v.dim)
	for i := 0; i < v.dim; i += 2 {
		xopt[i] = math.Abs(xopt[i])
	}
	steepen := step{point: func(y []float64) {
		for i := 0; i < len(y); i += 2 {
			if y[i] > 0 {
				y[i] *= 10
			}
		}
	}}
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt), oscillate(), scale(factors), steepen},
		value:   func(x, z []float64) float64 { return rastrigin(z) + 100*penalty(x) },
	}
}

// linearSlope is f5: sum 5 |q_i| - q_i z_i with q_i = sign(xopt_i) 10^(e_i)
// and z_i = x_i, but xopt_i beyond the optimal corner of the domain.
func linearSlope(v variant) function {
	xopt, slopes := signs(v.point(), 0), powers(10, v.dim)
	for i := range xopt {
		slopes[i] *= xopt[i]
		xopt[i] *= 5
	}
	return function{
		optimum: xopt,
		value: func(x, _ []float64) float64 {
			var sum float64
			for i, t := range x {
				if t*xopt[i] >= 25 {
					t = xopt[i]
				}
				sum += 5*math.Abs(slopes[i]) - slopes[i]*t
			}
			return sum
		},
	}
}

func ellipsoid(z, weights []float64) float64 {
	var sum float64
	for i, t := range z {
		sum += weights[i] * t * t
	}
	return sum
}

// rastrigin is 10 (d - sum cos(2 pi z_i)) + sum z_i^2.
func rastrigin(z []float64) float64 { return ripples(z) + sumSquares(z) }

// ripples is 10 (d - sum cos(2 pi z_i)).
func ripples(z []float64) float64 {
	var sum float64
	for _, t := range z {
		sum += math.Cos(2 * math.Pi * t)
	}
	return 10 * (float64(len(z)) - sum)
}
