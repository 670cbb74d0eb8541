package main

import (
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/noise"
	"github.com/unbraid/unbraid/objectives"
	"github.com/unbraid/unbraid/objectives/bbob"
	program "github.com/unbraid/unbraid/objectives/exec"
	"github.com/unbraid/unbraid/plugins/estimators/joint"
	"github.com/unbraid/unbraid/plugins/estimators/spm"
	"github.com/unbraid/unbraid/plugins/hessians/central"
	"github.com/unbraid/unbraid/plugins/hessians/shared"
	"github.com/unbraid/unbraid/plugins/solvers/cbo"
	"github.com/unbraid/unbraid/plugins/solvers/cmaes"
	"github.com/unbraid/unbraid/plugins/solvers/line"
	"github.com/unbraid/unbraid/plugins/solvers/neldermead"
	"github.com/unbraid/unbraid/plugins/solvers/random"
	"github.com/unbraid/unbraid/plugins/solvers/split"
)

// builtins lists every component that is part of this program.
func builtins() []core.Component {
	return []core.Component{
		objectives.Ackley(),
		objectives.Blocks(),
		objectives.Cigar(),
		objectives.DifferentPowers(),
		objectives.Discus(),
		objectives.Ellipsoid(),
		objectives.Griewank(),
		objectives.Microring(),
		objectives.Nearly(),
		objectives.Rastrigin(),
		objectives.RastriginLike(),
		objectives.Rosenbrock(),
		objectives.Schaffer7(),
		objectives.SquaredNorm(),
		bbob.Component(),
		program.Component(),

		noise.Anisotropic(),
		noise.Covariance(),
		noise.HeavyTailed(),
		noise.Isotropic(),
		noise.Transform(),

		cbo.Component(),
		cmaes.Component(),
		cmaes.BIPOP(),
		line.Component(),
		neldermead.Component(),
		random.Component(),
		split.Component(),

		central.Component(),
		shared.Component(),

		joint.Component(),
		spm.Component(),
	}
}
