package cmaes

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/core/kernel"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// evolution is one run of the (mu/mu_w, lambda)-CMA-ES, from a start point to
// the first stopping criterion. Points are x_j = mean_j + sigma scale_j y_j
// with y ~ N(0, C) and C = B diag(D^2) B'. All matrices are kept by rows.
type evolution struct {
	*strategy
	scale []float64 // fixed scale of each coordinate, at most 1
	box   *boxMap   // maps points into the domain; nil for none

	mean  []float64
	sigma float64
	cov   []float64 // C, its lower triangle
	basis []float64 // B
	axis  []float64 // D
	// The paths p_sigma and p_c.
	pathSigma, pathC []float64
	generation       int // completed updates
	decomposed       int // the generation that basis and axis belong to

	// The samples z, their steps y = B D z and the points made of them.
	z, y, x *mat.Dense
	order   []int // of the samples, best first
	// The weighted means of the best samples and steps.
	meanZ, meanY []float64
	coefficients []float64 // of the rank-mu update, by rank
	scratch      []float64 // n-by-n
	eigen        *eigen

	stopping
}

// newEvolution starts a run with standard deviations sigma scale_j around
// start, which it keeps.
func newEvolution(start, scale []float64, sigma float64, s *strategy, lim limits, box *boxMap) *evolution {
	n := len(start)
	e := &evolution{
		strategy: s, scale: scale, box: box, mean: start, sigma: sigma,
		cov: make([]float64, n*n), basis: make([]float64, n*n), axis: make([]float64, n),
		pathSigma: make([]float64, n), pathC: make([]float64, n),
		z: mat.NewDense(s.lambda, n, nil), y: mat.NewDense(s.lambda, n, nil), x: mat.NewDense(s.lambda, n, nil),
		order: make([]int, s.lambda), meanZ: make([]float64, n), meanY: make([]float64, n),
		coefficients: make([]float64, s.lambda), scratch: make([]float64, n*n), eigen: newEigen(n),
		stopping: newStopping(lim, n, s.lambda, start, sigma),
	}
	for j := range n {
		e.cov[j*n+j], e.basis[j*n+j], e.axis[j] = 1, 1, 1
	}
	return e
}

// ask samples a generation. The points belong to e and last until the next.
func (e *evolution) ask(rng *rand.Rand) *mat.Dense {
	kernel.Normals(e.z.RawMatrix().Data, rng)
	n := len(e.mean)
	for k := range e.lambda {
		point, step := e.x.RawRowView(k), e.y.RawRowView(k)
		floats.MulTo(point, e.z.RawRowView(k), e.axis)
		blas64.Gemv(blas.NoTrans, 1, leading(e.basis, n, n), vector(point), 0, vector(step))
		for j, m := range e.mean {
			point[j] = m + e.sigma*e.scale[j]*step[j]
		}
		if e.box != nil {
			e.box.apply(point)
		}
	}
	return e.x
}

// tell takes the values of the points of ask.
func (e *evolution) tell(f []float64) error {
	if len(f) != e.lambda {
		return fmt.Errorf("%w: %d values for a generation of %d points", core.ErrShape, len(f), e.lambda)
	}
	e.update(f)
	return nil
}

// update completes a generation: it learns from the ranking of the values and
// applies the stopping criteria.
func (e *evolution) update(f []float64) {
	for k := range e.order {
		e.order[k] = k
	}
	slices.SortFunc(e.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(f[a], f[b]), a-b)
	})
	e.generation++
	e.moveMean()
	waits := e.extendPaths()
	e.learnCovariance(waits)
	growth := e.cSigma / e.dSigma * (floats.Norm(e.pathSigma, 2)/e.chi - 1)
	e.sigma *= math.Exp(max(-1, min(1, growth)))
	limited := e.box != nil && e.box.limitSpread(e.cov, e.scale, e.sigma)

	e.stop = e.criterion(e, f)
	if e.stop == "" && (limited || float64(e.generation-e.decomposed) >= e.gap) {
		e.decomposed = e.generation
		if condition := e.refreshBasis(); !(condition <= e.tolCondition) {
			e.stop = "conditioncov"
		}
	}
}

// moveMean moves the mean by sigma times the weighted mean of the mu best
// steps.
func (e *evolution) moveMean() {
	clear(e.meanZ)
	clear(e.meanY)
	for i, w := range e.weights[:e.mu] {
		floats.AddScaled(e.meanZ, w, e.z.RawRowView(e.order[i]))
		floats.AddScaled(e.meanY, w, e.y.RawRowView(e.order[i]))
	}
	for j, v := range e.meanY {
		e.mean[j] += e.sigma * e.scale[j] * v
	}
}

// extendPaths adds the step of the mean to both paths. While the step-size path
// is long, sigma is about to grow and the rank-one path waits: it decays only.
func (e *evolution) extendPaths() (waits bool) {
	n := len(e.mean)
	// C^(-1/2) times the mean step is B times the mean sample.
	gain := math.Sqrt(e.cSigma * (2 - e.cSigma) * e.muEff)
	blas64.Gemv(blas.NoTrans, gain, leading(e.basis, n, n), vector(e.meanZ), 1-e.cSigma, vector(e.pathSigma))
	square := floats.Dot(e.pathSigma, e.pathSigma) / (1 - math.Pow(1-e.cSigma, 2*float64(e.generation)))
	waits = square >= float64(n)*(2+4/float64(n+1))

	floats.Scale(1-e.cC, e.pathC)
	if !waits {
		floats.AddScaled(e.pathC, math.Sqrt(e.cC*(2-e.cC)*e.muEff), e.meanY)
	}
	return waits
}

// learnCovariance makes the rank-one and the rank-mu update of C.
func (e *evolution) learnCovariance(waits bool) {
	decay := 1 - e.c1 - e.cMu*e.weightSum
	if waits { // makes up for the step that the path lacks
		decay += e.c1 * e.cC * (2 - e.cC)
	}
	for i, w := range e.weights {
		if w < 0 {
			// A long step must not make C indefinite: its Mahalanobis
			// length, the length of z, is set to sqrt(n).
			z := e.z.RawRowView(e.order[i])
			w *= float64(len(z)) / (floats.Dot(z, z) + math.SmallestNonzeroFloat64)
		}
		e.coefficients[i] = e.cMu * w
	}
	updateCovariance(e.cov, decay, e.c1, e.pathC, e.coefficients, e.y.RawMatrix().Data, e.order)
}

// refreshBasis decomposes C into basis and axis and returns its condition
// number, +Inf if C is not positive definite.
func (e *evolution) refreshBasis() float64 {
	mirror(e.scratch, e.cov, len(e.axis))
	if !e.eigen.decompose(e.scratch, e.axis) {
		return math.Inf(1)
	}
	least, most := floats.Min(e.axis), floats.Max(e.axis)
	if !(least > 0) {
		return math.Inf(1)
	}
	for i, v := range e.axis {
		e.axis[i] = math.Sqrt(v)
	}
	transpose(e.basis, e.scratch, len(e.axis))
	return most / least
}

// updateCovariance sets, in the lower triangle of cov,
//
//	C <- decay C + rate p p' + sum_i coefficients_i y_i y_i'
//
// where y_i is row order[i] of y.
func updateCovariance(cov []float64, decay, rate float64, p, coefficients, y []float64, order []int) {
	n := len(p)
	for j := range n {
		row := cov[j*n : j*n+j+1]
		floats.Scale(decay, row)
		floats.AddScaled(row, rate*p[j], p[:j+1])
		for i, c := range coefficients {
			step := y[order[i]*n : order[i]*n+j+1]
			floats.AddScaled(row, c*step[j], step)
		}
	}
}

// mirror sets dst to the symmetric n-by-n matrix with the lower triangle of a.
func mirror(dst, a []float64, n int) {
	for i := range n {
		for j, v := range a[i*n : i*n+i+1] {
			dst[i*n+j], dst[j*n+i] = v, v
		}
	}
}

// transpose sets dst to the transpose of the n-by-n matrix a.
func transpose(dst, a []float64, n int) {
	for i := range n {
		for j, v := range a[i*n : (i+1)*n] {
			dst[j*n+i] = v
		}
	}
}
