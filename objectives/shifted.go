// Package objectives holds the built-in objectives, one function a file.
//
// Each is a component described by its doc text: formula, domain, minimum and
// reference. Those with a `shift` parameter s move the minimiser by a vector
// uniform on [-s, s]^d drawn from the trial's seed, so that no method can win
// by guessing the origin.
package objectives

import (
	"context"
	"fmt"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// shiftParams are the parameters of an objective that has no others.
type shiftParams struct {
	Shift float64 `param:"shift" doc:"the minimiser is moved by a vector uniform on [-shift, shift]^d" min:"0" max:"1e6"`
}

// shifted is the objective x -> f(x - b) for a row kernel f. It keeps a buffer
// and so is not safe for concurrent use.
type shifted struct {
	b, z  []float64
	f     func(z []float64) float64
	facts core.Facts
}

var _ core.Known = (*shifted)(nil)

// newShifted returns x -> f(x - b), b uniform on [-shift, shift]^d. f has its
// smallest value, minimum, at the point centre (nil: the origin), and its
// customary domain is [lower, upper]^d. f may keep buffers of its own.
func newShifted(env *core.Env, shift, lower, upper, minimum float64, centre []float64, f func(z []float64) float64) *shifted {
	s := &shifted{b: make([]float64, env.Dim), z: make([]float64, env.Dim), f: f}
	rng := env.Rand("shift")
	minimiser := make([]float64, env.Dim)
	copy(minimiser, centre)
	for j := range s.b {
		s.b[j] = shift * (2*rng.Float64() - 1)
		minimiser[j] += s.b[j]
	}
	s.facts = core.Facts{
		Lower: constant(env.Dim, lower), Upper: constant(env.Dim, upper),
		Minimum: &minimum, Minimiser: minimiser,
	}
	return s
}

// Facts implements core.Known. What it returns belongs to the objective.
func (s *shifted) Facts() core.Facts { return s.facts }

// Evaluate implements core.Objective.
func (s *shifted) Evaluate(ctx context.Context, dst []float64, x *mat.Dense) error {
	if rows, cols := x.Dims(); rows != len(dst) || cols != len(s.b) {
		return fmt.Errorf("%w: %d points with %d coordinates and room for %d values, the objective has %d dimensions", core.ErrShape, rows, cols, len(dst), len(s.b))
	}
	return eachRow(ctx, dst, x, func(row []float64) float64 {
		for j, v := range row {
			s.z[j] = v - s.b[j]
		}
		return s.f(s.z)
	})
}

// eachRow writes f of every row to dst and gives up when ctx is cancelled.
func eachRow(ctx context.Context, dst []float64, x *mat.Dense, f func(row []float64) float64) error {
	for i := range dst {
		if i%256 == 255 && ctx.Err() != nil {
			return ctx.Err()
		}
		dst[i] = f(x.RawRowView(i))
	}
	return nil
}

func constant(d int, value float64) []float64 {
	v := make([]float64, d)
	for i := range v {
		v[i] = value
	}
	return v
}

// ramp returns the numbers t_j = (j-1)/(d-1) from 0 to 1, and 0 alone for d = 1.
func ramp(d int) []float64 {
	t := make([]float64, d)
	for j := 1; j < d; j++ {
		t[j] = float64(j) / float64(d-1)
	}
	return t
}

// needPairs refuses one dimension for an objective made of pairs of neighbours.
func needPairs(env *core.Env) error {
	if env.Dim < 2 {
		return fmt.Errorf("%w: dimension %d, this objective needs at least 2", core.ErrParam, env.Dim)
	}
	return nil
}
