package sdk_test

import (
	"context"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/sdk"
	"gonum.org/v1/gonum/mat"
)

// bowlParams are the parameters of the objective. A field may be an int, a
// float64, a bool, a string, or a slice of these (not of bool); its tags give
// name and meaning and, if need be, min, above, max or oneof.
type bowlParams struct {
	Steepness float64 `param:"steepness" doc:"how fast it rises" above:"0"`
	Centre    float64 `param:"centre" doc:"every coordinate of the minimiser"`
}

type bowl struct {
	p   bowlParams
	dim int
}

// Evaluate writes a value for each row of x.
func (b *bowl) Evaluate(_ context.Context, dst []float64, x *mat.Dense) error {
	for i := range dst {
		dst[i] = 0
		for _, v := range x.RawRowView(i) {
			dst[i] += b.p.Steepness * (v - b.p.Centre) * (v - b.p.Centre)
		}
	}
	return nil
}

// Facts are optional: a domain saves people a line in every experiment, and a
// known minimum lets them count successes.
func (b *bowl) Facts() core.Facts {
	f := core.Facts{Minimum: new(float64)}
	for range b.dim {
		f.Lower, f.Upper = append(f.Lower, -5), append(f.Upper, 5)
		f.Minimiser = append(f.Minimiser, b.p.Centre)
	}
	return f
}

// The main function of a plugin with one objective. Built as ./my-sim, it is
// used in an experiment file by
//
//	[plugins]
//	my-sim = { path = "./my-sim" }
//
//	[[problem]]
//	name      = "mine"
//	objective = { plugin = "bowl", steepness = 3.0 }
func ExampleMain() {
	sdk.Main(core.NewObjective("bowl", "A bowl: steepness times the squared distance from the centre.",
		bowlParams{Steepness: 1},
		func(p bowlParams, env *core.Env) (core.Objective, error) {
			return &bowl{p: p, dim: env.Dim}, nil
		}))
}
