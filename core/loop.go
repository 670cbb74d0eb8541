package core

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// End says why a loop ended.
type End string

// The ends of a loop that went well.
const (
	EndDone   End = "done"   // the solver had nothing more to ask
	EndBudget End = "budget" // the budget is spent
	EndTarget End = "target" // the target is reached and the loop was to stop there
)

// Solve runs a solver against a metered objective until the solver is done or
// the budget is spent or, with stopAtTarget, a batch has reached the target.
//
// view is what the solver sees: the meter itself, or an objective that passes
// on to it, for example after a change of coordinates. A batch that does not
// fit into the budget is cut: its first rows are still evaluated, and the
// solver is told through BudgetListener.
//
// An End other than the constants is the reason an Explainer gave.
func Solve(ctx context.Context, meter *Meter, view Objective, solver Solver, stopAtTarget bool) (End, error) {
	reached := func() bool { return stopAtTarget && meter.QueriesToTarget() > 0 }
	if reached() { // while estimating
		return EndTarget, nil
	}
	var values []float64
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		x, err := solver.Ask(ctx)
		if err != nil {
			return "", err
		}
		rows := 0
		if x != nil {
			rows, _ = x.Dims()
		}
		if rows == 0 {
			if e, ok := solver.(Explainer); ok && e.Reason() != "" {
				return End(e.Reason()), nil
			}
			return EndDone, nil
		}
		fit := min(rows, meter.Left())
		if cap(values) < fit {
			values = make([]float64, fit)
		}
		values = values[:fit]
		if fit > 0 {
			if fit < rows {
				x = x.Slice(0, fit, 0, x.RawMatrix().Cols).(*mat.Dense)
			}
			if err := view.Evaluate(ctx, values, x); err != nil {
				return "", err
			}
			if reached() {
				return EndTarget, nil
			}
		}
		if fit < rows {
			if l, ok := solver.(BudgetListener); ok {
				err = l.BudgetSpent(ctx, values)
			}
			return EndBudget, err
		}
		if err := solver.Tell(ctx, values); err != nil {
			return "", err
		}
	}
}

// Estimate runs an estimator: it gets it the Hessians and values it asks for,
// all of them through the meter, and returns the structure found.
func Estimate(ctx context.Context, meter *Meter, hessian Hessian, estimator Estimator) (*Structure, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		need, err := estimator.Ask(ctx)
		if err != nil {
			return nil, err
		}
		if need.Empty() {
			found, err := estimator.Structure(ctx)
			if err == nil {
				err = found.check(len(meter.bestX))
			}
			return found, err
		}
		var answer Answer
		if need.Hessians != nil {
			answer.Hessians, err = hessians(ctx, meter, hessian, *need.Hessians)
		} else {
			answer.Values, err = values(ctx, meter, need.Points)
		}
		if err != nil {
			return nil, err
		}
		if err := estimator.Tell(ctx, answer); err != nil {
			return nil, err
		}
	}
}

func values(ctx context.Context, meter *Meter, x *mat.Dense) ([]float64, error) {
	rows, _ := x.Dims()
	if rows > meter.Left() {
		return nil, fmt.Errorf("%w: the estimator needs %d more queries and %d are left", ErrBudget, rows, meter.Left())
	}
	f := make([]float64, rows)
	return f, meter.Evaluate(ctx, f, x)
}

func hessians(ctx context.Context, meter *Meter, h Hessian, q HessianQuery) ([]*mat.SymDense, error) {
	samples, _ := q.X.Dims()
	if cost := h.Cost(q.Directions()); samples*cost > meter.Left() {
		return nil, fmt.Errorf("%w: %d Hessians along %d directions need up to %d queries each, %d in all, and %d are left", ErrBudget, samples, q.Directions(), cost, samples*cost, meter.Left())
	}
	if err := h.Begin(ctx, q); err != nil {
		return nil, err
	}
	for {
		x, err := h.Ask(ctx)
		if err != nil {
			return nil, err
		}
		if x == nil || x.IsEmpty() {
			break
		}
		f, err := values(ctx, meter, x)
		if err != nil {
			return nil, err
		}
		if err := h.Tell(ctx, f); err != nil {
			return nil, err
		}
	}
	found, err := h.Hessians(ctx)
	if err == nil && len(found) != samples {
		err = fmt.Errorf("%w: %d Hessians instead of %d", ErrShape, len(found), samples)
	}
	return found, err
}
