// Package script lets an estimator be written as a chain of steps, each a need
// and what to do with its answer.
package script

import (
	"context"
	"errors"
	"fmt"

	"github.com/unbraid/unbraid/core"
)

// Step is one need and what follows from its answer. A step without a need
// ends the script.
type Step struct {
	Need core.Need
	Then func(core.Answer) (Step, error)
}

// Hessians is the step that asks for Hessians.
func Hessians(q core.HessianQuery, then func(core.Answer) (Step, error)) Step {
	return Step{Need: core.Need{Hessians: &q}, Then: then}
}

// Script implements core.Estimator. Found is set by the last step.
type Script struct {
	Step  Step
	Found *core.Structure
}

var _ core.Estimator = (*Script)(nil)

// Ask implements core.Estimator.
func (s *Script) Ask(context.Context) (core.Need, error) { return s.Step.Need, nil }

// Tell implements core.Estimator.
func (s *Script) Tell(_ context.Context, a core.Answer) error {
	if err := check(s.Step.Need, a); err != nil {
		return err
	}
	step, err := s.Step.Then(a)
	s.Step = step
	return err
}

// check tests whether an answer has the shape that was asked for.
func check(need core.Need, a core.Answer) error {
	switch {
	case need.Hessians != nil:
		samples, _ := need.Hessians.X.Dims()
		if len(a.Hessians) != samples {
			return fmt.Errorf("%w: %d Hessians for %d samples", core.ErrShape, len(a.Hessians), samples)
		}
		for _, h := range a.Hessians {
			if h.SymmetricDim() != need.Hessians.Directions() {
				return fmt.Errorf("%w: a Hessian of size %d along %d directions", core.ErrShape, h.SymmetricDim(), need.Hessians.Directions())
			}
		}
	case need.Points != nil:
		if points, _ := need.Points.Dims(); len(a.Values) != points {
			return fmt.Errorf("%w: %d values for %d points", core.ErrShape, len(a.Values), points)
		}
	default:
		return fmt.Errorf("%w: an answer that nobody asked for", core.ErrShape)
	}
	return nil
}

// Structure implements core.Estimator.
func (s *Script) Structure(context.Context) (*core.Structure, error) {
	if s.Found == nil {
		return nil, errors.New("the estimator has not finished")
	}
	return s.Found, nil
}
