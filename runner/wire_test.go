package main

import (
	"math"
	"reflect"
	"testing"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/objectives"
	"github.com/unbraid/unbraid/objectives/mix"
	"github.com/unbraid/unbraid/plugins/estimators/joint"
	"github.com/unbraid/unbraid/plugins/hessians/shared"
	"github.com/unbraid/unbraid/plugins/solvers/line"
	"github.com/unbraid/unbraid/sdk"
	"gonum.org/v1/gonum/mat"
)

// Every built-in is the same component over the wire as it is here: facts,
// values, noise and the path of a solver, to the last bit.
func TestEveryBuiltinOverTheWire(t *testing.T) {
	const dim, rows = 12, 40
	rng := core.NewStream(1).Rand()
	random := func() *mat.Dense {
		x := mat.NewDense(rows, dim, nil)
		for i := range x.RawMatrix().Data {
			x.RawMatrix().Data[i] = 8*rng.Float64() - 4
		}
		return x
	}
	box := func(v float64) []float64 {
		b := make([]float64, dim)
		for i := range b {
			b[i] = v
		}
		return b
	}
	w := random().Slice(0, dim, 0, dim).(*mat.Dense)
	structure, err := core.NewStructure(mat.DenseCopyOf(w))
	if err != nil {
		t.Fatal(err)
	}
	components := builtins()
	for i := range components {
		c := &components[i]
		t.Run(c.ID(), func(t *testing.T) {
			values := map[string]any{}
			oneDimension := c.ID() == "objective/exec" || c.ID() == "solver/line"
			if c.ID() == "objective/exec" {
				values["command"] = []any{"cat"} // in one dimension, the identity
			}
			env := func() *core.Env {
				e := &core.Env{Dim: dim, Budget: 1_000_000, Stream: core.NewStream(7), Lower: box(-4), Upper: box(5), HessianCost: 3 * dim * dim}
				if oneDimension {
					e.Dim = 1
				}
				if c.Kind == core.KindNoise {
					e.Structure = structure
				}
				if c.Kind == core.KindSolver {
					e.Noise = core.NewFactoredNoise(core.Factors{})
					e.Inner = func(env *core.Env) (core.Solver, error) {
						inner := line.Component()
						made, err := inner.Make(nil, env)
						return made.(core.Solver), err
					}
				}
				return e
			}
			local, err := c.Make(values, env())
			if err != nil {
				t.Fatal(err)
			}
			open, stop, err := sdk.Loopback(c, components...)
			if err != nil {
				t.Fatal(err)
			}
			defer stop()
			remote, err := open(t.Context(), values, env())
			if err != nil {
				t.Fatal(err)
			}
			switch local := local.(type) {
			case core.Objective:
				x := random()
				if c.ID() == "objective/exec" {
					x = mat.DenseCopyOf(x.Slice(0, rows, 0, 1))
				}
				a, b := make([]float64, rows), make([]float64, rows)
				if err := local.Evaluate(t.Context(), a, x); err != nil {
					t.Fatal(err)
				}
				if err := remote.(core.Objective).Evaluate(t.Context(), b, x); err != nil {
					t.Fatal(err)
				}
				equalBits(t, a, b)
				if known, ok := local.(core.Known); ok {
					equalFacts(t, known.Facts(), remote.(core.Known).Facts())
				}
			case core.Noise:
				z, xi := random(), random()
				a, b := mat.NewDense(rows, dim, nil), mat.NewDense(rows, dim, nil)
				if err := local.Apply(t.Context(), a, z, xi); err != nil {
					t.Fatal(err)
				}
				if err := remote.(core.Noise).Apply(t.Context(), b, z, xi); err != nil {
					t.Fatal(err)
				}
				equalBits(t, a.RawMatrix().Data, b.RawMatrix().Data)
			case core.Hessian:
				equalStructures(t, func() *core.Structure { return estimate(t, local, makeJoint(t, env())) },
					func() *core.Structure { return estimate(t, remote.(core.Hessian), makeJoint(t, env())) })
			case core.Estimator:
				equalStructures(t, func() *core.Structure { return estimate(t, makeShared(t, env()), local) },
					func() *core.Structure { return estimate(t, makeShared(t, env()), remote.(core.Estimator)) })
			case core.Solver:
				for range 30 {
					a, err := local.Ask(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					b, err := remote.(core.Solver).Ask(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if a == nil {
						if b != nil {
							t.Fatal("the remote solver goes on")
						}
						return
					}
					equalBits(t, a.RawMatrix().Data, b.RawMatrix().Data)
					n, _ := a.Dims()
					f := make([]float64, n)
					for i := range f {
						f[i] = mat.Norm(a.RowView(i), 2)
					}
					if err := local.Tell(t.Context(), f); err != nil {
						t.Fatal(err)
					}
					if err := remote.(core.Solver).Tell(t.Context(), f); err != nil {
						t.Fatal(err)
					}
				}
			}
		})
	}
}

func makeJoint(t *testing.T, env *core.Env) core.Estimator {
	t.Helper()
	c := joint.Component()
	made, err := c.Make(nil, env)
	if err != nil {
		t.Fatal(err)
	}
	return made.(core.Estimator)
}

func makeShared(t *testing.T, env *core.Env) core.Hessian {
	t.Helper()
	c := shared.Component()
	made, err := c.Make(nil, env)
	if err != nil {
		t.Fatal(err)
	}
	return made.(core.Hessian)
}

// estimate finds the structure of a mixed Rastrigin function.
func estimate(t *testing.T, h core.Hessian, e core.Estimator) *core.Structure {
	t.Helper()
	const dim = 12
	c := objectives.Rastrigin()
	g, err := c.Make(nil, &core.Env{Dim: dim, Stream: core.NewStream(3)})
	if err != nil {
		t.Fatal(err)
	}
	w, err := mix.New(mix.Defaults(), dim, nil, core.NewStream(3))
	if err != nil {
		t.Fatal(err)
	}
	meter := core.NewMeter(core.NewLinear(g.(core.Objective), w), dim, 1_000_000, math.Inf(-1))
	s, err := core.Estimate(t.Context(), meter, h, e)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func equalStructures(t *testing.T, local, remote func() *core.Structure) {
	t.Helper()
	a, b := local(), remote()
	equalBits(t, a.W.RawMatrix().Data, b.W.RawMatrix().Data)
	equalBits(t, a.Inverse.RawMatrix().Data, b.Inverse.RawMatrix().Data)
	if !reflect.DeepEqual(a.Certificate, b.Certificate) {
		t.Errorf("certificates differ: %+v here, %+v over the wire", a.Certificate, b.Certificate)
	}
}

func equalBits(t *testing.T, a, b []float64) {
	t.Helper()
	if len(a) != len(b) {
		t.Fatalf("%d numbers here, %d over the wire", len(a), len(b))
	}
	for i := range a {
		if math.Float64bits(a[i]) != math.Float64bits(b[i]) {
			t.Fatalf("number %d: %v here, %v over the wire", i, a[i], b[i])
		}
	}
}

func equalFacts(t *testing.T, a, b core.Facts) {
	t.Helper()
	equalBits(t, a.Lower, b.Lower)
	equalBits(t, a.Upper, b.Upper)
	equalBits(t, a.Minimiser, b.Minimiser)
	if (a.Minimum == nil) != (b.Minimum == nil) || a.Minimum != nil && *a.Minimum != *b.Minimum {
		t.Errorf("minimum %v here, %v over the wire", a.Minimum, b.Minimum)
	}
	if (a.Mix == nil) != (b.Mix == nil) || a.Mix != nil && !mat.Equal(a.Mix, b.Mix) {
		t.Error("the mix differs")
	}
}
