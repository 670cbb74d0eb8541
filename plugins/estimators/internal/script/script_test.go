package script

import (
	"context"
	"errors"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

func TestAnswersAreChecked(t *testing.T) {
	ctx := context.Background()
	done := func(core.Answer) (Step, error) { return Step{}, nil }
	hessian := Hessians(core.HessianQuery{X: mat.NewDense(1, 3, nil)}, done)
	points := Step{Need: core.Need{Points: mat.NewDense(2, 3, nil)}, Then: done}
	for name, c := range map[string]struct {
		step   Step
		answer core.Answer
		good   bool
	}{
		"good Hessian":     {hessian, core.Answer{Hessians: []*mat.SymDense{mat.NewSymDense(3, nil)}}, true},
		"no Hessian":       {hessian, core.Answer{}, false},
		"small Hessian":    {hessian, core.Answer{Hessians: []*mat.SymDense{mat.NewSymDense(2, nil)}}, false},
		"good values":      {points, core.Answer{Values: make([]float64, 2)}, true},
		"too few values":   {points, core.Answer{Values: make([]float64, 1)}, false},
		"nothing expected": {Step{}, core.Answer{Values: make([]float64, 1)}, false},
	} {
		s := &Script{Step: c.step}
		if err := s.Tell(ctx, c.answer); c.good != (err == nil) || !c.good && !errors.Is(err, core.ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := new(Script).Structure(ctx); err == nil {
		t.Error("a structure before the end")
	}
}
