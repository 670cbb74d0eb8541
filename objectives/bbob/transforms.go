package bbob

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// step is one stage on the way from x to z: a matrix that is applied to all
// points at once, or else a change of one point in place.
type step struct {
	matrix *mat.Dense
	point  func(z []float64)
}

// shift is z - by.
func shift(by []float64) step {
	return step{point: func(z []float64) {
		for i := range z {
			z[i] -= by[i]
		}
	}}
}

// linear is m z.
func linear(m *mat.Dense) step { return step{matrix: m} }

// scale is diag(factors) z.
func scale(factors []float64) step {
	return step{point: func(z []float64) {
		for i := range z {
			z[i] *= factors[i]
		}
	}}
}

// affine is factor z + offset in each coordinate.
func affine(factor, offset float64) step {
	return step{point: func(z []float64) {
		for i := range z {
			z[i] = factor*z[i] + offset
		}
	}}
}

// oscillate is T_osz in each coordinate.
func oscillate() step {
	return step{point: func(z []float64) {
		for i := range z {
			z[i] = osz(z[i])
		}
	}}
}

// asymmetric is T_asy^beta: t -> t^(1 + beta e_i sqrt(t)) for t > 0.
func asymmetric(beta float64, dim int) step {
	slope := ramp(dim)
	for i := range slope {
		slope[i] *= beta
	}
	return step{point: func(z []float64) {
		for i, t := range z {
			if t > 0 {
				z[i] = math.Pow(t, 1+slope[i]*math.Sqrt(t))
			}
		}
	}}
}

// osz is T_osz: t with smooth wiggles that leave its sign and its order of
// magnitude alone. osz(0) = 0.
func osz(t float64) float64 {
	if t == 0 {
		return 0
	}
	h := 10 * math.Log(math.Abs(t))
	if t > 0 {
		return math.Exp((h + 0.49*(math.Sin(h)+math.Sin(0.79*h))) / 10)
	}
	return -math.Exp((h + 0.49*(math.Sin(0.55*h)+math.Sin(0.31*h))) / 10)
}

// round is floor(t + 1/2); unlike math.Round it takes -1.5 to -1.
func round(t float64) float64 { return math.Floor(t + 0.5) }

// ramp returns e_i = i/(d-1).
func ramp(dim int) []float64 {
	e := make([]float64, dim)
	for i := range e {
		e[i] = float64(i) / float64(dim-1)
	}
	return e
}

// powers returns base^(e_i).
func powers(base float64, dim int) []float64 {
	p := ramp(dim)
	for i, e := range p {
		p[i] = math.Pow(base, e)
	}
	return p
}

// lambda returns the diagonal of Lambda^alpha: alpha^(e_i / 2).
func lambda(alpha float64, dim int) []float64 { return powers(math.Sqrt(alpha), dim) }

// sandwich returns a diag(d) b.
func sandwich(a *mat.Dense, d []float64, b *mat.Dense) *mat.Dense {
	dim := len(d)
	m := mat.NewDense(dim, dim, nil)
	for r := range dim {
		row := m.RawRowView(r)
		for k, factor := range d {
			factor *= a.At(r, k)
			for c, v := range b.RawRowView(k) {
				row[c] += factor * v
			}
		}
	}
	return m
}

// scaledRows returns diag(d) m.
func scaledRows(d []float64, m *mat.Dense) *mat.Dense {
	scaled := mat.DenseCopyOf(m)
	for r, factor := range d {
		row := scaled.RawRowView(r)
		for c := range row {
			row[c] *= factor
		}
	}
	return scaled
}

// penalty is the squared distance to [-5, 5]^d.
func penalty(x []float64) float64 {
	var sum float64
	for _, t := range x {
		if excess := math.Abs(t) - 5; excess > 0 {
			sum += excess * excess
		}
	}
	return sum
}

func dot(a, b []float64) float64 {
	var sum float64
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func sumSquares(z []float64) float64 { return dot(z, z) }

func constant(dim int, value float64) []float64 {
	v := make([]float64, dim)
	for i := range v {
		v[i] = value
	}
	return v
}
