package cbo_test

import (
	"context"
	"math"
	"testing"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/noise"
	"github.com/unbraid/unbraid/objectives"
	"github.com/unbraid/unbraid/objectives/mix"
	"github.com/unbraid/unbraid/plugins/solvers/cbo"
)

func build[T any](t testing.TB, c core.Component, env *core.Env) T {
	t.Helper()
	made, err := c.Make(nil, env)
	if err != nil {
		t.Fatal(err)
	}
	return made.(T)
}

// newStep returns one round of the loop, 50 particles on a mixed function in
// 100 dimensions, after as many rounds as it takes to have all buffers.
func newStep(t testing.TB) func() {
	const d = 100
	root := core.NewStream(1)
	g := build[core.Known](t, objectives.Rastrigin(), &core.Env{Dim: d, Stream: root.Split("objective")})
	w, err := mix.New(mix.Defaults(), d, nil, root.Split("mix"))
	if err != nil {
		t.Fatal(err)
	}
	meter := core.NewMeter(core.NewLinear(g, w), d, math.MaxInt, math.Inf(-1))
	scatter := build[core.Noise](t, noise.Anisotropic(), &core.Env{Dim: d})
	solver := build[core.Solver](t, cbo.Component(), &core.Env{
		Dim: d, Stream: root.Split("solver"), Lower: g.Facts().Lower, Upper: g.Facts().Upper, Noise: scatter,
	})
	ctx := context.Background()
	values := make([]float64, 50)
	step := func() {
		x, err := solver.Ask(ctx)
		if err == nil {
			err = meter.Evaluate(ctx, values, x)
		}
		if err == nil {
			err = solver.Tell(ctx, values)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		step()
	}
	return step
}

// The steady state makes no garbage; what the meter's list of improvements
// grows by is too rare to show.
func TestStepDoesNotAllocate(t *testing.T) {
	if allocs := testing.AllocsPerRun(100, newStep(t)); allocs != 0 {
		t.Errorf("%g allocations a step", allocs)
	}
}

func BenchmarkCBOStep(b *testing.B) {
	step := newStep(b)
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
}
