package main

import (
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/noise"
	"github.com/unbraid/unbraid/objectives"
	"github.com/unbraid/unbraid/plugins/solvers/cbo"
)

// builtins lists every component that is part of this program.
func builtins() []core.Component {
	return []core.Component{
		objectives.Rastrigin(),
		objectives.SquaredNorm(),

		noise.Isotropic(),
		noise.Anisotropic(),

		cbo.Component(),
	}
}
