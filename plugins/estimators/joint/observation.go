package joint

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// observation is a Hessian that has been measured.
type observation struct {
	h *mat.SymDense
	// from holds the columns of V_1 in the basis along which h was measured;
	// nil if that is V_1 itself.
	from *mat.Dense
	// curvature is the typical size of h along each direction of its basis.
	curvature []float64
	// trust is the inverse of the error of h relative to curvature, up to a
	// factor common to all observations.
	trust float64
}

// observe records a Hessian; off says how far it is from diagonal.
func (e *estimator) observe(h *mat.SymDense, from *mat.Dense, off float64) {
	e.seen = append(e.seen, observation{h: h, from: from, curvature: curvatures(h), trust: 1 / (1e-3 + min(1, off))})
}

// curvatures returns the absolute diagonal, raised where it happens to be small
// to a tenth of its median.
func curvatures(h *mat.SymDense) []float64 {
	size := make([]float64, h.SymmetricDim())
	for i := range size {
		size[i] = math.Abs(h.At(i, i))
	}
	sorted := slices.Clone(size)
	slices.Sort(sorted)
	least := sorted[len(sorted)/2] / 10
	if least == 0 {
		least = max(sorted[len(sorted)-1]/10, math.SmallestNonzeroFloat64)
	}
	for i := range size {
		size[i] = max(size[i], least)
	}
	return size
}

// along returns the observation in the coordinates V_1 C.
func (o *observation) along(c *mat.Dense) *mat.Dense {
	return congruence(o.into(c), o.h)
}

// into returns the columns of V_1 C in the basis of the observation.
func (o *observation) into(c *mat.Dense) *mat.Dense {
	if o.from == nil {
		return c
	}
	return product(o.from, c)
}

// trustAlong is the inverse of the error of the observation along the columns
// of t, given in its basis: errors of entry ij of h are about as large as
// sqrt(curvature_i curvature_j).
func (o *observation) trustAlong(t *mat.Dense) []float64 {
	rows, m := t.Dims()
	trust := make([]float64, m)
	for l := range rows {
		for i, v := range t.RawRowView(l) {
			trust[i] += o.curvature[l] * v * v
		}
	}
	for i, s := range trust {
		trust[i] = math.Sqrt(o.trust / s)
	}
	return trust
}
