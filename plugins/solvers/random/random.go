// Package random is uniform random search, the baseline below which no solver
// should fall.
package random

import (
	"context"
	"math/rand/v2"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

type params struct {
	Batch int `param:"batch" doc:"points that are evaluated together" min:"1" max:"1e5"`
}

// Component describes the solver.
func Component() core.Component {
	return core.NewSolver("random", `Random search: independent points, uniform in the domain.

It learns nothing from the values and goes on until the budget is spent. The
points of a seed do not depend on batch.`,
		params{Batch: 50},
		func(p params, env *core.Env) (core.Solver, error) { return newSolver(p, env) })
}

type solver struct {
	rng          *rand.Rand
	lower, upper []float64
	x            *mat.Dense
}

func newSolver(p params, env *core.Env) (*solver, error) {
	lower, upper, err := env.Box()
	if err != nil {
		return nil, err
	}
	return &solver{rng: env.Rand("points"), lower: lower, upper: upper, x: mat.NewDense(p.Batch, env.Dim, nil)}, nil
}

// Ask implements core.Solver.
func (s *solver) Ask(context.Context) (*mat.Dense, error) {
	rows, _ := s.x.Dims()
	for i := range rows {
		for j, row := 0, s.x.RawRowView(i); j < len(row); j++ {
			row[j] = s.lower[j] + (s.upper[j]-s.lower[j])*s.rng.Float64()
		}
	}
	return s.x, nil
}

// Tell implements core.Solver.
func (s *solver) Tell(context.Context, []float64) error { return nil }
