package objectives

import "github.com/unbraid/unbraid/core"

// Cigar is the cigar function.
func Cigar() core.Component {
	return core.NewObjective("cigar", `The cigar: a quadratic with one axis a thousand times as long as all others.

f(x) = y_1^2 + 10^6 sum_{j>=2} y_j^2 with y = x - b, minimum 0 at b. Domain
[-5, 5]^d. Hansen and Ostermeier, Completely derandomized self-adaptation in
evolution strategies (2001); the domain is that of the COCO/BBOB test-bed.`,
		shiftParams{},
		func(p shiftParams, env *core.Env) (core.Objective, error) {
			return newShifted(env, p.Shift, -5, 5, 0, nil, func(z []float64) float64 {
				return z[0]*z[0] + 1e6*squaredNorm(z[1:])
			}), nil
		})
}
