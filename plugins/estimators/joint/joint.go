// Package joint finds the directions of f(x) = sum_j f_j(<x, w_j>) by joint
// diagonalisation of a few Hessians.
//
// Every Hessian is H_k = Wᵀ D_k W with a diagonal D_k, so that V = W⁺ makes all
// VᵀH_kV = D_k diagonal at once, and two Hessians already determine V unless
// some entries of D_1 and D_2 are proportional. Accuracy is a matter of the
// coordinates in which Hessians are measured:
//
//  1. One Hessian along the axes gives V_1 = U |Λ|^(-1/2), along which f is
//     about equally curved everywhere, whatever the condition of W.
//  2. A second one is measured along V_1. Directions along which f does not
//     change now stand out and are dropped. If both are proportional, f is
//     quadratic and any V with VᵀHV = I will do.
//  3. Otherwise the eigenvectors of a pencil and a Gauss-Newton iteration give
//     a first V, and each further Hessian is measured along the latest V. Mixed
//     differences along the true V vanish for any step, so that long steps and
//     hence small rounding errors are possible. A Hessian was not used for the
//     V along which it was measured, so it tells how wrong that V was; there is
//     one more until it moves no row.
package joint

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/estimators/internal/certify"
	"github.com/unbraid/unbraid/plugins/estimators/internal/draw"
	"github.com/unbraid/unbraid/plugins/estimators/internal/script"
	"gonum.org/v1/gonum/mat"
)

type params struct {
	Samples   int     `param:"samples" doc:"number of Hessians at the most" min:"3"`
	Tolerance float64 `param:"tolerance" doc:"stop when the latest Hessian, measured along the rows found before it, moves no row farther than this; the rows are then usually ten times closer to the truth" above:"0"`
	Radius    float64 `param:"radius" doc:"radius of the ball from which sample points are drawn, around the middle of the domain; 0 means the inner half of the domain, or without a domain a radius of 1.5 sqrt(d)" min:"0"`
	Retries   int     `param:"retries" doc:"how many samples with values that are not finite are replaced by others" min:"0"`
}

// Component describes the estimator.
func Component() core.Component {
	return core.NewEstimator("joint", `Joint diagonalisation of a few Hessians, with refinement in the recovered coordinates.

All Hessians W' D_k W of a separable function are diagonal along the columns of
the pseudo-inverse of W. One Hessian along the axes gives well-conditioned
directions, a second one along these a first estimate, and each further one is
measured along the latest estimate, until it moves no row: about 5 to 7 Hessians
in all, 2 for a quadratic function. Works for indefinite and ill-conditioned Hessians, for fewer rows than
dimensions, and for quadratic functions, which it whitens. The estimate is
tested on fresh points.`,
		params{Samples: 12, Tolerance: 3e-5, Retries: 10},
		func(p params, env *core.Env) (core.Estimator, error) { return newEstimator(p, env) })
}

const (
	// stretch lengthens the steps along directions that have been found.
	stretch = 10
	// weak is the part of the largest singular value below which a direction
	// may be one along which f does not change.
	weak = 1e-4
	// unchanged is the part of a typical change of f below which f counts as
	// constant along a direction.
	unchanged = 1e-9
	// proportional is the sine of the angle between diagonals over the samples
	// below which they count as proportional.
	proportional = 1e-4
)

type estimator struct {
	script.Script
	p      params
	env    *core.Env
	region *draw.Region
	// Sources of sample points, of combinations in pencils, of probes.
	samples, mixing, probes *rand.Rand

	unit    float64 // the largest entry of the latest Hessian, by which it was divided
	left    int     // queries that the budget still allows, at least
	retries int     // samples that have been replaced
	notes   []string
	values  []float64 // singular values of the first Hessian, for the certificate

	base   *mat.Dense // V_1: columns are directions
	linear *mat.Dense // a direction along which f is only linear, as a row; or nil
	seen   []observation
	c      *mat.Dense // the estimate is V = V_1 C

	fresh    float64 // off-diagonal part of the latest Hessian measured along an estimate
	stagnant int     // how many in a row have not been clearly more diagonal than the one before
	moved    float64 // how far the latest Hessian moved a row
	groups   [][]int // rows that the samples do not determine
}

func newEstimator(p params, env *core.Env) (*estimator, error) {
	e := &estimator{
		p: p, env: env, region: draw.NewRegion(env, p.Radius), left: env.Budget,
		samples: env.Rand("samples"), mixing: env.Rand("pencil"), probes: env.Rand("probes"),
		fresh: math.Inf(1),
	}
	if need := 3*env.HessianCost + overhead(env.Dim); env.HessianCost > 0 && env.Budget < need {
		return nil, fmt.Errorf("%w: joint needs at least three Hessians of up to %d queries each and %d for probes and the certificate, %d in all, and the budget is %d",
			core.ErrBudget, env.HessianCost, overhead(env.Dim), need, env.Budget)
	}
	e.Step = e.alongAxes()
	return e, nil
}

// overhead is the number of queries beside the Hessians in d dimensions.
func overhead(d int) int { return certify.Cost(d) + 4*probesCost(d) }

// affords reports whether the budget allows another Hessian along m directions
// and the certificate after it.
func (e *estimator) affords(m int) bool {
	return e.env.HessianCost == 0 || e.left >= e.cost(m)+certify.Cost(m)
}

// cost is an upper bound of the queries for a Hessian along m directions: the
// number grows faster than m.
func (e *estimator) cost(m int) int {
	return 16 + e.env.HessianCost*m/e.env.Dim
}

// hessian asks for one Hessian along V (nil: the axes), scaled so that its
// largest entry is 1, and retries at another point when it is not finite.
func (e *estimator) hessian(v *mat.Dense, stretch float64, then func(*mat.SymDense) (script.Step, error)) script.Step {
	q := core.HessianQuery{X: e.region.Sample(1, e.samples), V: v, Stretch: stretch}
	e.left -= e.cost(q.Directions())
	return script.Hessians(q, func(a core.Answer) (script.Step, error) {
		h := a.Hessians[0]
		if finite(h) {
			if e.unit = max(mat.Max(h), -mat.Min(h)); e.unit < 1e-300 {
				e.unit = 1 // nothing is gained by dividing zeros
			}
			h.ScaleSym(1/e.unit, h)
			return then(h)
		}
		e.retries++
		if e.retries > e.p.Retries {
			return script.Step{}, fmt.Errorf("%w: %d of the samples had values that are not finite: give the problem a domain inside which f is finite, or a smaller radius", core.ErrUnsuitable, e.retries)
		}
		if !e.affords(q.Directions()) {
			return script.Step{}, fmt.Errorf("%w: %d of the samples had values that are not finite, and the budget does not allow more: give the problem a domain inside which f is finite, or a smaller radius", core.ErrUnsuitable, e.retries)
		}
		return e.hessian(v, stretch, then), nil
	})
}

func finite(h *mat.SymDense) bool {
	for i := range h.SymmetricDim() {
		for j := i; j < h.SymmetricDim(); j++ {
			if v := h.At(i, j); math.IsNaN(v) || math.IsInf(v, 0) {
				return false
			}
		}
	}
	return true
}

// alongAxes is the first step: V_1 from the eigenvectors of one Hessian.
func (e *estimator) alongAxes() script.Step {
	return e.hessian(nil, 1, func(h *mat.SymDense) (script.Step, error) {
		u, size, err := eigen(h)
		if err != nil {
			return script.Step{}, err
		}
		e.base = u
		for _, s := range size {
			e.values = append(e.values, e.unit*s)
		}
		e.observe(h, u, 1)
		return e.trim(size, e.secondHessian), nil
	})
}

// eigen returns orthonormal eigenvectors as columns and the absolute
// eigenvalues, in descending order.
func eigen(h *mat.SymDense) (u *mat.Dense, size []float64, err error) {
	var es mat.EigenSym
	if !es.Factorize(h, true) {
		return nil, nil, fmt.Errorf("%w: the eigenvalues of a Hessian could not be computed", core.ErrUnsuitable)
	}
	values := es.Values(nil)
	var vectors mat.Dense
	es.VectorsTo(&vectors)
	order := numbers(len(values))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(values[b]), math.Abs(values[a])) })
	size = make([]float64, len(values))
	for i, from := range order {
		size[i] = math.Abs(values[from])
	}
	return columns(&vectors, order), size, nil
}

// columns returns the given columns of a.
func columns(a *mat.Dense, which []int) *mat.Dense {
	rows, _ := a.Dims()
	out := mat.NewDense(rows, len(which), nil)
	for i := range rows {
		from, to := a.RawRowView(i), out.RawRowView(i)
		for j, w := range which {
			to[j] = from[w]
		}
	}
	return out
}

// numbers returns 0, ..., n-1.
func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// change replaces V_1 by V_1 T.
func (e *estimator) change(t *mat.Dense) {
	e.base = product(e.base, t)
	for i := range e.seen {
		if o := &e.seen[i]; o.from != nil {
			o.from = product(o.from, t)
		} else {
			o.from = t
		}
	}
}

func product(a, b mat.Matrix) *mat.Dense {
	var p mat.Dense
	p.Mul(a, b)
	return &p
}

// secondHessian measures along V_1 and so finds out whether f is quadratic.
func (e *estimator) secondHessian() (script.Step, error) {
	return e.hessian(e.base, 1, func(h *mat.SymDense) (script.Step, error) {
		e.observe(h, nil, 1)
		// In these coordinates a direction without any effect stands out, as
		// errors are no longer relative to the largest curvature of all.
		u, size, err := eigen(h)
		if err != nil {
			return script.Step{}, err
		}
		if size[len(size)-1] > weak*size[0] {
			return e.decide()
		}
		e.change(u)
		return e.trim(size, e.decide), nil
	}), nil
}

// decide whitens if f looks quadratic and goes on sampling otherwise.
func (e *estimator) decide() (script.Step, error) {
	m := e.m()
	first, second := e.seen[0].along(identity(m)), e.seen[1].along(identity(m))
	if angle(first, second) <= proportional {
		u, size, err := eigen(symmetric(second))
		if err != nil {
			return script.Step{}, err
		}
		for i, s := range size {
			size[i] = 1 / math.Sqrt(max(s, 1e-14*size[0]))
		}
		scaleColumns(u, size)
		e.c = u
		if m > 1 { // a single direction is determined in any case
			e.groups = [][]int{numbers(m)}
		}
		return e.certify()
	}
	return e.fit()
}

// angle is the sine of the angle between two matrices as vectors.
func angle(a, b *mat.Dense) float64 {
	var ab, bb mat.Dense
	ab.MulElem(a, b)
	bb.MulElem(b, b)
	square := mat.Sum(&bb)
	if !(square > 0) {
		return 1
	}
	var rest mat.Dense
	rest.Scale(-mat.Sum(&ab)/square, b)
	rest.Add(a, &rest)
	return mat.Norm(&rest, 2) / mat.Norm(a, 2)
}

func identity(m int) *mat.Dense {
	id := mat.NewDense(m, m, nil)
	for i := range m {
		id.Set(i, i, 1)
	}
	return id
}

// fit improves the estimate with all Hessians seen so far and decides what to
// do next.
func (e *estimator) fit() (script.Step, error) {
	var before *mat.Dense
	if e.c != nil {
		before, _ = e.rows(e.c)
	}
	e.estimate()
	if e.c == nil {
		return e.withoutEstimate()
	}
	if len(e.seen) > 3 { // with fewer, diagonals are proportional by chance
		e.groups = e.flatGroups()
	}
	after, _ := e.rows(e.c)
	e.moved = 2 // as far as can be
	if before != nil {
		e.moved = farthest(after, before, e.groups)
	}
	switch {
	case e.moved <= e.p.Tolerance || e.stagnant == 2:
		return e.certify()
	case len(e.seen) >= e.p.Samples || !e.affords(e.m()):
		e.note("stopped after %d Hessians, the most that samples or the budget allow; the last one still moved a row by %.1e", len(e.seen), e.moved)
		return e.certify()
	}
	return e.measure()
}

// withoutEstimate measures along V_1 once more when the Hessians so far do not
// give useful directions, and gives up after that.
func (e *estimator) withoutEstimate() (script.Step, error) {
	if len(e.seen) < 4 && e.affords(e.m()) {
		return e.hessian(e.base, 1, func(h *mat.SymDense) (script.Step, error) {
			e.observe(h, nil, 1)
			return e.fit()
		}), nil
	}
	e.c = identity(e.m())
	e.note("the Hessians of the samples have no common diagonalising directions")
	return e.certify()
}

// measure asks for a Hessian along the estimate, in units of z = Wx.
func (e *estimator) measure() (script.Step, error) {
	_, length := e.rows(e.c)
	scaleColumns(e.c, length)
	c := mat.DenseCopyOf(e.c)
	return e.hessian(product(e.base, c), stretch, func(h *mat.SymDense) (script.Step, error) {
		off := offDiagonal(h)
		if off > e.fresh/2 {
			e.stagnant++
		} else {
			e.stagnant = 0
		}
		e.fresh = off
		var from mat.Dense
		// improve has made sure that C is regular enough.
		_ = from.Inverse(c)
		e.observe(h, &from, off)
		return e.fit()
	}), nil
}

// m is the number of directions that are looked for.
func (e *estimator) m() int {
	_, m := e.base.Dims()
	return m
}

func (e *estimator) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}
