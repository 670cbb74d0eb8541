package objectives

import (
	"math"

	"github.com/unbraid/unbraid/core"
)

// Ackley is Ackley's function.
func Ackley() core.Component {
	return core.NewObjective("ackley", `Ackley's function: a narrow funnel in a rippled plain.

f(x) = 20 + e - 20 exp(-0.2 sqrt(sum_j y_j^2 / d)) - exp(sum_j cos(2 pi y_j) / d)
with y = x - b, minimum 0 at b. Domain [-32.768, 32.768]^d. Ackley, A
connectionist machine for genetic hillclimbing (1987).`,
		shiftParams{},
		func(p shiftParams, env *core.Env) (core.Objective, error) {
			return newShifted(env, p.Shift, -32.768, 32.768, 0, nil, ackley), nil
		})
}

// ackley takes the constants into the exponentials, with 1 - cos(2a) =
// 2 sin(a)^2, so that nothing cancels near the minimum.
func ackley(z []float64) float64 {
	d := float64(len(z))
	var sines float64
	for _, v := range z {
		s := math.Sin(math.Pi * v)
		sines += s * s
	}
	return -20*math.Expm1(-0.2*math.Sqrt(squaredNorm(z)/d)) - math.E*math.Expm1(-2*sines/d)
}
