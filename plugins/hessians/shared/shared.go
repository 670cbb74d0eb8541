// Package shared approximates Hessians with a stencil whose pairs share the
// points on the axes: half the queries of the four-point stencil.
package shared

import (
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/hessians/internal/stencil"
)

type params struct {
	Step float64 `param:"step" doc:"step along every direction, in units of its length; 0 chooses one for each direction and sample from the observed curvature and rounding error" min:"0"`
}

// Component describes the approximator; by default it chooses its steps.
func Component() core.Component {
	return core.NewHessian("shared", `Second differences that share the points on the axes: d^2 + d + 1 queries.

H_ii = [f(x+i) + f(x-i) - 2 f(x)] / h_i^2 and
H_ij = [f(x+i+j) + f(x-i-j) - f(x+i) - f(x-i) - f(x+j) - f(x-j) + 2 f(x)] / (2 h_i h_j),
x+i being x moved by h_i along direction i. The error is of order h^2, as with
the four-point stencil. Automatic steps add 8 queries and usually 2 to 6, at
most 16, for each direction. A sample with a value that is not finite gets a
matrix of NaN.`,
		params{},
		func(p params, env *core.Env) (core.Hessian, error) {
			return stencil.New(rule, p.Step, env), nil
		})
}

var rule = stencil.Rule{
	Reach: 1,
	Signs: [][2]float64{{1, 1}, {-1, -1}},
	Mixed: func(pair []float64, axes float64) float64 {
		return (pair[0] + pair[1] - axes) / 2
	},
}
