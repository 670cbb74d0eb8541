package joint

import (
	"fmt"
	"math"
	"slices"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/estimators/internal/certify"
	"github.com/unbraid/unbraid/plugins/estimators/internal/script"
	"gonum.org/v1/gonum/mat"
)

// certify tests the estimate and ends the script.
func (e *estimator) certify() (script.Step, error) {
	w := e.linear
	if e.base != nil {
		w, _ = e.rows(e.c)
		if w == nil {
			w, _ = e.rows(identity(e.m()))
			e.note("the directions found are linearly dependent; those of the first Hessian are returned")
		}
		if w == nil {
			return script.Step{}, fmt.Errorf("%w: the Hessian of f is too close to singular to find directions: f may be constant, or known to too few digits", core.ErrUnsuitable)
		}
		if e.linear != nil {
			stacked := new(mat.Dense)
			stacked.Stack(w, e.linear)
			w = stacked
		}
	}
	found, err := core.NewStructure(w)
	if err != nil {
		return script.Step{}, fmt.Errorf("%w: the directions found are linearly dependent: %v", core.ErrUnsuitable, err)
	}
	rows, _ := w.Dims()
	limit := certify.SearchPerRow * rows
	if e.env.HessianCost > 0 {
		limit = max(0, min(limit, e.left-certify.Cost(rows)))
	}
	curved := rows
	if e.linear != nil {
		curved--
	}
	subject := certify.Subject{Structure: found, Found: rows, Curved: curved, Region: e.region, Rand: e.probes, Limit: limit}
	return certify.Run(subject, func(r certify.Result) (script.Step, error) {
		e.judge(found, r)
		e.Found = found
		return script.Step{}, nil
	}), nil
}

// judge fills in the certificate.
func (e *estimator) judge(found *core.Structure, r certify.Result) {
	rows, _ := found.W.Dims()
	var free []int
	for _, g := range e.groups {
		free = append(free, g...)
	}
	slices.Sort(free)
	verdict := r.Verdict(rows)
	if off := e.unexplained(r.Blocks); verdict != core.NotSeparable && off > 0.05 {
		verdict = core.NotSeparable
		e.note("the latest Hessian is not diagonal along the rows: its off-diagonal part is %.1e of the diagonal", off)
	}
	if verdict == core.Separable && e.base != nil && len(e.groups) == 1 && len(free) == e.m() {
		verdict = core.Quadratic
	}
	found.Certificate = core.Certificate{
		Verdict: verdict, Rank: rows, SingularValues: e.values, Residual: r.Residual,
		Condition: mat.Cond(found.W, 2), Unidentified: free, Blocks: r.Blocks, Notes: append(e.notes, r.Notes()...),
	}
}

// unexplained is the off-diagonal part of the latest Hessian measured along an
// estimate, blocks left out; 0 if there is none.
func (e *estimator) unexplained(blocks [][]int) float64 {
	if math.IsInf(e.fresh, 1) {
		return 0
	}
	h := symmetric(e.seen[len(e.seen)-1].along(e.c))
	for _, block := range blocks {
		for _, i := range block {
			for _, j := range block {
				if i < j && j < e.m() {
					h.SetSym(i, j, 0)
				}
			}
		}
	}
	return offDiagonal(h)
}
