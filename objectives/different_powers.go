package objectives

import (
	"math"

	"github.com/unbraid/unbraid/core"
)

// DifferentPowers is the sum of different powers.
func DifferentPowers() core.Component {
	return core.NewObjective("different-powers", `The sum of different powers: a bowl that is ever flatter from axis to axis.

f(x) = sum_j |x_j - b_j|^(2 + 4 t_j), t_j = (j-1)/(d-1) (0 for d = 1), minimum
0 at b. Domain [-5.12, 5.12]^d. Function f14 of Hansen, Finck, Ros, Auger,
Real-parameter black-box optimization benchmarking 2009: noiseless functions
definitions, without its root and rotation.`,
		shiftParams{},
		func(p shiftParams, env *core.Env) (core.Objective, error) {
			exponents := ramp(env.Dim)
			for j, t := range exponents {
				exponents[j] = 2 + 4*t
			}
			return newShifted(env, p.Shift, -5.12, 5.12, 0, nil, func(z []float64) float64 {
				var sum float64
				for j, v := range z {
					sum += math.Pow(math.Abs(v), exponents[j])
				}
				return sum
			}), nil
		})
}
