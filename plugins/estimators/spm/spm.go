// Package spm finds the directions of f(x) = sum_j f_j(<x, w_j>) with the
// subspace power method: Algorithm 1 of Fiedler and Roith, Consensus-based
// optimization for linearly separable functions.
//
// Hessians at random points span the space of the matrices w_j w_jᵀ. An
// orthonormal basis of their span comes from a singular value decomposition,
// and the w_j are the local maximisers on the sphere of the length of the
// projection P of v vᵀ onto it, with maximum 1. They are found by gradient
// ascent from random starts.
package spm

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/estimators/internal/certify"
	"github.com/unbraid/unbraid/plugins/estimators/internal/draw"
	"github.com/unbraid/unbraid/plugins/estimators/internal/script"
	"gonum.org/v1/gonum/mat"
)

type params struct {
	Samples  int     `param:"samples" doc:"number of Hessians" min:"1"`
	Radius   float64 `param:"radius" doc:"radius of the ball from which sample points are drawn, around the middle of the domain or, without one, the origin" above:"0"`
	Rank     string  `param:"rank" doc:"how the dimension of the span is found: singular values above the cutoff, or up to the widest gap between two of them" oneof:"cutoff,gap"`
	Cutoff   float64 `param:"cutoff" doc:"singular values of the stacked Hessians above this (absolute) are kept" min:"0"`
	Robust   bool    `param:"robust" doc:"weigh samples by the inverse of their distance from the span, so that a few inaccurate Hessians do not spoil it; the paper does not"`
	Starts   int     `param:"starts" doc:"number of random starts at the most" min:"1"`
	Steps    int     `param:"steps" doc:"number of steps of a start at the most" min:"1"`
	Gamma    float64 `param:"gamma" doc:"step size of the ascent" above:"0"`
	Cosine   float64 `param:"cosine" doc:"two results are the same direction if the absolute cosine of their angle is at least this" above:"0" max:"1"`
	Level    float64 `param:"level" doc:"a result counts only if the squared length of the projection, at most 1, is at least this" min:"0" max:"1"`
	Complete bool    `param:"complete" doc:"fill up the rows to a basis with random ones orthogonal to those found"`
	Retries  int     `param:"retries" doc:"how many samples with values that are not finite are replaced by others" min:"0"`
}

// Component describes the estimator, with the settings of the paper's
// experiment as defaults.
func Component() core.Component {
	return core.NewEstimator("spm", `Subspace power method on many Hessians, the method of the paper.

v <- normalise(v + 2 gamma P(v v') v) from random starts, P being the
projection onto the span of the sampled Hessians, which has its local maxima at
the directions w_j. A start ends when it has converged or comes close to a
direction that has been found already, the search when there is one for each
dimension of the span. Cannot work on quadratic functions. Defaults as in
Fiedler and Roith, Consensus-based optimization for linearly separable
functions; the method is of Kileel and Pereira (2019).`,
		params{Samples: 150, Radius: 20, Rank: "cutoff", Cutoff: 1e-3, Robust: true, Starts: 800, Steps: 200,
			Gamma: 2, Cosine: 0.99, Level: 0.9, Complete: true, Retries: 10},
		func(p params, env *core.Env) (core.Estimator, error) { return newEstimator(p, env) })
}

// together is the number of Hessians asked for at once, which limits memory.
const together = 10

type estimator struct {
	script.Script
	p       params
	env     *core.Env
	region  *draw.Region
	samples *rand.Rand
	stack   *mat.Dense // a vectorised Hessian a row
	seen    int
	retries int
}

func newEstimator(p params, env *core.Env) (*estimator, error) {
	e := &estimator{p: p, env: env, region: draw.NewRegion(env, p.Radius), samples: env.Rand("samples")}
	if need := p.Samples*env.HessianCost + certify.Cost(env.Dim); env.HessianCost > 0 && env.Budget < need {
		return nil, fmt.Errorf("%w: spm needs %d Hessians of up to %d queries each and %d for the certificate, %d in all, and the budget is %d: raise it, or lower samples",
			core.ErrBudget, p.Samples, env.HessianCost, certify.Cost(env.Dim), need, env.Budget)
	}
	e.stack = mat.NewDense(p.Samples, env.Dim*(env.Dim+1)/2, nil)
	e.Step = e.sample()
	return e, nil
}

// sample asks for the next Hessians until there are enough.
func (e *estimator) sample() script.Step {
	n := min(together, e.p.Samples-e.seen)
	q := core.HessianQuery{X: e.region.Sample(n, e.samples)}
	return script.Hessians(q, func(a core.Answer) (script.Step, error) {
		for _, h := range a.Hessians {
			row := e.stack.RawRowView(e.seen)
			vectorise(row, h)
			if finite(row) {
				e.seen++
				continue
			}
			e.retries++
			if e.retries > e.p.Retries {
				return script.Step{}, fmt.Errorf("%w: %d of the samples had values that are not finite: give the problem a domain inside which f is finite, or a smaller radius", core.ErrUnsuitable, e.retries)
			}
		}
		if e.seen < e.p.Samples {
			return e.sample(), nil
		}
		return e.search()
	})
}

func finite(row []float64) bool {
	for _, v := range row {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// search finds the directions in the span of the Hessians.
func (e *estimator) search() (script.Step, error) {
	basis, values, err := span(e.stack)
	if err != nil {
		return script.Step{}, err
	}
	rank := e.rank(values)
	for range 2 {
		if !e.p.Robust || rank == 0 || rank >= e.p.Samples {
			break
		}
		weigh(e.stack, basis, min(rank, e.env.Dim))
		if basis, values, err = span(e.stack); err != nil {
			return script.Step{}, err
		}
		rank = e.rank(values)
	}
	e.stack = nil
	if rank == 0 {
		return script.Step{}, fmt.Errorf("%w: the largest singular value of the Hessians is %.3g, not above the cutoff %.3g: f is constant or linear around the samples, or the cutoff is too large", core.ErrUnsuitable, values[0], e.p.Cutoff)
	}
	_, length := basis.Dims()
	basis = basis.Slice(0, rank, 0, length).(*mat.Dense)
	s := searcher{
		p: e.p, d: e.env.Dim, basis: basis, want: min(rank, e.env.Dim), rng: e.env.Rand("starts"),
	}
	w := s.run()
	found := len(w)
	notes := []string{fmt.Sprintf("%d directions found with %d starts and %d steps in a span of dimension %d", found, s.started, s.stepped, rank)}
	if found == 0 && rank == 1 {
		notes = append(notes, "all Hessians are proportional: f is quadratic, and this method cannot find directions; use the estimator joint")
	}
	if e.p.Complete {
		w = complete(w, e.env.Dim, e.env.Rand("completion"))
	}
	if len(w) == 0 {
		return script.Step{}, fmt.Errorf("%w: no direction was found in the span of the Hessians, of dimension %d: f is not separable, or quadratic, or too few samples were taken", core.ErrUnsuitable, rank)
	}
	rows := mat.NewDense(len(w), e.env.Dim, nil)
	for i, v := range w {
		rows.SetRow(i, v)
	}
	structure, err := core.NewStructure(rows)
	if err != nil {
		return script.Step{}, fmt.Errorf("%w: the directions found are linearly dependent: %v", core.ErrUnsuitable, err)
	}
	return e.certify(structure, found, values, notes), nil
}

// rank is the dimension of the span with the given singular values.
func (e *estimator) rank(values []float64) int {
	if e.p.Rank == "gap" {
		return rankByGap(values, e.env.Dim)
	}
	return rankByCutoff(values, e.p.Cutoff)
}

// certify tests the structure on fresh points and ends the script.
func (e *estimator) certify(s *core.Structure, found int, values []float64, notes []string) script.Step {
	rows, _ := s.W.Dims()
	c := &s.Certificate
	*c = core.Certificate{
		Verdict: core.NotSeparable, Rank: found, SingularValues: values, Residual: 1,
		Condition: mat.Cond(s.W, 2), Notes: notes,
	}
	for i := found; i < rows; i++ {
		c.Unidentified = append(c.Unidentified, i)
	}
	if found == 0 {
		e.Found = s
		return script.Step{}
	}
	limit := certify.SearchPerRow * rows
	if e.env.HessianCost > 0 {
		spent := (e.p.Samples+e.retries)*e.env.HessianCost + certify.Cost(rows)
		limit = max(0, min(limit, e.env.Budget-spent))
	}
	subject := certify.Subject{Structure: s, Found: found, Curved: found, Region: e.region, Rand: e.env.Rand("certificate"), Limit: limit}
	return certify.Run(subject, func(r certify.Result) (script.Step, error) {
		c.Verdict, c.Residual, c.Blocks = r.Verdict(found), r.Residual, r.Blocks
		c.Notes = append(c.Notes, r.Notes()...)
		e.Found = s
		return script.Step{}, nil
	})
}

// complete appends random unit vectors that are orthogonal to all before them
// until there are d.
func complete(w [][]float64, d int, rng *rand.Rand) [][]float64 {
	if len(w) == d {
		return w
	}
	// The orthogonal factor of the rows found, followed by random columns.
	a := mat.NewDense(d, d, nil)
	for j := range d {
		column := make([]float64, d)
		draw.Direction(column, rng)
		if j < len(w) {
			column = w[j]
		}
		a.SetCol(j, column)
	}
	var qr mat.QR
	qr.Factorize(a)
	var q mat.Dense
	qr.QTo(&q)
	for j := len(w); j < d; j++ {
		w = append(w, mat.Col(nil, j, &q))
	}
	return w
}
