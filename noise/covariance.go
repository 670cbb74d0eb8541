package noise

import (
	"context"
	"fmt"
	"math"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/core/kernel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Covariance scatters every particle as the particles are spread.
func Covariance() core.Component {
	return core.NewNoise("covariance", `Scatters every particle as the whole ensemble is spread: D xi = C^(1/2) xi.

C = (1/n) sum_i z_i z_i^T over the drift rows z_1, ..., z_n, the covariance of the
particles about the consensus point, and C^(1/2) is its symmetric square root.
The noise of a row thus depends on all rows, and turns with the coordinates as
the particles do. While the consensus point stays, a step of cbo multiplies C by
(1 - drift tau)^2 + sigma^2 tau on average, so that particles draw together only
if sigma^2 < drift (2 - drift tau): sigma must be near 1, far below what suits
anisotropic noise.

After Carrillo, Hoffmann, Stuart, Vaes, Consensus-based sampling (2022), who take
the covariance with the weights of the consensus point; here all particles count
alike, because a noise model does not see the weights.`,
		core.None{},
		func(core.None, *core.Env) (core.Noise, error) { return &covariance{}, nil })
}

// covariance keeps buffers and so is not safe for concurrent use.
type covariance struct {
	vectors, scaled, result, left, right core.Buffer
	values, work                         []float64
}

// Apply implements core.Noise. With Z the matrix of drift rows, C = Z^T Z / n.
// If there are fewer rows than coordinates it works with the smaller
// G = Z Z^T / n instead, because C^(1/2) = Z^T G^(-1/2) Z / n, where the inverse
// is taken on the range of G.
func (c *covariance) Apply(_ context.Context, dst, z, xi *mat.Dense) error {
	n, d := z.Dims()
	scale := 1 / float64(n)
	if n >= d {
		root, err := c.matrixFunction(z, blas.Trans, d, scale, math.Sqrt)
		if err != nil {
			return err
		}
		kernel.MulT(dst, xi, root)
		return nil
	}
	inverse, err := c.matrixFunction(z, blas.NoTrans, n, scale, func(v float64) float64 { return scale / math.Sqrt(v) })
	if err != nil {
		return err
	}
	left, right := c.left.Dense(n, n), c.right.Dense(n, n)
	kernel.MulT(left, xi, z)
	kernel.MulT(right, left, inverse)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, right.RawMatrix(), z.RawMatrix(), 0, dst.RawMatrix())
	return nil
}

// matrixFunction returns f of the symmetric k-by-k matrix scale Z^T Z (trans) or
// scale Z Z^T (no trans), that is, with f applied to its eigenvalues. Those that
// are zero to rounding stay zero. The result is valid until the next call.
func (c *covariance) matrixFunction(z *mat.Dense, trans blas.Transpose, k int, scale float64, f func(float64) float64) (*mat.Dense, error) {
	vectors := c.vectors.Dense(k, k)
	s := blas64.Symmetric{N: k, Stride: k, Data: vectors.RawMatrix().Data, Uplo: blas.Upper}
	blas64.Syrk(trans, scale, z.RawMatrix(), 0, s)
	// The trace bounds every entry.
	if trace := vectors.Trace(); math.IsNaN(trace) || math.IsInf(trace, 0) {
		return nil, fmt.Errorf("%w: the covariance of the particles is not finite", core.ErrNaN)
	}
	if len(c.values) != k {
		c.values = make([]float64, k)
		c.work = make([]float64, 1)
		lapack64.Syev(lapack.EVCompute, s, c.values, c.work, -1) // asks for the size
		c.work = make([]float64, int(c.work[0]))
	}
	if !lapack64.Syev(lapack.EVCompute, s, c.values, c.work, len(c.work)) {
		return nil, fmt.Errorf("%w: the covariance of the particles has no square root", core.ErrNaN)
	}
	least := c.values[k-1] * float64(k) * 0x1p-52
	scaled := c.scaled.Dense(k, k)
	for i := range k {
		row := scaled.RawRowView(i)
		for j, v := range vectors.RawRowView(i) {
			row[j] = 0
			if c.values[j] > least {
				row[j] = v * f(c.values[j])
			}
		}
	}
	result := c.result.Dense(k, k)
	kernel.MulT(result, scaled, vectors)
	return result, nil
}
