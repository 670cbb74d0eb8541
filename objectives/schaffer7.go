package objectives

import (
	"math"

	"github.com/unbraid/unbraid/core"
)

// Schaffer7 is Schaffer's seventh function.
func Schaffer7() core.Component {
	return core.NewObjective("schaffer7", `Schaffer's function F7: ripples whose wavelength and height change with the distance.

f(x) = [ (1/(d-1)) sum_{j<d} sqrt(s_j) (1 + sin(50 s_j^0.2)^2) ]^2 with
s_j = sqrt(y_j^2 + y_{j+1}^2) and y = x - b, minimum 0 at b. Needs d >= 2. Domain
[-100, 100]^d. Schaffer, Caruana, Eshelman, Das, A study of control parameters
affecting online performance of genetic algorithms (1989).`,
		shiftParams{},
		func(p shiftParams, env *core.Env) (core.Objective, error) {
			if err := needPairs(env); err != nil {
				return nil, err
			}
			return newShifted(env, p.Shift, -100, 100, 0, nil, schaffer7), nil
		})
}

func schaffer7(z []float64) float64 {
	var sum float64
	for j, v := range z[:len(z)-1] {
		s := math.Sqrt(v*v + z[j+1]*z[j+1])
		ripple := math.Sin(50 * math.Pow(s, 0.2))
		sum += math.Sqrt(s) * (1 + ripple*ripple)
	}
	mean := sum / float64(len(z)-1)
	return mean * mean
}
