package core

import (
	"context"
	"fmt"
	"math"

	"github.com/unbraid/unbraid/core/kernel"
	"gonum.org/v1/gonum/mat"
)

// Factors describe a noise model that is a diagonal scaling between two linear
// maps: D(z) xi = Out (s(In z) * xi), * being the product by components. With
// Norm, s(y) is the Euclidean length of y in every component; otherwise
// s(y) = y. A nil matrix is the identity.
type Factors struct {
	In, Out *mat.Dense
	Norm    bool
}

// FactoredNoise is a noise model that can say once what it does, so that a
// solver in another process need not ask at every step.
type FactoredNoise interface {
	Noise
	Factors() Factors
}

// NewFactoredNoise returns the noise model with the given factors. It keeps
// buffers and so is not safe for concurrent use.
func NewFactoredNoise(f Factors) FactoredNoise { return &factored{f: f} }

type factored struct {
	f         Factors
	y, scaled Buffer
}

func (n *factored) Factors() Factors { return n.f }

func (n *factored) Apply(_ context.Context, dst, z, xi *mat.Dense) error {
	rows, d := z.Dims()
	m, k := d, d // what In gives and Out takes
	fits := true
	if n.f.In != nil {
		var cols int
		m, cols = n.f.In.Dims()
		fits = cols == d
	}
	if n.f.Out != nil {
		var out int
		out, k = n.f.Out.Dims()
		fits = fits && out == d
	}
	if !fits || k > d || m != k && !n.f.Norm {
		return fmt.Errorf("%w: the factors of the noise do not fit each other, or not points of %d coordinates", ErrShape, d)
	}
	y, out := z, dst
	if n.f.In != nil {
		y = n.y.Dense(rows, m)
		kernel.MulT(y, z, n.f.In)
	}
	if n.f.Out != nil {
		out = n.scaled.Dense(rows, k)
	}
	for i := range rows {
		scale(out.RawRowView(i), y.RawRowView(i), xi.RawRowView(i), n.f.Norm)
	}
	if n.f.Out != nil {
		kernel.MulT(dst, out, n.f.Out)
	}
	return nil
}

func scale(dst, y, xi []float64, norm bool) {
	if !norm {
		for j, v := range y {
			dst[j] = v * xi[j]
		}
		return
	}
	var sum float64
	for _, v := range y {
		sum += v * v
	}
	length := math.Sqrt(sum)
	for j, v := range xi[:len(dst)] {
		dst[j] = length * v
	}
}
