package noise

import "github.com/unbraid/unbraid/core"

// Anisotropic scatters each coordinate by its own drift.
func Anisotropic() core.Component {
	return core.NewNoise("anisotropic", `Scatters each coordinate by its own drift: D(z) xi = (z_1 xi_1, ..., z_d xi_d).

Made for separable objectives. Carrillo, Jin, Li, Zhu, A consensus-based global
optimization method for high dimensional machine learning problems (2021).`,
		core.None{},
		func(core.None, *core.Env) (core.Noise, error) {
			return core.NewFactoredNoise(core.Factors{}), nil
		})
}
