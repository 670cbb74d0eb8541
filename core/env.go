package core

import "math/rand/v2"

// Env is what a component is given besides its parameters.
type Env struct {
	// Dim is the dimension of the points that the component sees.
	Dim int
	// Budget is the number of queries left when a solver or an estimator
	// starts.
	Budget int
	// Stream is the component's own source of random numbers.
	Stream Stream
	// Lower and Upper are the problem's domain as far as it is known, else nil.
	Lower, Upper []float64
	// Noise is the method's noise model, for solvers that use one; else nil.
	Noise Noise
	// Structure is the estimated structure for a noise model that uses it;
	// else nil.
	Structure *Structure
	// Inner makes a solver of the kind that a parameter of type SolverTable
	// names, for solvers that run others; nil for all others.
	Inner func(env *Env) (Solver, error)
	// HessianCost is what one Hessian along all axes costs, for estimators.
	HessianCost int
}

// Rand returns a generator for one purpose of the component. The same purpose
// gives the same numbers every time, so ask once for each.
func (e *Env) Rand(purpose string) *rand.Rand {
	return e.Stream.Split(purpose).Rand()
}

// Box returns the domain, or an error that says how to give one.
func (e *Env) Box() (lower, upper []float64, err error) {
	if e.Lower == nil || e.Upper == nil {
		return nil, nil, errNoDomain
	}
	return e.Lower, e.Upper, nil
}

var errNoDomain = &unsuitable{"the problem has no domain: give it one, for example domain = [-5.0, 5.0]"}

// unsuitable is an ErrUnsuitable with a reason of its own.
type unsuitable struct{ reason string }

func (e *unsuitable) Error() string        { return e.reason }
func (e *unsuitable) Is(target error) bool { return target == ErrUnsuitable }
