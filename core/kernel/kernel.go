// Package kernel holds the numeric kernels that dominate the running time, as
// plain functions on slices and matrices: no receiver, context, randomness of
// their own, or allocation. They are kept in one place so that faster versions
// can replace them.
package kernel

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// MulT sets dst = x aᵀ: row i of dst is a times row i of x. It goes row by row,
// so that the value of a row does not depend on the others: a product in
// blocks rounds differently by the number of rows. dst overlaps neither x nor a.
func MulT(dst, x, a *mat.Dense) {
	rows, cols := x.Dims()
	raw := a.RawMatrix()
	for i := range rows {
		from := blas64.Vector{N: cols, Data: x.RawRowView(i), Inc: 1}
		to := blas64.Vector{N: raw.Rows, Data: dst.RawRowView(i), Inc: 1}
		blas64.Gemv(blas.NoTrans, 1, raw, from, 0, to)
	}
}

// Normals fills dst with independent standard normals.
func Normals(dst []float64, rng *rand.Rand) {
	for i := range dst {
		dst[i] = rng.NormFloat64()
	}
}
