package cmaes

import (
	"context"
	"fmt"
	"testing"

	"github.com/unbraid/unbraid/core"
)

// BenchmarkGeneration times Ask and Tell of one generation with the default
// population on the sphere. The start of a new run, when one has come to its
// end, is not counted.
func BenchmarkGeneration(b *testing.B) {
	ctx := context.Background()
	for _, n := range []int{10, 40, 100, 200, 400} {
		b.Run(fmt.Sprintf("d=%d", n), func(b *testing.B) {
			lower, upper := box(n, 5)
			env := &core.Env{Dim: n, Budget: 1 << 40, Stream: core.NewStream(1), Lower: lower, Upper: upper}
			s, err := newSolver(defaults(), env)
			if err != nil {
				b.Fatal(err)
			}
			f := make([]float64, s.run.lambda)
			b.ReportAllocs()
			for b.Loop() {
				x, _ := s.Ask(ctx)
				if x == nil {
					b.StopTimer()
					s, _ = newSolver(defaults(), env)
					x, _ = s.Ask(ctx)
					b.StartTimer()
				}
				for k := range f {
					f[k] = sphere(x.RawRowView(k))
				}
				if err := s.Tell(ctx, f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
