package objectives

import (
	"math"

	"github.com/unbraid/unbraid/core"
)

type nearlyParams struct {
	A      float64 `param:"A" doc:"height of the ripples" min:"0" max:"1e6"`
	Weight float64 `param:"weight" doc:"strength of the coupling, relative to the ripples" min:"0" max:"1e6"`
	Shift  float64 `param:"shift" doc:"the minimiser is moved by a vector uniform on [-shift, shift]^d" min:"0" max:"1e6"`
}

// Nearly is Rastrigin's function with a weak coupling of its coordinates.
func Nearly() core.Component {
	return core.NewObjective("nearly", `Nearly separable: Rastrigin's function with a weak coupling of neighbours.

f(x) = sum_j y_j^2 + A (1 - cos(2 pi y_j)) + weight A sum_{j<d} (1 - cos(2 pi (y_{j+1} - y_j)))
with y = x - b, minimum 0 at b. Domain [-5.12, 5.12]^d. The coupling adds between
0 and 2 weight A (d-1) to the values, nothing at the minimum, and puts
-4 pi^2 A weight cos(2 pi (y_{j+1} - y_j)) beside the diagonal of the Hessian,
whose own ripples have the size 4 pi^2 A. Made for this collection.`,
		nearlyParams{A: 10, Weight: 0.01},
		func(p nearlyParams, env *core.Env) (core.Objective, error) {
			return newShifted(env, p.Shift, -5.12, 5.12, 0, nil, func(z []float64) float64 {
				return rastrigin(z, p.A) + p.Weight*p.A*coupling(z)
			}), nil
		})
}

// coupling sums 1 - cos(2 pi (z_{j+1} - z_j)) over neighbours.
func coupling(z []float64) float64 {
	var sum float64
	for j, v := range z[:len(z)-1] {
		sum += 1 - math.Cos(2*math.Pi*(z[j+1]-v))
	}
	return sum
}
