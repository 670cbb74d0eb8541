package core

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Structure is what an estimator found: f(x) is about sum_j f_j(<x, w_j>).
type Structure struct {
	// W has the directions w_j as unit rows (m-by-d).
	W *mat.Dense
	// Inverse is the pseudo-inverse of W (d-by-m): x = Inverse z for z = W x.
	Inverse *mat.Dense
	// Certificate says how far the estimate can be trusted.
	Certificate Certificate
}

// Verdict sums up a certificate.
type Verdict string

// The verdicts.
const (
	Separable    Verdict = "separable"
	Quadratic    Verdict = "quadratic"
	Blocks       Verdict = "blocks"
	NotSeparable Verdict = "not separable"
)

// Certificate is the evidence that comes with an estimate.
type Certificate struct {
	Verdict        Verdict   `json:"verdict"`
	Rank           int       `json:"rank"`
	SingularValues []float64 `json:"singular_values,omitempty"`
	// Residual is the off-diagonal residual on fresh points, relative to the
	// diagonal.
	Residual  float64 `json:"residual"`
	Condition float64 `json:"condition"`
	// Unidentified lists rows of W that the samples do not determine.
	Unidentified []int `json:"unidentified,omitempty"`
	// Blocks lists sets of rows that hang together.
	Blocks [][]int `json:"blocks,omitempty"`
	// Notes are remarks for people.
	Notes []string `json:"notes,omitempty"`
}

// check makes sure that a structure fits a problem, whoever made it.
func (s *Structure) check(dim int) error {
	if s == nil || s.W == nil || s.Inverse == nil {
		return fmt.Errorf("%w: a structure without its matrices", ErrShape)
	}
	m, d := s.W.Dims()
	rows, cols := s.Inverse.Dims()
	if d != dim || m > d || rows != d || cols != m {
		return fmt.Errorf("%w: a structure of %d x %d with an inverse of %d x %d for %d dimensions", ErrShape, m, d, rows, cols, dim)
	}
	for _, x := range []*mat.Dense{s.W, s.Inverse} {
		if n := mat.Norm(x, 2); math.IsNaN(n) || math.IsInf(n, 0) {
			return fmt.Errorf("%w: a structure with entries that are not finite", ErrNaN)
		}
	}
	return nil
}

// NewStructure returns the structure with the given rows, which are scaled to
// unit length in place, and their pseudo-inverse.
func NewStructure(w *mat.Dense) (*Structure, error) {
	m, d := w.Dims()
	if m > d {
		return nil, fmt.Errorf("%w: %d directions in %d dimensions", ErrShape, m, d)
	}
	for i := range m {
		row := w.RawRowView(i)
		n := mat.Norm(mat.NewVecDense(d, row), 2)
		if !(n > 0) || math.IsInf(n, 1) {
			return nil, fmt.Errorf("%w: direction %d is zero or not finite", ErrNaN, i)
		}
		for j := range row {
			row[j] /= n
		}
	}
	inv, err := PseudoInverse(w)
	if err != nil {
		return nil, err
	}
	return &Structure{W: w, Inverse: inv}, nil
}

// PseudoInverse returns the Moore-Penrose inverse of a matrix with linearly
// independent rows. It refuses one whose condition number exceeds 1e12.
func PseudoInverse(w *mat.Dense) (*mat.Dense, error) {
	m, d := w.Dims()
	if m > d {
		return nil, fmt.Errorf("%w: %d rows of %d numbers cannot be linearly independent", ErrShape, m, d)
	}
	var svd mat.SVD
	if !svd.Factorize(w, mat.SVDThin) {
		return nil, fmt.Errorf("%w: the singular values of a %d x %d matrix could not be computed", ErrNaN, m, d)
	}
	s := svd.Values(nil)
	if !(s[m-1] > 1e-12*s[0]) {
		return nil, fmt.Errorf("%w: the rows of the %d x %d matrix are linearly dependent (singular values from %.3g to %.3g)", ErrParam, m, d, s[0], s[m-1])
	}
	var u, v, inv mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	for i := range d {
		row := v.RawRowView(i)
		for j := range row {
			row[j] /= s[j]
		}
	}
	inv.Mul(&v, u.T())
	return &inv, nil
}
