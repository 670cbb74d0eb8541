package noise

import (
	"fmt"

	"github.com/unbraid/unbraid/core"
)

// Transform scatters along the directions of a structure.
func Transform() core.Component {
	return core.NewNoise("transform", `Scatters along the directions of the structure, each by its own drift.

D(z) xi = W^+ ((W z) * xi), with * the product by components, W the m-by-d
structure and W^+ its (pseudo-)inverse: anisotropic noise in the coordinates W x,
carried back to x. On f(x) = g(W x) it makes consensus-based optimisation
follow, step by step, what anisotropic noise does on g. If m < d, only the first
m numbers of xi are used and there is no noise across the directions. Fiedler and
Roith, Consensus-based optimization for linearly separable functions.`,
		core.None{},
		func(_ core.None, env *core.Env) (core.Noise, error) {
			s := env.Structure
			if s == nil {
				return nil, fmt.Errorf("%w: transform needs a structure: give the method an estimator and a hessian, and structure = \"noise\"", core.ErrUnsuitable)
			}
			if m, d := s.W.Dims(); d != env.Dim {
				return nil, fmt.Errorf("%w: the structure is %d x %d, the points have %d coordinates", core.ErrShape, m, d, env.Dim)
			}
			return core.NewFactoredNoise(core.Factors{In: s.W, Out: s.Inverse}), nil
		})
}
