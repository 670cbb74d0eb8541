package objectives

import "github.com/unbraid/unbraid/core"

// SquaredNorm is the sphere function.
func SquaredNorm() core.Component {
	return core.NewObjective("squared-norm", `The squared Euclidean norm, also called sphere.

f(x) = sum_j (x_j - b_j)^2, minimum 0 at b. Domain [-5.12, 5.12]^d.
Its Hessian is the same everywhere, so the directions of a mix in front of it
cannot be identified; see Fiedler and Roith, Consensus-based optimization for
linearly separable functions.`,
		shiftParams{},
		func(p shiftParams, env *core.Env) (core.Objective, error) {
			return newShifted(env, p.Shift, -5.12, 5.12, 0, nil, squaredNorm), nil
		})
}

func squaredNorm(z []float64) float64 {
	var sum float64
	for _, v := range z {
		sum += v * v
	}
	return sum
}
