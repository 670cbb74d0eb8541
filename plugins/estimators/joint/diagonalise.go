package joint

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// pencil returns columns C that come close to diagonalising all CᵀM_kC: the
// eigenvectors of B⁻¹A for two random combinations A and B of the symmetric
// matrices M_k. They are exact if the M_k have a common diagonaliser and A and
// B have no proportional diagonal entries. Complex pairs, which only errors or
// a missing diagonaliser can cause, give their real and imaginary parts. Of
// several B the one farthest from singular is taken, of several A the one
// whose eigenvectors have the fewest complex pairs and then the smallest
// condition number. It returns nil if nothing is regular.
func pencil(ms []*mat.Dense, rng *rand.Rand) *mat.Dense {
	m, _ := ms[0].Dims()
	scaled := make([]*mat.Dense, len(ms))
	for k := range ms {
		scaled[k] = mat.NewDense(m, m, nil)
		if norm := mat.Norm(ms[k], 2); norm > 0 {
			scaled[k].Scale(1/norm, ms[k])
		}
	}
	var b *mat.Dense
	best := 0.0
	for range 6 {
		try := combination(scaled, rng)
		if r := reciprocalCondition(try); r > best {
			b, best = try, r
		}
	}
	if b == nil {
		return nil
	}
	var lu mat.LU
	lu.Factorize(b)
	var found *mat.Dense
	fewest, least := m+1, math.Inf(1)
	for range 3 {
		var quotient mat.Dense
		// A large condition number is no reason to give up, as the
		// eigenvectors are only a start.
		if err := lu.SolveTo(&quotient, false, combination(scaled, rng)); err != nil && quotient.IsEmpty() {
			continue
		}
		c, complexPairs := eigenvectors(&quotient)
		if c == nil {
			continue
		}
		condition := mat.Cond(c, 2)
		if complexPairs < fewest || complexPairs == fewest && condition < least {
			found, fewest, least = c, complexPairs, condition
		}
		if fewest == 0 && least < 1e3 {
			break
		}
	}
	return found
}

// combination returns a random linear combination with coefficients of norm 1.
func combination(ms []*mat.Dense, rng *rand.Rand) *mat.Dense {
	m, _ := ms[0].Dims()
	sum := mat.NewDense(m, m, nil)
	for _, a := range ms {
		var term mat.Dense
		term.Scale(rng.NormFloat64(), a)
		sum.Add(sum, &term)
	}
	return sum
}

// reciprocalCondition is the smallest over the largest absolute eigenvalue of
// a symmetric matrix, 0 if they cannot be computed.
func reciprocalCondition(a *mat.Dense) float64 {
	var eigen mat.EigenSym
	if !eigen.Factorize(symmetric(a), false) {
		return 0
	}
	least, largest := math.Inf(1), 0.0
	for _, v := range eigen.Values(nil) {
		least, largest = min(least, math.Abs(v)), max(largest, math.Abs(v))
	}
	if !(largest > 0) {
		return 0
	}
	return least / largest
}

// symmetric returns the mean of a and its transpose.
func symmetric(a *mat.Dense) *mat.SymDense {
	m, _ := a.Dims()
	s := mat.NewSymDense(m, nil)
	for i := range m {
		for j := i; j < m; j++ {
			s.SetSym(i, j, (a.At(i, j)+a.At(j, i))/2)
		}
	}
	return s
}

// eigenvectors returns the eigenvectors of a general matrix as unit columns,
// for complex pairs the real and imaginary part, and the number of such pairs;
// nil if the iteration fails.
func eigenvectors(a *mat.Dense) (c *mat.Dense, complexPairs int) {
	var eigen mat.Eigen
	if norm := mat.Norm(a, 1); math.IsNaN(norm) || math.IsInf(norm, 0) || !eigen.Factorize(a, mat.EigenRight) {
		return nil, 0
	}
	values := eigen.Values(nil)
	var vectors mat.CDense
	eigen.VectorsTo(&vectors)
	m := len(values)
	c = mat.NewDense(m, m, nil)
	for j := 0; j < m; j++ {
		isComplex := imag(values[j]) != 0 && j+1 < m
		for i := range m {
			v := vectors.At(i, j)
			c.Set(i, j, real(v))
			if isComplex {
				c.Set(i, j+1, imag(v))
			}
		}
		if isComplex {
			complexPairs++
			j++
		}
	}
	for j := range m {
		var sum float64
		for i := range m {
			sum += c.At(i, j) * c.At(i, j)
		}
		if !(sum > 0) {
			return nil, 0
		}
		for i := range m {
			c.Set(i, j, c.At(i, j)/math.Sqrt(sum))
		}
	}
	return c, complexPairs
}

// congruence returns TᵀMT.
func congruence(t mat.Matrix, m mat.Matrix) *mat.Dense {
	var mt, out mat.Dense
	mt.Mul(m, t)
	out.Mul(t.T(), &mt)
	return &out
}

// gaussNewton improves the columns of C so that all M_k = CᵀH_kC become
// diagonal, C being any regular matrix. The M_k are given and replaced by their
// new values; trust[k][i] is the inverse of the error of M_k along column i, so
// that entry ij of M_k counts with the weight (trust[k][i] trust[k][j])^2.
//
// With C(I+E) in place of C, M_k,ij becomes M_k,ij + D_k,i E_ij + D_k,j E_ji to
// first order, D_k being the diagonal of M_k. Each pair (E_ij, E_ji) is the
// least-squares solution over all k of setting this to zero; where the samples
// do not determine it, the one of least norm. It returns the weighted
// off-diagonal part that remains, relative to the diagonals.
func gaussNewton(c *mat.Dense, ms []*mat.Dense, trust [][]float64, steps int) float64 {
	m, _ := c.Dims()
	e := mat.NewDense(m, m, nil)
	scale := make([]float64, m)
	for range steps {
		unitDiagonals(scale, c, ms, trust)
		size := solvePairs(e, ms, trust)
		damping := min(1, 0.9/size)
		e.Scale(damping, e)
		for i := range m {
			e.Set(i, i, 1)
		}
		c.Mul(c, e)
		for k := range ms {
			ms[k] = congruence(e, ms[k])
		}
		if size < 1e-12 || math.IsNaN(size) {
			break
		}
	}
	return offDiagonalPart(ms, trust)
}

// offDiagonalPart is the weighted root of the sum of squares off the diagonals
// over that on the diagonals.
func offDiagonalPart(ms []*mat.Dense, trust [][]float64) float64 {
	var off, on float64
	for k, m := range ms {
		for i, ti := range trust[k] {
			for j, tj := range trust[k] {
				if v := ti * tj * m.At(i, j); i == j {
					on += v * v
				} else {
					off += v * v
				}
			}
		}
	}
	return math.Sqrt(off / on)
}

// unitDiagonals scales the columns of C so that the diagonals of the M_k have
// root-mean-square 1 over k.
func unitDiagonals(scale []float64, c *mat.Dense, ms []*mat.Dense, trust [][]float64) {
	for i := range scale {
		var sum float64
		for _, m := range ms {
			sum += m.At(i, i) * m.At(i, i)
		}
		scale[i] = 1
		if s := 1 / math.Sqrt(math.Sqrt(sum/float64(len(ms)))); s > 0 && !math.IsInf(s, 0) {
			scale[i] = s
		}
	}
	scaleColumns(c, scale)
	for k, m := range ms {
		for i, s := range scale {
			row := m.RawRowView(i)
			for j := range row {
				row[j] *= s * scale[j]
			}
			trust[k][i] /= s
		}
	}
}

func scaleColumns(c *mat.Dense, scale []float64) {
	rows, _ := c.Dims()
	for i := range rows {
		row := c.RawRowView(i)
		for j, s := range scale {
			row[j] *= s
		}
	}
}

// parallel is the squared sine of the angle between two diagonals over the samples
// below which they count as proportional when E is solved for.
const parallel = 1e-11

// solvePairs fills e with the least-squares solution of gaussNewton and
// returns the largest sum of absolute values of a row.
func solvePairs(e *mat.Dense, ms []*mat.Dense, trust [][]float64) float64 {
	m, _ := e.Dims()
	for i := range m {
		e.Set(i, i, 0)
		for j := i + 1; j < m; j++ {
			var gi, gj, gij, ri, rj float64
			for k, mk := range ms {
				t := trust[k][i] * trust[k][j]
				di, dj, r := t*mk.At(i, i), t*mk.At(j, j), t*mk.At(i, j)
				gi += di * di
				gj += dj * dj
				gij += di * dj
				ri += di * r
				rj += dj * r
			}
			det := gi*gj - gij*gij + parallel*gi*gj
			if !(det > 0) {
				e.Set(i, j, 0)
				e.Set(j, i, 0)
				continue
			}
			// Damping both diagonal entries keeps proportional pairs bounded.
			gi *= 1 + parallel/2
			gj *= 1 + parallel/2
			e.Set(i, j, -(gj*ri-gij*rj)/det)
			e.Set(j, i, -(gi*rj-gij*ri)/det)
		}
	}
	var size float64
	for i := range m {
		var sum float64
		for _, v := range e.RawRowView(i) {
			sum += math.Abs(v)
		}
		size = max(size, sum)
	}
	return size
}
