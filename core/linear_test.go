package core_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

func TestLinear(t *testing.T) {
	r := &recorder{}
	l := core.NewLinear(r, mat.NewDense(2, 3, []float64{1, 0, 2, 0, -1, 0}))
	for _, rows := range []int{2, 1, 5} { // the buffer grows and shrinks
		x := mat.NewDense(rows, 3, nil)
		for i := range rows {
			x.SetRow(i, []float64{1, float64(i), 10})
		}
		f := make([]float64, rows)
		if err := l.Evaluate(t.Context(), f, x); err != nil {
			t.Fatal(err)
		}
		seen := r.batches[len(r.batches)-1]
		if n, m := seen.Dims(); n != rows || m != 2 {
			t.Fatalf("the objective got %d x %d", n, m)
		}
		for i := range rows {
			if seen.At(i, 0) != 21 || seen.At(i, 1) != -float64(i) || f[i] != 21 {
				t.Errorf("row %d became %v with the value %g", i, seen.RawRowView(i), f[i])
			}
		}
	}
	if err := l.Evaluate(t.Context(), make([]float64, 1), mat.NewDense(1, 2, nil)); !errors.Is(err, core.ErrShape) {
		t.Errorf("two coordinates for three: %v", err)
	}
}

func TestBuffer(t *testing.T) {
	var b core.Buffer
	for _, size := range [][2]int{{2, 3}, {2, 3}, {3, 2}, {1, 6}, {4, 5}, {1, 1}, {5, 4}} {
		m := b.Dense(size[0], size[1])
		if rows, cols := m.Dims(); rows != size[0] || cols != size[1] {
			t.Fatalf("%d x %d instead of %v", rows, cols, size)
		}
		for i := range size[0] {
			for j := range size[1] {
				m.Set(i, j, float64(10*i+j))
			}
		}
		want := make([]float64, 0, size[0]*size[1])
		for i := range size[0] {
			for j := range size[1] {
				want = append(want, float64(10*i+j))
			}
		}
		if raw := m.RawMatrix(); !slices.Equal(raw.Data, want) || raw.Stride != size[1] {
			t.Errorf("%v: stride %d, %v", size, raw.Stride, raw.Data)
		}
	}
	if allocs := testing.AllocsPerRun(10, func() { b.Dense(2, 7); b.Dense(5, 4); b.Dense(1, 1) }); allocs != 0 {
		t.Errorf("%g allocations in the steady state", allocs)
	}
}

func TestBox(t *testing.T) {
	env := core.Env{Lower: []float64{-1}, Upper: []float64{2}}
	if lower, upper, err := env.Box(); err != nil || lower[0] != -1 || upper[0] != 2 {
		t.Errorf("%v, %v, %v", lower, upper, err)
	}
	for _, env := range []core.Env{{}, {Lower: []float64{math.Inf(-1)}}} {
		if _, _, err := env.Box(); !errors.Is(err, core.ErrUnsuitable) {
			t.Errorf("%+v: %v", env, err)
		}
	}
}
