package bbob

import (
	"math"

	"github.com/unbraid/unbraid/core/kernel"
	"gonum.org/v1/gonum/mat"
)

// schwefel is f20, with m = 4.2096874637, s_i = +-1 and a_i = 2 s_i x_i:
//
//	b_0 = a_0, b_i = a_i + (a_{i-1} - m)/4
//	z_i = 100 (10^(e_i/2) (b_i - m) + m)
//	f   = (418.9828872724339 - mean z_i sin(sqrt(|z_i|)) + sum max(0, |z_i| - 500)^2)/100
//
// The minimiser is s m/2.
func schwefel(v variant) function {
	const m = 4.2096874637
	sign, factors, d := signs(uniforms(v.dim, v.seed), 0.5), lambda(10, v.dim), float64(v.dim)
	xopt := make([]float64, v.dim)
	for i, s := range sign {
		xopt[i] = s * m / 2
	}
	return function{
		optimum: xopt,
		value: func(x, _ []float64) float64 {
			var sum, excess float64
			previous := m // so that the first coordinate has no neighbour
			for i, t := range x {
				a := 2 * sign[i] * t
				b := a + 0.25*(previous-m)
				previous = a
				z := 100 * (factors[i]*(b-m) + m)
				sum += z * math.Sin(math.Sqrt(math.Abs(z)))
				if over := math.Abs(z) - 500; over > 0 {
					excess += over * over
				}
			}
			return 0.01 * (excess + 418.9828872724339 - sum/d)
		},
	}
}

// gallagher101 is f21; see gallagher.
func gallagher101(v variant) function { return gallagher(v, 101, math.Sqrt(1000), 10, 5) }

// gallagher21 is f22; see gallagher.
func gallagher21(v variant) function { return gallagher(v, 21, 1000, 9.8, 4.9) }

// gallagher is T_osz(10 - E)^2 + P(x), E being the highest of some Gaussian
// peaks:
//
//	E = max_k omega_k exp(-1/(2d) sum_j C_kj (Q (x - c_k))_j^2)
//
// Peak 0 is the minimiser, with omega_0 = 10 and the given condition. The
// centres c_k are uniform on [-offset, width-offset]^d, that of peak 0 shrunk
// by 0.8. The scales C_kj spread over a factor alpha_k, in random order; the
// other alpha_k spread over 1000, in random order too.
func gallagher(v variant, peaks int, condition, width, offset float64) function {
	d := float64(v.dim)
	centres := mat.NewDense(peaks, v.dim, uniforms(peaks*v.dim, v.seed))
	scales := mat.NewDense(peaks, v.dim, nil)
	logHeights := make([]float64, peaks)

	order := argsort(uniforms(peaks-1, v.seed))
	for k := range peaks {
		height, alpha, shrink := 10.0, condition, 0.8
		if k > 0 {
			height = 1.1 + 8*float64(k-1)/float64(peaks-2)
			alpha = math.Pow(1000, float64(order[k-1])/float64(peaks-2))
			shrink = 1
		}
		logHeights[k] = math.Log(height)
		centre := centres.RawRowView(k)
		for j := range centre {
			centre[j] = shrink * (width*centre[j] - offset)
		}
		spread := scales.RawRowView(k)
		for j, place := range argsort(uniforms(v.dim, v.seed+1000*int64(k))) {
			spread[j] = math.Pow(alpha, float64(place)/(d-1)-0.5)
		}
	}

	q := v.q()
	rotated := mat.NewDense(peaks, v.dim, nil)
	kernel.MulT(rotated, centres, q)
	return function{
		optimum: centres.RawRowView(0),
		steps:   []step{linear(q)},
		value: func(x, z []float64) float64 {
			// Peaks are compared by their logarithms: one exp instead of many.
			highest := math.Inf(-1)
			for k, logHeight := range logHeights {
				distance := weightedDistance(z, rotated.RawRowView(k), scales.RawRowView(k))
				highest = max(highest, logHeight-distance/(2*d))
			}
			// 10 - E, without loss of digits near the minimum.
			depth := osz(-10 * math.Expm1(highest-logHeights[0]))
			return depth*depth + penalty(x)
		},
	}
}

// weightedDistance is sum weights_j (a_j - b_j)^2.
func weightedDistance(a, b, weights []float64) float64 {
	var sum float64
	for j, t := range a {
		t -= b[j]
		sum += weights[j] * t * t
	}
	return sum
}

// katsuura is f23: 10/d^2 (prod g_i^(10/d^1.2) - 1) + P(x) with
// z = R Lambda^100 Q w and g_i = 1 + (i + 1) roughness(z_i).
func katsuura(v variant) function {
	xopt, d := v.point(), float64(v.dim)
	exponent := 10 / math.Pow(d, 1.2)
	return function{
		optimum: xopt,
		steps:   []step{shift(xopt), linear(v.rLambdaQ(100))},
		value: func(x, z []float64) float64 {
			product := 1.0
			for i, t := range z {
				product *= math.Pow(1+float64(i+1)*roughness(t), exponent)
			}
			return 10/(d*d)*(product-1) + penalty(x)
		},
	}
}

// roughness is sum_{j=1}^{32} |2^j t - round(2^j t)| / 2^j.
func roughness(t float64) float64 {
	var sum float64
	power, inverse := 1.0, 1.0
	for range 32 {
		power *= 2
		inverse /= 2
		sum += math.Abs(power*t-round(power*t)) * inverse
	}
	return sum
}

// lunacek is f24, with s_i = +-1, a_i = 2 s_i x_i and
// z = R Lambda^100 Q (a - mu0):
//
//	f = min(sum (a_i - mu0)^2, d + S sum (a_i - mu1)^2)
//	    + 10 (d - sum cos(2 pi z_i)) + 10^4 P(x)
//
// where mu0 = 5/2, S = 1 - 1/(2 sqrt(d + 20) - 8.2) and
// mu1 = -sqrt((mu0^2 - 1)/S). The minimiser is s mu0/2.
func lunacek(v variant) function {
	const mu0 = 2.5
	sign, d := signs(normals(v.dim, v.seed), 0), float64(v.dim)
	s := 1 - 0.5/(math.Sqrt(d+20)-4.1)
	mu1 := -math.Sqrt((mu0*mu0 - 1) / s)
	xopt := make([]float64, v.dim)
	for i := range xopt {
		xopt[i] = sign[i] * mu0 / 2
	}
	centre := step{point: func(x []float64) {
		for i := range x {
			x[i] = 2*sign[i]*x[i] - mu0
		}
	}}
	return function{
		optimum: xopt,
		steps:   []step{centre, linear(v.q()), scale(lambda(100, v.dim)), linear(v.r())},
		value: func(x, z []float64) float64 {
			var near, far float64
			for i, t := range x {
				a := 2 * sign[i] * t
				near += (a - mu0) * (a - mu0)
				far += (a - mu1) * (a - mu1)
			}
			return min(near, d+s*far) + ripples(z) + 1e4*penalty(x)
		},
	}
}
