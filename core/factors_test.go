package core_test

import (
	"errors"
	"math"
	"testing"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/core/kernel"
	"gonum.org/v1/gonum/mat"
)

// naiveNoise is D(z) xi = Out (s(In z) * xi), by the book.
func naiveNoise(f core.Factors, z, xi mat.Vector) *mat.VecDense {
	y := mat.VecDenseCopyOf(z)
	if f.In != nil {
		y.Reset()
		y.MulVec(f.In, z)
	}
	scale := func(j int) float64 { return y.AtVec(j) }
	if f.Norm {
		length := mat.Norm(y, 2)
		scale = func(int) float64 { return length }
	}
	n := z.Len()
	if f.Out != nil {
		_, n = f.Out.Dims()
	}
	scaled := mat.NewVecDense(n, nil)
	for j := range n {
		scaled.SetVec(j, scale(j)*xi.AtVec(j))
	}
	if f.Out == nil {
		return scaled
	}
	var out mat.VecDense
	out.MulVec(f.Out, scaled)
	return &out
}

func TestFactoredNoise(t *testing.T) {
	const d, m = 6, 4
	for name, f := range map[string]core.Factors{
		"anisotropic":                   {},
		"isotropic":                     {Norm: true},
		"square in":                     {In: normal(d, d)},
		"square out":                    {Out: normal(d, d)},
		"square in and out":             {In: normal(d, d), Out: normal(d, d)},
		"narrow in and out":             {In: normal(m, d), Out: normal(d, m)},
		"length of square in":           {In: normal(d, d), Norm: true},
		"length of narrow in":           {In: normal(m, d), Norm: true},
		"length, square out":            {Out: normal(d, d), Norm: true},
		"length, narrow out":            {Out: normal(d, m), Norm: true},
		"length of narrow in, and out":  {In: normal(m, d), Out: normal(d, m), Norm: true},
		"length of narrow in, wide out": {In: normal(m, d), Out: normal(d, d), Norm: true},
	} {
		t.Run(name, func(t *testing.T) {
			n := core.NewFactoredNoise(f)
			if n.Factors() != f {
				t.Error("other factors than given")
			}
			for _, rows := range []int{5, 1, 9} {
				z, xi, dst := normal(rows, d), mat.NewDense(rows, d, nil), mat.NewDense(rows, d, nil)
				kernel.Normals(xi.RawMatrix().Data, core.NewStream(2).Rand())
				dst.Apply(func(int, int, float64) float64 { return math.NaN() }, dst)
				if err := n.Apply(t.Context(), dst, z, xi); err != nil {
					t.Fatal(err)
				}
				for i := range rows {
					if want := naiveNoise(f, z.RowView(i), xi.RowView(i)); !mat.EqualApprox(dst.RowView(i), want, 1e-12) {
						t.Errorf("row %d of %d: %v, want %v", i, rows, dst.RawRowView(i), want.RawVector().Data)
					}
				}
			}
		})
	}
}

// Factors that do not fit the points, or each other, are an error rather than
// a panic or half a result: they may come from somebody else's plugin.
func TestFactoredNoiseShapes(t *testing.T) {
	const d, m = 6, 4
	for name, f := range map[string]core.Factors{
		"narrow in without out":     {In: normal(m, d)},
		"narrow out without in":     {Out: normal(d, m)},
		"in and out do not fit":     {In: normal(m, d), Out: normal(d, m+1)},
		"in of another dimension":   {In: normal(d, m), Out: normal(d, d)},
		"out of another dimension":  {Out: normal(m, d)},
		"too few normals":           {In: normal(d+1, d), Out: normal(d, d+1)},
		"too few normals, a length": {Out: normal(d, d+1), Norm: true},
	} {
		err := core.NewFactoredNoise(f).Apply(t.Context(), mat.NewDense(2, d, nil), normal(2, d), normal(2, d))
		if !errors.Is(err, core.ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
