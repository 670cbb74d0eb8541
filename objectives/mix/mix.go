// Package mix makes the matrices W that stand in front of an objective: f(x) =
// g(Wx) is the braid that the methods are to undo. All rows have length one and
// are linearly independent.
package mix

import (
	"math"
	"math/rand/v2"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/core/kernel"
	"gonum.org/v1/gonum/mat"
)

// Params say how a matrix is made.
type Params struct {
	Kind     string  `param:"kind" doc:"how the matrix is made: orthogonal is a uniformly random rotation or reflection; perturbed-orthogonal is Q + strength R with Q orthogonal and R standard normal; gaussian is standard normal; crosstalk has a strong diagonal and weak neighbours, like heaters side by side; file is a matrix of your own. Rows are scaled to unit length" oneof:"orthogonal,perturbed-orthogonal,gaussian,crosstalk,file"`
	Strength float64 `param:"strength" doc:"size of the perturbation of perturbed-orthogonal" min:"0" max:"1e6"`
	Rank     int     `param:"rank" doc:"number of rows, for an objective of fewer dimensions than the problem has; 0 means as many as the problem has dimensions" min:"0"`
	File     string  `param:"file" doc:"for kind file: path of the matrix, one row a line, numbers separated by commas"`
}

// Defaults is the mix of the paper.
func Defaults() Params { return Params{Kind: "perturbed-orthogonal", Strength: 5} }

// Check returns the mistakes that New would find in parameters and shapes,
// without making a matrix, which in many dimensions takes long.
func (p Params) Check(d int, given *mat.Dense) error {
	m := p.rows(d)
	if m < 1 || m > d {
		return core.BadParam("rank", "%d is not possible in %d dimensions, must be from 1 to %d, or 0 for all", p.Rank, d, d)
	}
	if p.Kind != "file" {
		if p.File != "" || given != nil {
			return core.BadParam("file", "only kind = \"file\" takes a file, not %q", p.Kind)
		}
		return nil
	}
	if given == nil {
		return core.BadParam("file", "kind = \"file\" needs a matrix: give the path of one")
	}
	if rows, cols := given.Dims(); rows != m || cols != d {
		return core.BadParam("file", "the matrix is %d x %d, must be %d x %d: one column for each of the problem's dimensions, and rank rows (without rank, as many as columns)", rows, cols, m, d)
	}
	return nil
}

func (p Params) rows(d int) int {
	if p.Rank == 0 {
		return d
	}
	return p.Rank
}

// New returns the matrix for points of d dimensions: d-by-d or, with a rank,
// the first rank rows of what it would be without. It is drawn from the stream,
// except for the kind "file", which takes the matrix given (see Parse) and
// scales a copy of it; for all other kinds given is nil. The result belongs to
// the caller.
func New(p Params, d int, given *mat.Dense, stream core.Stream) (*mat.Dense, error) {
	if err := p.Check(d, given); err != nil {
		return nil, err
	}
	rng := stream.Rand()
	var w *mat.Dense
	switch p.Kind {
	case "orthogonal":
		w = orthogonal(d, rng)
	case "perturbed-orthogonal":
		w = orthogonal(d, rng)
		data := w.RawMatrix().Data
		for i := range data {
			data[i] += p.Strength * rng.NormFloat64()
		}
	case "gaussian":
		w = mat.NewDense(d, d, nil)
		kernel.Normals(w.RawMatrix().Data, rng)
	case "crosstalk":
		w = crosstalk(d, rng)
	case "file":
		w = given
	default:
		return nil, core.BadParam("kind", "%q is not a kind of mix", p.Kind)
	}
	w = mat.DenseCopyOf(w.Slice(0, p.rows(d), 0, d))
	if p.Kind != "orthogonal" {
		if err := unitRows(w); err != nil {
			return nil, err
		}
	}
	if _, err := core.PseudoInverse(w); err != nil {
		return nil, err
	}
	return w, nil
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

// crosstalk returns the thermal crosstalk of a row of heaters: one on the
// diagonal and, for up to three neighbours on either side, 0.4^|i-j| times a
// factor uniform on [0.7, 1.3], these scaled to a sum of 0.3 in each row.
func crosstalk(d int, rng *rand.Rand) *mat.Dense {
	w := mat.NewDense(d, d, nil)
	for i := range d {
		row := w.RawRowView(i)
		first, last := max(0, i-3), min(d-1, i+3)
		var sum float64
		for j := first; j <= last; j++ {
			if j != i {
				row[j] = math.Pow(0.4, math.Abs(float64(i-j))) * (0.7 + 0.6*rng.Float64())
				sum += row[j]
			}
		}
		for j := first; j <= last; j++ {
			row[j] *= 0.3 / sum
		}
		row[i] = 1
	}
	return w
}

// unitRows scales every row to length one, refusing what has no direction.
func unitRows(w *mat.Dense) error {
	rows, _ := w.Dims()
	for i := range rows {
		row := w.RawRowView(i)
		var sum float64
		for _, v := range row {
			sum += v * v
		}
		if !(sum > 0) || math.IsInf(sum, 1) {
			return core.BadParam("", "row %d of the matrix cannot be scaled to length one: its length is %g", i+1, math.Sqrt(sum))
		}
		scale := 1 / math.Sqrt(sum)
		for j := range row {
			row[j] *= scale
		}
	}
	return nil
}
