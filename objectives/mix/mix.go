// Package mix makes the matrices W that stand in front of an objective: f(x) =
// g(Wx) is the braid that the methods are to undo. All rows have length one.
package mix

import (
	"math"
	"math/rand/v2"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/core/kernel"
	"gonum.org/v1/gonum/mat"
)

// Kinds names the ways to make a matrix.
var Kinds = []string{"orthogonal", "perturbed-orthogonal"}

// Params say how a matrix is made.
type Params struct {
	Kind     string  `param:"kind" doc:"how the matrix is made: orthogonal is a uniformly random rotation or reflection, perturbed-orthogonal normalises the rows of Q + strength R with Q orthogonal and R standard normal" oneof:"orthogonal,perturbed-orthogonal"`
	Strength float64 `param:"strength" doc:"size of the perturbation" min:"0"`
}

// Defaults is the mix of the paper.
func Defaults() Params { return Params{Kind: "perturbed-orthogonal", Strength: 5} }

// New returns the matrix for d dimensions, drawn from the stream.
func New(p Params, d int, stream core.Stream) (*mat.Dense, error) {
	rng := stream.Rand()
	switch p.Kind {
	case "orthogonal":
		return orthogonal(d, rng), nil
	case "perturbed-orthogonal":
		w := orthogonal(d, rng)
		data := w.RawMatrix().Data
		for i := range data {
			data[i] += p.Strength * rng.NormFloat64()
		}
		unitRows(w)
		return w, nil
	}
	return nil, core.BadParam("kind", "%q is not a kind of mix", p.Kind)
}

// orthogonal returns a matrix uniform on the orthogonal group: the Q of a
// standard normal matrix whose R has a positive diagonal.
func orthogonal(d int, rng *rand.Rand) *mat.Dense {
	g := mat.NewDense(d, d, nil)
	kernel.Normals(g.RawMatrix().Data, rng)
	var qr mat.QR
	qr.Factorize(g)
	var q, r mat.Dense
	qr.QTo(&q)
	qr.RTo(&r)
	for j := range d {
		if r.At(j, j) < 0 {
			for i := range d {
				q.Set(i, j, -q.At(i, j))
			}
		}
	}
	return &q
}

func unitRows(w *mat.Dense) {
	rows, _ := w.Dims()
	for i := range rows {
		row := w.RawRowView(i)
		var sum float64
		for _, v := range row {
			sum += v * v
		}
		scale := 1 / math.Sqrt(sum)
		for j := range row {
			row[j] *= scale
		}
	}
}
