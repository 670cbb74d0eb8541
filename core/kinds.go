package core

import (
	"context"

	"gonum.org/v1/gonum/mat"
)

// Kind is one of the five kinds of component.
type Kind string

// The five kinds.
const (
	KindObjective Kind = "objective"
	KindHessian   Kind = "hessian"
	KindEstimator Kind = "estimator"
	KindNoise     Kind = "noise"
	KindSolver    Kind = "solver"
)

// Kinds lists the kinds in the order in which people meet them.
var Kinds = []Kind{KindObjective, KindNoise, KindSolver, KindHessian, KindEstimator}

// Objective is a function to be minimised.
type Objective interface {
	// Evaluate writes f(x_i) of every row x_i of x to dst. It keeps neither
	// dst nor x and does not change x.
	Evaluate(ctx context.Context, dst []float64, x *mat.Dense) error
}

// Facts are what is known of an objective. Only the domain is ever shown to a
// solver or an estimator; the rest is for scoring.
type Facts struct {
	// Lower and Upper bound the customary domain, one number a coordinate;
	// nil if the objective has none.
	Lower, Upper []float64
	// Minimum is the smallest value, nil if unknown.
	Minimum *float64
	// Minimiser is a point with the value Minimum, nil if unknown.
	Minimiser []float64
	// Mix is the matrix W that belongs in front of the objective unless the
	// experiment gives another one; nil for none.
	Mix *mat.Dense
}

// Known is an objective of which something is known beforehand.
type Known interface {
	Objective
	Facts() Facts
}

// AskTeller proposes points and is told their values.
type AskTeller interface {
	// Ask returns the next batch; an empty one (nil) means that it is done.
	// The batch belongs to the component, which leaves it alone until Tell.
	Ask(ctx context.Context) (*mat.Dense, error)
	// Tell hands back the values of the batch last asked for. A value may be
	// +Inf (also for points where the objective answered NaN), never NaN.
	Tell(ctx context.Context, f []float64) error
}

// Solver searches for a minimum by ask and tell.
type Solver interface{ AskTeller }

// BudgetListener is a solver that wants to know when its budget is spent.
type BudgetListener interface {
	Solver
	// BudgetSpent is called instead of the last Tell when the budget covered
	// only the first len(f) rows of the batch, possibly none. No Ask follows.
	BudgetSpent(ctx context.Context, f []float64) error
}

// Explainer is a solver that can say why it is done, in one or two words such
// as "stagnation" or "collapse". The loop asks after an empty batch.
type Explainer interface {
	Solver
	Reason() string
}

// Noise is the diffusion of a consensus step.
type Noise interface {
	// Apply writes D(z_i) xi_i to row i of dst, for drift rows z_i and given
	// standard normals xi_i. It is a pure function; dst overlaps neither.
	Apply(ctx context.Context, dst, z, xi *mat.Dense) error
}

// HessianQuery asks for the Hessians of t -> f(x + V t) at t = 0 for every row
// x of X, V having the directions as columns; nil V means the coordinate axes.
type HessianQuery struct {
	X, V *mat.Dense
	// Stretch lengthens automatically chosen steps by this factor; 0 means 1.
	// It is for directions along which f is known to be nearly separable:
	// mixed differences then vanish whatever the step, so that longer steps
	// lessen the rounding errors at no cost.
	Stretch float64
}

// Directions is the number of directions, the size of the Hessians.
func (q HessianQuery) Directions() int {
	if q.V == nil {
		return q.X.RawMatrix().Cols
	}
	return q.V.RawMatrix().Cols
}

// Hessian turns values at stencil points into approximate Hessians. After
// Begin it is asked for points and told values, in as many rounds as it likes,
// until it asks for none; then it hands out its Hessians.
type Hessian interface {
	// Cost is the number of queries that one Hessian takes at the most.
	Cost(directions int) int
	Begin(ctx context.Context, q HessianQuery) error
	AskTeller
	// Hessians returns one matrix for each row of the query's X. They belong
	// to the caller.
	Hessians(ctx context.Context) ([]*mat.SymDense, error)
}

// Need is what an estimator asks for next: Hessians, or plain values of the
// rows of Points, or nothing when it is done.
type Need struct {
	Hessians *HessianQuery
	Points   *mat.Dense
}

// Empty reports whether nothing is needed any more.
func (n Need) Empty() bool { return n.Hessians == nil && n.Points == nil }

// Answer is what an estimator is told: what it asked for, in the same field.
type Answer struct {
	Hessians []*mat.SymDense
	Values   []float64
}

// Estimator finds the structure of an objective from Hessians and values.
type Estimator interface {
	Ask(ctx context.Context) (Need, error)
	Tell(ctx context.Context, a Answer) error
	// Structure returns the estimate once Ask has returned an empty Need.
	Structure(ctx context.Context) (*Structure, error)
}
