package objectives

import (
	"math"

	"github.com/unbraid/unbraid/core"
)

type rastriginLikeParams struct {
	B     float64 `param:"b" doc:"the two wells of a coordinate lie near -b and b" min:"0" max:"100"`
	H     float64 `param:"h" doc:"height of the ripples" min:"0" max:"1000"`
	K     float64 `param:"k" doc:"wave number of the ripples" min:"0" max:"1000"`
	Bias  float64 `param:"bias" doc:"the tilts c_j are uniform on [-bias, bias]" min:"0" max:"1000"`
	Shift float64 `param:"shift" doc:"the minimiser is moved by a vector uniform on [-shift, shift]^d" min:"0" max:"1e6"`
}

// RastriginLike is a sum of tilted and rippled double wells.
func RastriginLike() core.Component {
	return core.NewObjective("rastrigin-like", `A sum of double wells, each with ripples and a tilt of its own.

f(x) = sum_j (y_j^2 - b^2)^2 - h cos(k y_j) + c_j y_j with y = x - s, s the shift
and c_j uniform on [-bias, bias]. The minimum is found coordinate by coordinate;
it is that over all of space. Domain [-5.12, 5.12]^d, which contains the
minimiser unless b, bias or shift are large. Fiedler and Roith, Consensus-based
optimization for linearly separable functions.`,
		rastriginLikeParams{B: 2, H: 0.3, K: 3, Bias: 1},
		func(p rastriginLikeParams, env *core.Env) (core.Objective, error) {
			wells := make([]well, env.Dim)
			centre := make([]float64, env.Dim)
			rng := env.Rand("bias")
			for j := range wells {
				wells[j] = well{b: p.B, h: p.H, k: p.K, c: p.Bias * (2*rng.Float64() - 1)}
				centre[j] = wells[j].minimiser()
			}
			f := func(z []float64) float64 {
				var sum float64
				for j, v := range z {
					sum += wells[j].value(v)
				}
				return sum
			}
			return newShifted(env, p.Shift, -5.12, 5.12, f(centre), centre, f), nil
		})
}

// well is one coordinate: t -> (t^2 - b^2)^2 - h cos(k t) + c t.
type well struct{ b, h, k, c float64 }

func (w *well) value(t float64) float64 {
	q := t*t - w.b*w.b
	return q*q - w.h*math.Cos(w.k*t) + w.c*t
}

func (w *well) slope(t float64) float64 {
	return 4*t*(t*t-w.b*w.b) + w.h*w.k*math.Sin(w.k*t) + w.c
}

func (w *well) curvature(t float64) float64 {
	return 12*t*t - 4*w.b*w.b + w.h*w.k*w.k*math.Cos(w.k*t)
}

// minimiser returns a global minimiser. Its value is the minimum to about
// 1e-14 relative to their size, for any parameters: it bisects
// [-reach, reach] and drops an interval only if a lower bound shows that it
// holds nothing better than what is known; then it polishes by Newton's method.
func (w *well) minimiser() float64 {
	// At t = b + u or -b - u with u > 0 the quartic is at least u^4, so beyond
	// u^4 = |c| u + 2 h the value exceeds that at the lower of -b and b.
	reach := w.b + max(math.Cbrt(2*math.Abs(w.c)), math.Sqrt(math.Sqrt(4*w.h)))
	// The curvature is nowhere below -bend, so that on [m-r, m+r]
	// value >= value(m) - |slope(m)| r - bend r^2 / 2.
	bend := 4*w.b*w.b + w.h*w.k*w.k

	best := 0.0
	least := w.value(best)
	middles := []float64{0}
	for r := reach; len(middles) > 0; r /= 2 {
		var halves []float64
		for _, m := range middles {
			v := w.value(m)
			if v < least {
				best, least = m, v
			}
			bound := v - math.Abs(w.slope(m))*r - bend*r*r/2
			if bound < least-1e-14*(1+math.Abs(least)) {
				halves = append(halves, m-r/2, m+r/2)
			}
		}
		middles = halves
	}
	for range 10 {
		t := best - w.slope(best)/w.curvature(best)
		if !(w.value(t) <= w.value(best)) {
			break
		}
		best = t
	}
	return best
}
