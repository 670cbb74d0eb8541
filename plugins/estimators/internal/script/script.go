// Package script lets an estimator be written as a chain of steps, each a need
// and what to do with its answer.
package script

import (
	"context"
	"errors"

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
	step, err := s.Step.Then(a)
	s.Step = step
	return err
}

// Structure implements core.Estimator.
func (s *Script) Structure(context.Context) (*core.Structure, error) {
	if s.Found == nil {
		return nil, errors.New("the estimator has not finished")
	}
	return s.Found, nil
}
