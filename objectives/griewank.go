package objectives

import (
	"math"

	"github.com/unbraid/unbraid/core"
)

// Griewank is Griewank's function.
func Griewank() core.Component {
	return core.NewObjective("griewank", `Griewank's function: a wide bowl covered with regular ripples.

f(x) = 1 + sum_j y_j^2 / 4000 - prod_j cos(y_j / sqrt(j)) with y = x - b, minimum
0 at b. Domain [-600, 600]^d, the customary one, where the bowl dominates; give
the problem a smaller one, such as [-5, 5], to make the ripples count. Griewank,
Generalized descent for global optimization (1981).`,
		shiftParams{},
		func(p shiftParams, env *core.Env) (core.Objective, error) {
			roots := make([]float64, env.Dim)
			for j := range roots {
				roots[j] = math.Sqrt(float64(j + 1))
			}
			return newShifted(env, p.Shift, -600, 600, 0, nil, func(z []float64) float64 {
				product := 1.0
				for j, v := range z {
					product *= math.Cos(v / roots[j])
				}
				return squaredNorm(z)/4000 + (1 - product)
			}), nil
		})
}
