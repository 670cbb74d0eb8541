package objectives

import "github.com/unbraid/unbraid/core"

// Rosenbrock is Rosenbrock's function.
func Rosenbrock() core.Component {
	return core.NewObjective("rosenbrock", `Rosenbrock's function: a long curved valley.

f(x) = sum_{j<d} 100 (y_{j+1} - y_j^2)^2 + (1 - y_j)^2 with y = x - b, minimum 0
at 1 + b; from d = 4 on there is a second, local minimum near y_1 = -1. Needs
d >= 2. Domain [-5, 10]^d. Rosenbrock, An automatic method for finding the
greatest or least value of a function (1960); the domain is the usual one in
Surjanovic and Bingham, Virtual library of simulation experiments.`,
		shiftParams{},
		func(p shiftParams, env *core.Env) (core.Objective, error) {
			if err := needPairs(env); err != nil {
				return nil, err
			}
			return newShifted(env, p.Shift, -5, 10, 0, constant(env.Dim, 1), rosenbrock), nil
		})
}

func rosenbrock(z []float64) float64 {
	var sum float64
	for j, v := range z[:len(z)-1] {
		along, across := 1-v, z[j+1]-v*v
		sum += 100*across*across + along*along
	}
	return sum
}
