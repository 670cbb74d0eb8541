// Package central approximates Hessians with the four-point stencil of the
// paper.
package central

import (
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/hessians/internal/stencil"
)

type params struct {
	Step float64 `param:"step" doc:"step along every direction, in units of its length (the paper takes 1e-3); 0 chooses one for each direction and sample from the observed curvature and rounding error" min:"0"`
}

// Component describes the approximator; by default it chooses its steps.
func Component() core.Component {
	return core.NewHessian("central", `The four-point stencil for every pair of directions: 2 d^2 + 1 queries.

H_ij = [f(x+i+j) - f(x+i-j) - f(x-i+j) + f(x-i-j)] / (4 h_i h_j), x+i being x
moved by h_i along direction i. For i = j two of the four points are x itself
and the others x moved by 2 h_i; no point is asked for twice, so that one
Hessian takes 2 d^2 + 1 queries rather than the 2 (d^2 + d) of counting four a
pair. Automatic steps add 8 queries and usually 2 to 6, at most 16, for each
direction. A sample with a value that is not finite gets a matrix of NaN.
Fiedler and Roith, Consensus-based optimization for linearly separable
functions.`,
		params{},
		func(p params, env *core.Env) (core.Hessian, error) {
			return stencil.New(rule, p.Step, env), nil
		})
}

var rule = stencil.Rule{
	Reach: 2,
	Signs: [][2]float64{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}},
	Mixed: func(pair []float64, _ float64) float64 {
		return ((pair[0] - pair[1]) - (pair[2] - pair[3])) / 4
	},
}
