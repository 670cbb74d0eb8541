package objectives

import "github.com/unbraid/unbraid/core"

// Discus is the discus function.
func Discus() core.Component {
	return core.NewObjective("discus", `The discus: a quadratic with one axis a thousand times as short as all others.

f(x) = 10^6 y_1^2 + sum_{j>=2} y_j^2 with y = x - b, minimum 0 at b. Domain
[-5, 5]^d. Also called tablet: Hansen and Ostermeier, Completely derandomized
self-adaptation in evolution strategies (2001); the domain is that of the
COCO/BBOB test-bed.`,
		shiftParams{},
		func(p shiftParams, env *core.Env) (core.Objective, error) {
			return newShifted(env, p.Shift, -5, 5, 0, nil, func(z []float64) float64 {
				return 1e6*z[0]*z[0] + squaredNorm(z[1:])
			}), nil
		})
}
