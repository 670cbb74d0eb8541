package spm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/estimators/internal/draw"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// vectorise writes the upper triangle of h to dst, row by row, off-diagonal
// entries times sqrt(2), so that scalar products are those of the matrices.
func vectorise(dst []float64, h *mat.SymDense) {
	d := h.SymmetricDim()
	n := 0
	for i := range d {
		dst[n] = h.At(i, i)
		n++
		for j := i + 1; j < d; j++ {
			dst[n] = math.Sqrt2 * h.At(i, j)
			n++
		}
	}
}

// vectoriseOuter writes v vᵀ to dst in the same form.
func vectoriseOuter(dst, v []float64) {
	n := 0
	for i, vi := range v {
		dst[n] = vi * vi
		n++
		scaled := math.Sqrt2 * vi
		for _, vj := range v[i+1:] {
			dst[n] = scaled * vj
			n++
		}
	}
}

// multiply sets dst = A v for a matrix A in the same form.
func multiply(dst, a, v []float64) {
	clear(dst)
	n := 0
	for i, vi := range v {
		dst[i] += a[n] * vi
		n++
		row := a[n : n+len(v)-i-1]
		n += len(row)
		var sum float64
		scaled := vi / math.Sqrt2
		for k, aij := range row {
			sum += aij * v[i+1+k]
			dst[i+1+k] += aij * scaled
		}
		dst[i] += sum / math.Sqrt2
	}
}

// weigh scales every row of the stack by the inverse of its distance from the
// span of the first rank rows of an orthonormal basis, relative to the median
// distance: that is the inverse of its error. So a few inaccurate Hessians,
// at points where f is large or not smooth, do not spoil the span.
func weigh(stack, basis *mat.Dense, rank int) {
	rows, length := stack.Dims()
	basis = basis.Slice(0, rank, 0, length).(*mat.Dense)
	var coefficients, rest mat.Dense
	coefficients.Mul(stack, basis.T())
	rest.Mul(&coefficients, basis)
	rest.Sub(stack, &rest)
	distance := make([]float64, rows)
	for i := range distance {
		distance[i] = floats.Norm(rest.RawRowView(i), 2)
	}
	sorted := slices.Clone(distance)
	slices.Sort(sorted)
	median := sorted[rows/2]
	if !(median > 0) {
		return
	}
	for i, d := range distance {
		floats.Scale(median/max(d, median/100), stack.RawRowView(i))
	}
}

// span returns an orthonormal basis of the span of the rows of a, as rows, and
// the singular values, both in descending order of the latter. The
// decomposition is of the stack itself: the Gram matrix would lose singular
// values below 1e-8 of the largest.
func span(a *mat.Dense) (basis *mat.Dense, values []float64, err error) {
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThinV) {
		return nil, nil, fmt.Errorf("%w: the singular values of the Hessians could not be computed", core.ErrUnsuitable)
	}
	var v mat.Dense
	svd.VTo(&v)
	return mat.DenseCopyOf(v.T()), svd.Values(nil), nil
}

// rankByCutoff counts the values above the cutoff.
func rankByCutoff(values []float64, cutoff float64) int {
	rank := 0
	for rank < len(values) && values[rank] > cutoff {
		rank++
	}
	return rank
}

// rankByGap returns the number of values before the widest gap, in the sense
// of quotients, but at most d. Values below 1e-10 of the first, where Hessians
// have only errors, count as equal.
func rankByGap(values []float64, d int) int {
	floor := 1e-10 * values[0]
	if !(floor > 0) {
		return 0
	}
	rank, widest := min(len(values), d), 1.0
	for i := 1; i < len(values) && i <= d; i++ {
		if gap := values[i-1] / max(values[i], floor); gap > widest {
			rank, widest = i, gap
		}
	}
	return rank
}

const (
	// batch is the number of starts that step together: enough for the matrix
	// products to be fast.
	batch = 64
	// settled is the length of a step at which a start has converged. Steps
	// shrink several times each, so the rest of the way is no longer.
	settled = 1e-9
)

// searcher runs the ascent from many starts.
type searcher struct {
	p     params
	d     int
	basis *mat.Dense // orthonormal, a vectorised matrix a row
	want  int        // number of directions to find
	rng   *rand.Rand

	found            [][]float64
	started, stepped int
}

// run returns the directions found, as unit vectors.
//
// Starts step together as rows of a matrix. One that ends makes room for the
// next, so that the products keep their size.
func (s *searcher) run() [][]float64 {
	rank, length := s.basis.Dims()
	size := min(batch, s.p.Starts)
	v := mat.NewDense(size, s.d, nil)
	outer := mat.NewDense(size, length, nil)
	coefficients := mat.NewDense(size, rank, nil)
	age := make([]int, size)
	gradient := make([]float64, s.d)
	active := 0
	for {
		for active < size && s.started < s.p.Starts {
			draw.Direction(v.RawRowView(active), s.rng)
			age[active] = 0
			active++
			s.started++
		}
		if active == 0 {
			return s.found
		}
		now := v.Slice(0, active, 0, s.d).(*mat.Dense)
		outerNow := outer.Slice(0, active, 0, length).(*mat.Dense)
		coefficientsNow := coefficients.Slice(0, active, 0, rank).(*mat.Dense)
		project(outerNow, coefficientsNow, now, s.basis)
		s.stepped += active
		kept := 0
		for i := range active {
			row := v.RawRowView(i)
			multiply(gradient, outer.RawRowView(i), row)
			moved := ascend(row, gradient, s.p.Gamma)
			age[i]++
			level := floats.Dot(coefficients.RawRowView(i), coefficients.RawRowView(i))
			if s.ends(row, moved, level, age[i]) {
				if len(s.found) == s.want {
					return s.found
				}
				continue
			}
			copy(v.RawRowView(kept), row)
			age[kept] = age[i]
			kept++
		}
		active = kept
	}
}

// ends decides whether a start is over and keeps its direction if it is new.
// One that is close to a direction already found would only find it again.
func (s *searcher) ends(v []float64, moved, level float64, age int) bool {
	for _, w := range s.found {
		if math.Abs(floats.Dot(v, w)) >= s.p.Cosine {
			return true
		}
	}
	if moved > settled && age < s.p.Steps {
		return false
	}
	if level >= s.p.Level {
		s.found = append(s.found, append([]float64(nil), v...))
	}
	return true
}

// project sets row i of coefficients to those of v_i v_iᵀ in the basis, and row
// i of outer to the projection P(v_i v_iᵀ).
func project(outer, coefficients, v, basis *mat.Dense) {
	rows, _ := v.Dims()
	for i := range rows {
		vectoriseOuter(outer.RawRowView(i), v.RawRowView(i))
	}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, outer.RawMatrix(), basis.RawMatrix(), 0, coefficients.RawMatrix())
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, coefficients.RawMatrix(), basis.RawMatrix(), 0, outer.RawMatrix())
}

// ascend sets v to normalise(v + 2 gamma g) and returns the length of the step.
func ascend(v, g []float64, gamma float64) float64 {
	var sum float64
	for i := range v {
		g[i] = v[i] + 2*gamma*g[i]
		sum += g[i] * g[i]
	}
	scale := 1 / math.Sqrt(sum)
	var moved float64
	for i := range v {
		next := scale * g[i]
		moved += (next - v[i]) * (next - v[i])
		v[i] = next
	}
	return math.Sqrt(moved)
}
