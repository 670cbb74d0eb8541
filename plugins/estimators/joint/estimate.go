package joint

import (
	"math"
	"slices"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// estimate improves C with all Hessians; if there is none yet, or if the latest
// Hessian is far from diagonal along it, it also tries the eigenvectors of a
// pencil.
func (e *estimator) estimate() {
	best := math.Inf(1)
	if e.c != nil {
		e.c, best = e.improve(e.c)
	}
	if e.fresh < 0.03 {
		return
	}
	ms := make([]*mat.Dense, 0, len(e.seen))
	for k := range e.seen {
		// The first, measured along the axes, is the least accurate.
		if k > 0 || len(e.seen) == 2 {
			ms = append(ms, e.seen[k].along(identity(e.m())))
		}
	}
	if start := pencil(ms, e.mixing); start != nil {
		if c, off := e.improve(start); off < best {
			e.c = c
		}
	}
}

// improve runs the Gauss-Newton iteration from C and returns its result with
// the off-diagonal part that remains; nil and infinity if that is singular.
func (e *estimator) improve(c *mat.Dense) (*mat.Dense, float64) {
	c = mat.DenseCopyOf(c)
	ms := make([]*mat.Dense, len(e.seen))
	trust := make([][]float64, len(e.seen))
	for k := range e.seen {
		t := e.seen[k].into(c)
		ms[k] = congruence(t, e.seen[k].h)
		trust[k] = e.seen[k].trustAlong(t)
	}
	off := gaussNewton(c, ms, trust, 40)
	if w, _ := e.rows(c); w == nil || math.IsNaN(off) || !(mat.Cond(c, 2) < 1e10) {
		return nil, math.Inf(1)
	}
	return c, off
}

// offDiagonal is the root-mean-square length of the rows of h without their
// diagonal entries, relative to the curvatures.
func offDiagonal(h *mat.SymDense) float64 {
	size := curvatures(h)
	var sum float64
	for i, si := range size {
		for j, sj := range size {
			if i != j {
				sum += h.At(i, j) * h.At(i, j) / (si * sj)
			}
		}
	}
	return math.Sqrt(sum / float64(len(size)))
}

// rows returns W = (V_1 C)⁺ with its rows scaled to length one, and the lengths
// they had; nil if V_1 C is singular.
func (e *estimator) rows(c *mat.Dense) (w *mat.Dense, length []float64) {
	inverse, err := core.PseudoInverse(mat.DenseCopyOf(product(e.base, c).T()))
	if err != nil {
		return nil, nil
	}
	w = mat.DenseCopyOf(inverse.T())
	length = make([]float64, e.m())
	for i := range length {
		row := w.RawRowView(i)
		length[i] = mat.Norm(w.RowView(i), 2)
		for j := range row {
			row[j] /= length[i]
		}
	}
	return w, length
}

// farthest is the largest distance of a row of a, those in the given sets left
// out, from the nearest row of b up to sign. All rows have length one.
func farthest(a, b *mat.Dense, but [][]int) float64 {
	cosines := product(a, b.T())
	m, _ := a.Dims()
	var worst float64
	for i := range m {
		if contains(but, i) {
			continue
		}
		nearest := 0
		for j, c := range cosines.RawRowView(i) {
			if math.Abs(c) > math.Abs(cosines.At(i, nearest)) {
				nearest = j
			}
		}
		var sum float64
		sign := math.Copysign(1, cosines.At(i, nearest))
		for j, v := range a.RawRowView(i) {
			r := v - sign*b.At(nearest, j)
			sum += r * r
		}
		worst = max(worst, math.Sqrt(sum))
	}
	return worst
}

// flatGroups returns the sets of directions whose diagonals are proportional
// over the samples: within such a set the directions are not determined.
func (e *estimator) flatGroups() [][]int {
	m := e.m()
	d := mat.NewDense(m, len(e.seen)-1, nil)
	for k := range e.seen[1:] { // the first is too inaccurate
		mk := e.seen[1+k].along(e.c)
		size := make([]float64, m)
		for i := range size {
			size[i] = math.Abs(mk.At(i, i))
		}
		slices.Sort(size)
		for i := range m {
			d.Set(i, k, mk.At(i, i)/max(size[m/2], math.SmallestNonzeroFloat64))
		}
	}
	return groups(m, func(i, j int) bool {
		return sineSquared(d.RawRowView(i), d.RawRowView(j)) < proportional*proportional
	})
}

// sineSquared is the squared sine of the angle between two vectors.
func sineSquared(a, b []float64) float64 {
	var aa, bb, ab float64
	for i := range a {
		aa += a[i] * a[i]
		bb += b[i] * b[i]
		ab += a[i] * b[i]
	}
	if !(aa > 0 && bb > 0) {
		return 1
	}
	// The rest of a beside b, which is exact for nearly parallel vectors.
	var rest float64
	for i := range a {
		r := a[i] - ab/bb*b[i]
		rest += r * r
	}
	return rest / aa
}

// groups returns the sets of two or more of the numbers below m that are
// connected by related pairs.
func groups(m int, related func(i, j int) bool) [][]int {
	label := numbers(m)
	for i := range m {
		for j := i + 1; j < m; j++ {
			if label[i] != label[j] && related(i, j) {
				from, to := label[j], label[i]
				for k := range label {
					if label[k] == from {
						label[k] = to
					}
				}
			}
		}
	}
	sets := make([][]int, m)
	for i, l := range label {
		sets[l] = append(sets[l], i)
	}
	return slices.DeleteFunc(sets, func(s []int) bool { return len(s) < 2 })
}

func contains(sets [][]int, i int) bool {
	return slices.ContainsFunc(sets, func(s []int) bool { return slices.Contains(s, i) })
}
