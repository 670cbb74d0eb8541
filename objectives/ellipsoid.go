package objectives

import (
	"math"

	"github.com/unbraid/unbraid/core"
)

// Ellipsoid is the ellipsoid function.
func Ellipsoid() core.Component {
	return core.NewObjective("ellipsoid", `The ellipsoid: a quadratic of condition number 10^6.

f(x) = sum_j 10^(6 t_j) (x_j - b_j)^2, t_j = (j-1)/(d-1) (0 for d = 1), minimum
0 at b. Domain [-5, 5]^d. Hansen and Ostermeier, Completely derandomized
self-adaptation in evolution strategies (2001); the domain is that of the
COCO/BBOB test-bed.`,
		shiftParams{},
		func(p shiftParams, env *core.Env) (core.Objective, error) {
			weights := ramp(env.Dim)
			for j, t := range weights {
				weights[j] = math.Pow(10, 6*t)
			}
			return newShifted(env, p.Shift, -5, 5, 0, nil, func(z []float64) float64 {
				var sum float64
				for j, v := range z {
					sum += weights[j] * v * v
				}
				return sum
			}), nil
		})
}
