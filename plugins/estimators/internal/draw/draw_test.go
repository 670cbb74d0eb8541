package draw

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/floats"
)

func TestBall(t *testing.T) {
	const d, n, radius = 5, 2000, 3
	env := &core.Env{Dim: d, Lower: make([]float64, d), Upper: make([]float64, d)}
	for i := range d {
		env.Lower[i], env.Upper[i] = 0, 2
	}
	x := NewRegion(env, radius).Sample(n, rand.New(rand.NewPCG(1, 2)))
	inner := 0
	for i := range n {
		row := x.RawRowView(i)
		floats.AddConst(-1, row)
		length := floats.Norm(row, 2)
		if length > radius {
			t.Fatalf("distance %g from the centre", length)
		}
		if length < radius*math.Pow(0.5, 1./d) {
			inner++
		}
	}
	if inner < n*45/100 || inner > n*55/100 {
		t.Errorf("%d of %d points in the inner half of the volume", inner, n)
	}
}

func TestRegions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	box := NewRegion(&core.Env{Dim: 2, Lower: []float64{0, -100}, Upper: []float64{8, 100}}, 0)
	x := box.Sample(500, rng)
	for i := range 500 {
		if a, b := x.At(i, 0), x.At(i, 1); a < 2 || a > 6 || b < -50 || b > 50 {
			t.Fatalf("(%g, %g) is not in the inner half of the domain", a, b)
		}
	}
	if l := box.Length(); l < 10 || l > 60 {
		t.Errorf("length %g", l)
	}
	infinite := []float64{math.Inf(1), 1, 1, 1}
	for _, env := range []*core.Env{{Dim: 4}, {Dim: 4, Lower: make([]float64, 4), Upper: infinite}} {
		ball := NewRegion(env, 0)
		if math.Abs(ball.radius-3) > 1e-12 || math.Abs(ball.Length()-1.5) > 1e-12 {
			t.Errorf("radius %g, length %g without a finite domain", ball.radius, ball.Length())
		}
	}
}
