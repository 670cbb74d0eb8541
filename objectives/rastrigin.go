package objectives

import (
	"math"

	"github.com/unbraid/unbraid/core"
)

type rastriginParams struct {
	A     float64 `param:"A" doc:"height of the ripples" min:"0" max:"1e6"`
	Shift float64 `param:"shift" doc:"the minimiser is moved by a vector uniform on [-shift, shift]^d" min:"0" max:"1e6"`
}

// Rastrigin is Rastrigin's function.
func Rastrigin() core.Component {
	return core.NewObjective("rastrigin", `Rastrigin's function: a bowl with about 10^d local minima.

f(x) = A d + sum_j (x_j - b_j)^2 - A cos(2 pi (x_j - b_j)), minimum 0 at b.
Domain [-5.12, 5.12]^d. Rastrigin, Systems of Extremal Control (1974).`,
		rastriginParams{A: 10, Shift: 2},
		func(p rastriginParams, env *core.Env) (core.Objective, error) {
			return newShifted(env, p.Shift, -5.12, 5.12, 0, nil, func(z []float64) float64 {
				return rastrigin(z, p.A)
			}), nil
		})
}

// rastrigin sums z^2 + A (1 - cos(2 pi z)), which is exactly 0 at 0.
func rastrigin(z []float64, a float64) float64 {
	var sum float64
	for _, v := range z {
		sum += v*v + a*(1-math.Cos(2*math.Pi*v))
	}
	return sum
}
