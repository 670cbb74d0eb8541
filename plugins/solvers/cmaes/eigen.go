package cmaes

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// eigen decomposes symmetric matrices of one size. It takes less than half of
// the time of mat.EigenSym, because everything runs along rows, and does not
// allocate.
type eigen struct {
	off            []float64 // the off-diagonal of the tridiagonal matrix
	cosines, sines []float64 // of the rotations of one QL step
	scale          []float64
	row            []int
}

func newEigen(n int) *eigen {
	return &eigen{off: make([]float64, n), cosines: make([]float64, n), sines: make([]float64, n),
		scale: make([]float64, n), row: make([]int, n)}
}

// decompose finds the eigenvectors and eigenvalues of the symmetric n-by-n
// matrix a: on return row i of a is the unit eigenvector of values[i]. The
// eigenvalues are in no particular order. It reports whether it converged.
//
// The matrix is made tridiagonal by Householder reflections and then diagonal
// by implicit QL steps with Wilkinson's shift (Golub and Van Loan, Matrix
// Computations, section 8.3).
func (e *eigen) decompose(a, values []float64) bool {
	tridiagonalise(a, values, e.off, e.scale)
	return e.diagonalise(a, values)
}

// tridiagonalise overwrites a symmetric matrix A with the orthogonal Q of
// Q A Q' = T. diag gets the diagonal of T, off[i] its element (i-1, i), off[0]
// is 0. work has length n too.
//
// The reflection H_i = I - tau v v' clears the first i-1 elements of row i and
// lives on the first i coordinates, so that v fits into row i itself.
func tridiagonalise(a, diag, off, work []float64) {
	n := len(diag)
	for i := n - 1; i > 0; i-- {
		v := a[i*n : i*n+i]
		diag[i] = 0 // tau of this step until Q is formed
		last, norm := v[i-1], floats.Norm(v, 2)
		if rest := floats.Norm(v[:i-1], 2); rest <= tiny*norm {
			off[i] = last
			continue
		}
		if last > 0 { // no cancellation in the next line
			norm = -norm
		}
		v[i-1] -= norm
		floats.Scale(1/v[i-1], v)
		tau := (norm - last) / norm
		diag[i], off[i] = tau, norm

		// w = tau A v - (tau/2) (tau v'A v) v, then A <- A - v w' - w v'.
		block, w := leading(a, n, i), work[:i]
		blas64.Gemv(blas.NoTrans, tau, block, vector(v), 0, vector(w))
		floats.AddScaled(w, -tau/2*floats.Dot(w, v), v)
		blas64.Ger(-1, vector(v), vector(w), block)
		blas64.Ger(-1, vector(w), vector(v), block)
	}
	off[0] = 0

	// Q = H_1 H_2 .. H_{n-1}; before step i only its leading i-by-i block
	// differs from the identity.
	for i := range n {
		row := a[i*n : (i+1)*n]
		if tau := diag[i]; i > 0 && tau != 0 {
			v, w := vector(row[:i]), vector(work[:i])
			blas64.Gemv(blas.NoTrans, 1, leading(a, n, i), v, 0, w)
			blas64.Ger(-tau, w, v, leading(a, n, i))
		}
		diag[i] = row[i]
		clear(row)
		row[i] = 1
		for j := range i {
			a[j*n+i] = 0
		}
	}
}

// leading is the leading i-by-i block of an n-by-n matrix.
func leading(a []float64, n, i int) blas64.General {
	return blas64.General{Rows: i, Cols: i, Stride: n, Data: a}
}

func vector(v []float64) blas64.Vector { return blas64.Vector{N: len(v), Inc: 1, Data: v} }

// diagonalise overwrites diag with the eigenvalues of the tridiagonal matrix
// that tridiagonalise left in diag and off, and the rows of q, its Q, with the
// eigenvectors.
func (e *eigen) diagonalise(q, diag []float64) bool {
	const maxSweeps = 60 // for one eigenvalue; two are usual
	n, off := len(diag), e.off
	copy(off, off[1:]) // now off[i] is the element (i, i+1)
	off[n-1] = 0
	for i := range n {
		e.scale[i], e.row[i] = 1, i
	}
	for first := range n {
		for sweep := 0; ; sweep++ {
			last := first
			for last < n-1 && math.Abs(off[last]) > roundoff*(math.Abs(diag[last])+math.Abs(diag[last+1])) {
				last++
			}
			if last == first {
				break
			}
			if sweep == maxSweeps {
				return false
			}
			qlStep(diag[first:last+1], off[first:last+1], e.cosines, e.sines)
			rotate(q, e.scale, e.row[first:last+1], e.cosines, e.sines)
		}
	}
	for i, r := range e.row {
		off[r] = diag[i]
		floats.Scale(e.scale[r], q[r*n:(r+1)*n])
	}
	copy(diag, off)
	return true
}

// qlStep makes one implicit QL step on an unreduced tridiagonal matrix of size
// k; off[k-1], its link to the rest, is taken to be 0. Rotation i, for i = k-2
// down to 0, mixes the coordinates i and i+1.
func qlStep(diag, off, cosines, sines []float64) {
	k := len(diag)
	// Wilkinson's shift: the eigenvalue of the leading 2-by-2 block that is
	// nearer to diag[0].
	half := (diag[1] - diag[0]) / (2 * off[0])
	shift := diag[0] - off[0]/(half+math.Copysign(math.Hypot(half, 1), half))

	c, s := 1.0, 1.0
	chased := diag[k-1] - shift
	taken := 0.0 // by the last rotation from the next diagonal element
	for i := k - 2; i >= 0; i-- {
		bulge, rest := s*off[i], c*off[i]
		r := math.Sqrt(bulge*bulge + chased*chased)
		off[i+1] = r
		if r == 0 { // the matrix has split, the next step sees only a part
			diag[i+1] -= taken
			off[k-1] = 0
			for j := range i + 1 {
				cosines[j], sines[j] = 1, 0
			}
			return
		}
		s, c = bulge/r, chased/r
		cosines[i], sines[i] = c, s
		chased = diag[i+1] - taken
		mixed := (diag[i]-chased)*s + 2*c*rest
		taken = s * mixed
		diag[i+1] = chased + taken
		chased = c*mixed - rest
	}
	diag[0] -= taken
	off[0], off[k-1] = chased, 0
}

// rotate applies the rotations of qlStep to vectors that are kept scaled and
// shuffled: vector i is scale[row[i]] times row row[i] of q.
//
// A rotation of (low, high) to (c low - s high, s low + c high) with |c| >= |s|
// is low <- low - (s/c) high, high <- high + s c low, followed by the factors c
// and 1/c, which go into the scales: two operations on whole rows where the
// plain form has four ("fast Givens", Gentleman 1973). With |c| < |s| the two
// rows change places first.
func rotate(q, scale []float64, row []int, cosines, sines []float64) {
	n := len(scale)
	for i := len(row) - 2; i >= 0; i-- {
		c, s := cosines[i], sines[i]
		pivot, other, sign := c, s, 1.0
		if math.Abs(c) < math.Abs(s) {
			row[i], row[i+1] = row[i+1], row[i]
			pivot, other, sign = -s, -c, -1
		}
		l, h := row[i], row[i+1]
		low, high := q[l*n:(l+1)*n], q[h*n:(h+1)*n]
		floats.AddScaled(low, -other*scale[h]/(pivot*scale[l]), high)
		floats.AddScaled(high, other*pivot*scale[l]/scale[h], low)
		scale[l] *= pivot
		scale[h] *= sign / pivot
		// A scale that may overflow one day goes into its row.
		if size := math.Abs(scale[h]); size < 1e-100 || size > 1e100 {
			floats.Scale(scale[h], high)
			scale[h] = 1
		}
	}
}

const (
	roundoff = 0x1p-53 // of float64
	tiny     = 1e-18   // relative to the length of a vector: nothing
)
