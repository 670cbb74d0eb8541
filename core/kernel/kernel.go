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

// MulT sets dst = x aᵀ: row i of dst is a times row i of x. The value of a row
// does not depend on the other rows. dst overlaps neither x nor a.
func MulT(dst, x, a *mat.Dense) {
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, x.RawMatrix(), a.RawMatrix(), 0, dst.RawMatrix())
}

// Normals fills dst with independent standard normals.
func Normals(dst []float64, rng *rand.Rand) {
	for i := range dst {
		dst[i] = rng.NormFloat64()
	}
}
