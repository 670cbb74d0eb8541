package objectives

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// The minimiser of a well is checked against a scan so dense that it meets
// every ripple, with the lowest points polished by golden sections.
func TestWellMinimiser(t *testing.T) {
	rng := core.NewStream(11).Rand()
	spread := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	for i := range 400 {
		w := well{b: 3 * rng.Float64(), h: spread(0.01, 10), k: spread(0.1, 30), c: spread(0.001, 30) * float64(1-2*(i%2))}
		switch i % 10 {
		case 3: // two wells of nearly the same depth
			w.c = 1e-9 * w.c
		case 6: // ripples that just cancel the hump between the wells
			w.h = 4 * w.b * w.b / (w.k * w.k)
			w.c = 0
		case 9:
			w.h = 0
		}
		got, want := w.value(w.minimiser()), scannedMinimum(&w)
		if !(math.Abs(got-want) <= 1e-12*(1+math.Abs(want))) {
			t.Errorf("%+v: %.17g at %g, the scan gives %.17g", w, got, w.minimiser(), want)
		}
	}
	for _, w := range []well{{}, {b: 2}, {h: 1000, k: 1000, c: 1000}, {b: 100, h: 1000, k: 1000, c: -1000}, {b: 100, c: 1}, {b: 1, h: 4, k: 1}} {
		got := w.minimiser()
		for i := range 20000 { // nowhere near is it lower
			x := got + 3*math.Pow(rng.Float64(), 1+float64(i%8))*rng.NormFloat64()
			if w.value(x) < w.value(got)-1e-12*(1+math.Abs(w.value(got))) {
				t.Fatalf("%+v: %.17g at %g, %.17g at %g", w, w.value(got), got, w.value(x), x)
			}
		}
	}
}

func scannedMinimum(w *well) float64 {
	const ends = 9.0
	step := 0.02 / (1 + w.k)
	best := math.Inf(1)
	before, here := w.value(-ends), w.value(-ends+step)
	for x := -ends + step; x < ends; x += step {
		after := w.value(x + step)
		if here <= before && here <= after && here < best+1 {
			best = min(best, golden(w.value, x-step, x+step))
		}
		before, here = here, after
	}
	return best
}

// golden returns the minimum of a function with one minimum on [a, b].
func golden(f func(float64) float64, a, b float64) float64 {
	ratio := (math.Sqrt(5) - 1) / 2
	for range 60 {
		left, right := b-ratio*(b-a), a+ratio*(b-a)
		if f(left) < f(right) {
			b = right
		} else {
			a = left
		}
	}
	return f((a + b) / 2)
}

func TestRastriginLikeFormula(t *testing.T) {
	f := build(t, RastriginLike(), map[string]any{"bias": 0}, env(3, 1))
	want := 0.0
	x := []float64{0.5, -1.7, 3}
	for _, v := range x {
		want += math.Pow(v*v-4, 2) - 0.3*math.Cos(3*v)
	}
	if got := at(t, f, x...); math.Abs(got-want) > 1e-13*want {
		t.Errorf("%.17g, want %.17g", got, want)
	}
	// The tilt is f(x) - f(-x) over 2x.
	f = build(t, RastriginLike(), nil, env(1, 1))
	if c := (at(t, f, 1) - at(t, f, -1)) / 2; c == 0 || math.Abs(c) > 1 {
		t.Errorf("tilt %g", c)
	}
}

func TestMicroring(t *testing.T) {
	const d, a, r = 5, 0.95, 0.85
	f := build(t, Microring(), nil, env(d, 1))
	facts := f.Facts()
	if want := d * math.Pow((a-r)/(1-a*r), 2); math.Abs(*facts.Minimum-want) > 1e-14 {
		t.Errorf("minimum %g, want %g", *facts.Minimum, want)
	}
	// Along one coordinate f is the transmission of one ring.
	for phase := -10.0; phase < 10; phase += 0.1 {
		z := slices.Clone(facts.Minimiser)
		z[2] += phase
		c := math.Cos(phase)
		want := (a*a-2*a*r*c+r*r)/(1-2*a*r*c+a*a*r*r) + *facts.Minimum*(d-1)/d
		if got := at(t, f, z...); math.Abs(got-want) > 1e-12 {
			t.Errorf("phase %g: %g, want %g", phase, got, want)
		}
	}
	if rows, cols := facts.Mix.Dims(); rows != d || cols != d {
		t.Fatalf("mix of %d x %d", rows, cols)
	}
	for i := range d {
		if n := mat.Norm(facts.Mix.RowView(i), 2); math.Abs(n-1) > 1e-14 {
			t.Errorf("row %d of the mix has length %g", i, n)
		}
	}
	same, other := build(t, Microring(), nil, env(d, 1)), build(t, Microring(), nil, env(d, 2))
	if !mat.Equal(facts.Mix, same.Facts().Mix) || mat.Equal(facts.Mix, other.Facts().Mix) {
		t.Error("the mix does not follow the seed")
	}
}

// interaction is the mixed second difference of f in coordinates i and j,
// which vanishes everywhere only if the two are separate.
func interaction(t *testing.T, f core.Objective, x []float64, i, j int, h float64) float64 {
	value := func(si, sj float64) float64 {
		y := slices.Clone(x)
		y[i] += si * h
		y[j] += sj * h
		return at(t, f, y...)
	}
	return (value(1, 1) - value(1, -1) - value(-1, 1) + value(-1, -1)) / (4 * h * h)
}

func TestBlocksAreBlocks(t *testing.T) {
	for _, test := range []struct {
		sizes []any
		block []int // of each coordinate
	}{
		{nil, []int{0, 0, 1, 1, 2, 2, 2}},
		{[]any{1, 4, 2}, []int{0, 1, 1, 1, 1, 2, 2}},
		{[]any{7}, []int{0, 0, 0, 0, 0, 0, 0}},
	} {
		f := build(t, Blocks(), map[string]any{"sizes": test.sizes, "shift": 1}, env(7, 1))
		x := uniform(core.NewStream(3).Rand(), f.Facts().Lower, f.Facts().Upper)
		for i := range 7 {
			for j := range i {
				got := math.Abs(interaction(t, f, x, i, j, 1e-3))
				if together := test.block[i] == test.block[j]; together != (got > 1e-4) {
					t.Errorf("sizes %v: coordinates %d and %d interact by %g", test.sizes, i, j, got)
				}
			}
		}
	}
}

// Three Hessians of a pair span all symmetric matrices, so nothing makes them
// diagonal at once.
func TestBlocksCannotBeSplit(t *testing.T) {
	f := build(t, Blocks(), nil, env(2, 1))
	rng := core.NewStream(4).Rand()
	entries := mat.NewDense(3, 3, nil)
	for k := range 3 {
		x := uniform(rng, f.Facts().Lower, f.Facts().Upper)
		row := []float64{interaction(t, f, x, 0, 0, 5e-4), interaction(t, f, x, 0, 1, 1e-3), interaction(t, f, x, 1, 1, 5e-4)}
		entries.SetRow(k, row)
		vector := entries.RowView(k).(*mat.VecDense)
		vector.ScaleVec(1/mat.Norm(vector, 2), vector)
	}
	if det := math.Abs(mat.Det(entries)); det < 0.01 {
		t.Errorf("the Hessians are nearly dependent: determinant %g", det)
	}
}

func TestBlockSizes(t *testing.T) {
	for d, want := range map[int][]int{1: {1}, 2: {2}, 3: {3}, 4: {2, 2}, 5: {2, 3}, 8: {2, 2, 2, 2}} {
		if got, err := blockSizes(nil, d); err != nil || !slices.Equal(got, want) {
			t.Errorf("d = %d: %v, %v", d, got, err)
		}
	}
	_, err := blockSizes([]int{2, 3}, 6)
	if err == nil || !strings.Contains(err.Error(), "add up to 5") {
		t.Errorf("too few: %v", err)
	}
	if _, err := blockSizes([]int{math.MaxInt, math.MaxInt, 2}, 6); err == nil {
		t.Error("sizes beyond all bounds were accepted")
	}
}

// What the coupling adds lies within the bounds of the description.
func TestNearly(t *testing.T) {
	const d, weight = 6, 0.3
	f := build(t, Nearly(), map[string]any{"weight": weight, "shift": 1}, env(d, 1))
	g := build(t, Rastrigin(), map[string]any{"shift": 1}, env(d, 1))
	none := build(t, Nearly(), map[string]any{"weight": 0, "shift": 1}, env(d, 1))
	rng := core.NewStream(6).Rand()
	for range 500 {
		x := uniform(rng, f.Facts().Lower, f.Facts().Upper)
		if added := at(t, f, x...) - at(t, g, x...); added < 0 || added > 2*weight*10*(d-1) {
			t.Fatalf("the coupling adds %g", added)
		}
		if at(t, none, x...) != at(t, g, x...) {
			t.Fatal("without weight it is not Rastrigin's function")
		}
	}
	x := uniform(rng, f.Facts().Lower, f.Facts().Upper)
	b := f.Facts().Minimiser
	want := -4 * math.Pi * math.Pi * 10 * weight * math.Cos(2*math.Pi*(x[3]-b[3]-x[2]+b[2]))
	if got := interaction(t, f, x, 2, 3, 1e-4); math.Abs(got-want) > 1e-2 {
		t.Errorf("beside the diagonal %g, want %g", got, want)
	}
	if got := interaction(t, f, x, 1, 3, 1e-4); math.Abs(got) > 1e-2 {
		t.Errorf("coordinates that are no neighbours interact by %g", got)
	}
}
