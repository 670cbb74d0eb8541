package core

import (
	"fmt"
	"maps"
)

// Description tells what a component is and which parameters it takes. It is
// all that the runner needs to know of a component in another process.
type Description struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	// Doc is one sentence on what it is, then formula, reference and remarks
	// in further paragraphs.
	Doc    string  `json:"doc"`
	Params []Param `json:"params"`
}

// ID is the component's name with its kind, such as "solver/cbo".
func (d *Description) ID() string { return string(d.Kind) + "/" + d.Name }

// Component is a described part that can be made from parameters. Build one
// with NewObjective, NewHessian, NewEstimator, NewNoise or NewSolver.
type Component struct {
	Description
	build func(values map[string]any, env *Env) (any, error)
}

// Make builds the component: parameters not in values have their defaults. The
// result is an Objective, Hessian, Estimator, Noise or Solver by Kind.
func (c *Component) Make(values map[string]any, env *Env) (any, error) {
	if env.Dim < 1 {
		return nil, fmt.Errorf("%w: dimension %d, need at least 1", ErrParam, env.Dim)
	}
	resolved, err := c.Resolve(values)
	if err != nil {
		return nil, err
	}
	return c.build(resolved, env)
}

// NewObjective describes an objective. P is a struct whose fields carry the
// tags `param` (name), `doc` and optionally `min`, `above`, `max` (a range) or
// `oneof` (comma-separated choices); defaults holds the default of each.
func NewObjective[P any](name, doc string, defaults P, build func(P, *Env) (Objective, error)) Component {
	return newComponent(KindObjective, name, doc, defaults, build)
}

// NewHessian describes a Hessian approximator; see NewObjective.
func NewHessian[P any](name, doc string, defaults P, build func(P, *Env) (Hessian, error)) Component {
	return newComponent(KindHessian, name, doc, defaults, build)
}

// NewEstimator describes an estimator; see NewObjective.
func NewEstimator[P any](name, doc string, defaults P, build func(P, *Env) (Estimator, error)) Component {
	return newComponent(KindEstimator, name, doc, defaults, build)
}

// NewNoise describes a noise model; see NewObjective.
func NewNoise[P any](name, doc string, defaults P, build func(P, *Env) (Noise, error)) Component {
	return newComponent(KindNoise, name, doc, defaults, build)
}

// NewSolver describes a solver; see NewObjective.
func NewSolver[P any](name, doc string, defaults P, build func(P, *Env) (Solver, error)) Component {
	return newComponent(KindSolver, name, doc, defaults, build)
}

// InnerSolver returns the name and parameters of the solver that a component's
// resolved values name, "" if it runs no other.
func (d *Description) InnerSolver(resolved map[string]any) (name string, values map[string]any) {
	for i := range d.Params {
		table, ok := resolved[d.Params[i].Name].(map[string]any)
		if d.Params[i].Type != TypeSolver || !ok {
			continue
		}
		name, _ = table["plugin"].(string)
		values = maps.Clone(table)
		delete(values, "plugin")
	}
	return name, values
}

// None is the parameter struct of a component without parameters.
type None struct{}

func newComponent[P, C any](kind Kind, name, doc string, defaults P, build func(P, *Env) (C, error)) Component {
	return Component{
		Description: Description{Kind: kind, Name: name, Doc: doc, Params: describeParams(defaults)},
		build: func(values map[string]any, env *Env) (any, error) {
			p := defaults
			assignParams(&p, values)
			return build(p, env)
		},
	}
}
