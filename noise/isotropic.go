// Package noise holds the built-in noise models of consensus-based
// optimisation: how far a particle at drift z from the consensus point is
// scattered, D(z) xi for standard normals xi.
package noise

import "github.com/unbraid/unbraid/core"

// Isotropic scatters equally in all directions.
func Isotropic() core.Component {
	return core.NewNoise("isotropic", `Scatters equally in all directions: D(z) xi = |z| xi.

Pinnau, Totzeck, Tse, Martin, A consensus-based model for global optimization
and its mean-field limit (2017).`,
		core.None{},
		func(core.None, *core.Env) (core.Noise, error) {
			return core.NewFactoredNoise(core.Factors{Norm: true}), nil
		})
}
