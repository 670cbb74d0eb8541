package objectives

import (
	"math"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/objectives/mix"
)

type microringParams struct {
	A float64 `param:"a" doc:"share of the amplitude that is left after one turn of the ring" above:"0" max:"1"`
	R float64 `param:"r" doc:"share of the amplitude that passes the coupler" above:"0" max:"1"`
}

// Microring is an array of optical ring resonators.
func Microring() core.Component {
	return core.NewObjective("microring", `An array of microring resonators to be tuned to the light that passes them.

f(z) = sum_j T(z_j + phi_j) with the transmission of a ring
T(p) = (a^2 - 2 a r cos p + r^2) / (1 - 2 a r cos p + (a r)^2) and phi_j uniform
on [-pi, pi]. Minimum d ((a - r) / (1 - a r))^2 wherever every z_j + phi_j is a
multiple of 2 pi, so there are many minimisers; the one nearest the middle of
the domain is given. Domain [0, 8]^d.

z are the temperatures of the rings, x the powers of their heaters. Unless the
experiment gives another mix, a matrix of kind "crosstalk" stands between them,
like every mix with its rows scaled to unit length. After the experiments of
Fiedler and Roith, Consensus-based optimization for linearly separable functions;
for the transmission see Bogaerts et al., Silicon microring resonators (2012).`,
		microringParams{A: 0.95, R: 0.85},
		func(p microringParams, env *core.Env) (core.Objective, error) {
			if p.A == 1 && p.R == 1 {
				return nil, core.BadParam("", "a and r must not both be 1: such a ring has no transmission")
			}
			w, err := mix.New(mix.Params{Kind: "crosstalk"}, env.Dim, nil, env.Stream.Split("mix"))
			if err != nil {
				return nil, err
			}
			// The shift b is -phi; minimisers lie at b + 2 pi k.
			s := newShifted(env, math.Pi, 0, 8, float64(env.Dim)*transmission(0, p.A, p.R), nil, func(z []float64) float64 {
				var sum float64
				for _, v := range z {
					sum += transmission(v, p.A, p.R)
				}
				return sum
			})
			for j, b := range s.b {
				s.facts.Minimiser[j] = b + 2*math.Pi*math.Round((4-b)/(2*math.Pi))
			}
			s.facts.Mix = w
			return s, nil
		})
}

// transmission is T(phase) with 1 - cos p = 2 sin(p/2)^2 put in, so that it is
// smallest exactly at phase 0.
func transmission(phase, a, r float64) float64 {
	sine := math.Sin(phase / 2)
	s := 4 * a * r * sine * sine
	return ((a-r)*(a-r) + s) / ((1-a*r)*(1-a*r) + s)
}
