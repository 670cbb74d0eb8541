package bbob

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// variant is what the random parts of a function are drawn from.
type variant struct {
	dim  int
	seed int64
}

// rotationSeed is the distance from a function's seed to that of its R.
const rotationSeed = 1000000

// r is the first of the two rotations.
func (v variant) r() *mat.Dense { return rotation(v.dim, v.seed+rotationSeed) }

// q is the second rotation.
func (v variant) q() *mat.Dense { return rotation(v.dim, v.seed) }

// rLambdaQ is the product R Lambda^alpha Q.
func (v variant) rLambdaQ(alpha float64) *mat.Dense {
	return sandwich(v.r(), lambda(alpha, v.dim), v.q())
}

// point is the usual minimiser: uniform on [-4, 4)^d with four decimals.
func (v variant) point() []float64 { return optimalPoint(v.dim, v.seed) }

// uniforms returns n numbers in (0, 1): the minimal standard generator (Park
// and Miller, 1988) behind a shuffle table of 32 entries (Bays and Durham,
// 1976). 0 < seed < 2^31 - 1.
func uniforms(n int, seed int64) []float64 {
	const modulus, slotWidth = 2147483647, 67108865
	state := seed
	step := func() int64 {
		state = state * 16807 % modulus
		return state
	}
	var table [32]int64
	for range 8 {
		step()
	}
	for j := len(table) - 1; j >= 0; j-- {
		table[j] = step()
	}
	u := make([]float64, n)
	y := table[0]
	for i := range u {
		next := step()
		slot := y / slotWidth
		y, table[slot] = table[slot], next
		u[i] = float64(y) / modulus
	}
	return u
}

// normals returns n standard normal numbers by the cosine half of the
// Box-Muller transform. normals(1, seed) is not the start of normals(2, seed).
func normals(n int, seed int64) []float64 {
	u := uniforms(2*n, seed)
	g := make([]float64, n)
	for i := range g {
		g[i] = math.Sqrt(-2*math.Log(u[i])) * math.Cos(2*math.Pi*u[n+i])
	}
	return g
}

// optimalValue returns fopt: a Cauchy number with two decimals, cut off at
// +-1000.
func optimalValue(seed int64) float64 {
	quotient := 10000 * normals(1, seed)[0] / normals(1, seed+1)[0]
	return max(-1000, min(1000, round(quotient)/100))
}

// optimalPoint returns a point of [-4, 4)^d without a zero coordinate.
func optimalPoint(dim int, seed int64) []float64 {
	x := uniforms(dim, seed)
	for i, u := range x {
		x[i] = 8*math.Floor(10000*u)/10000 - 4
		if x[i] == 0 {
			x[i] = -1e-5
		}
	}
	return x
}

// signs returns -1 where v is below the threshold and 1 elsewhere.
func signs(v []float64, threshold float64) []float64 {
	s := make([]float64, len(v))
	for i, t := range v {
		s[i] = 1
		if t < threshold {
			s[i] = -1
		}
	}
	return s
}

// rotation returns an orthogonal matrix: standard normal columns made
// orthonormal by the modified Gram-Schmidt method.
func rotation(dim int, seed int64) *mat.Dense {
	columns := mat.NewDense(dim, dim, normals(dim*dim, seed)) // a column a row
	for c := range dim {
		column := columns.RawRowView(c)
		for j := range c {
			earlier := columns.RawRowView(j)
			p := dot(column, earlier)
			for i, v := range earlier {
				column[i] -= p * v
			}
		}
		norm := math.Sqrt(dot(column, column))
		for i := range column {
			column[i] /= norm
		}
	}
	return mat.DenseCopyOf(columns.T())
}

// argsort returns the indices that put v into ascending order.
func argsort(v []float64) []int {
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(v[i], v[j]) })
	return order
}
