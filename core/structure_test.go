package core_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/core/kernel"
	"gonum.org/v1/gonum/mat"
)

func normal(rows, cols int) *mat.Dense {
	m := mat.NewDense(rows, cols, nil)
	kernel.Normals(m.RawMatrix().Data, core.NewStream(1).Rand())
	return m
}

func TestPseudoInverseMoorePenrose(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 5}, {3, 3}, {4, 9}, {20, 20}, {30, 50}} {
		w := normal(size[0], size[1])
		x, err := core.PseudoInverse(w)
		if err != nil {
			t.Fatal(err)
		}
		var wx, xw, wxw, xwx mat.Dense
		wx.Mul(w, x)
		xw.Mul(x, w)
		wxw.Mul(&wx, w)
		xwx.Mul(&xw, x)
		for name, pair := range map[string][2]mat.Matrix{
			"W X W = W":         {&wxw, w},
			"X W X = X":         {&xwx, x},
			"W X is symmetric":  {&wx, wx.T()},
			"X W is symmetric":  {&xw, xw.T()},
			"W X is a unit one": {&wx, eye(size[0])},
		} {
			if !mat.EqualApprox(pair[0], pair[1], 1e-10) {
				t.Errorf("%v: not so: %s", size, name)
			}
		}
	}
}

func eye(n int) *mat.Dense {
	m := mat.NewDense(n, n, nil)
	for i := range n {
		m.Set(i, i, 1)
	}
	return m
}

func TestNewStructure(t *testing.T) {
	w := mat.NewDense(2, 3, []float64{3, 4, 0, 0, 0, -1e-200})
	s, err := core.NewStructure(w)
	if err != nil {
		t.Fatal(err)
	}
	if want := mat.NewDense(2, 3, []float64{0.6, 0.8, 0, 0, 0, -1}); s.W != w || !mat.EqualApprox(w, want, 1e-15) {
		t.Errorf("rows\n%v", mat.Formatted(s.W))
	}
	if want := mat.NewDense(3, 2, []float64{0.6, 0, 0.8, 0, 0, -1}); !mat.EqualApprox(s.Inverse, want, 1e-15) {
		t.Errorf("inverse\n%v", mat.Formatted(s.Inverse))
	}
}

func TestStructureRefuses(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, test := range []struct {
		rows, cols int
		data       []float64
		want       error
		text       string
	}{
		{3, 2, []float64{1, 0, 0, 1, 1, 1}, core.ErrShape, "3 directions in 2 dimensions"},
		{2, 2, []float64{1, 0, 0, 0}, core.ErrNaN, "direction 1"},
		{2, 2, []float64{nan, 0, 0, 1}, core.ErrNaN, "direction 0"},
		{2, 2, []float64{1, 0, 1, inf}, core.ErrNaN, "direction 1"},
		{2, 2, []float64{1, 2, 2, 4}, core.ErrParam, "linearly dependent"},
		{2, 3, []float64{1, 2, 3, -1, -2, -3}, core.ErrParam, "linearly dependent"},
		{2, 2, []float64{1, 1, 1, 1 + 1e-13}, core.ErrParam, "linearly dependent"},
	} {
		if _, err := core.NewStructure(mat.NewDense(test.rows, test.cols, test.data)); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%v: %v, want %q", test.data, err, test.text)
		}
	}
	for _, data := range [][]float64{{1, 0, 0, 1, 1, 1}, {nan, 0, 0, 1, 1, 1}} {
		if _, err := core.PseudoInverse(mat.NewDense(3, 2, data)); !errors.Is(err, core.ErrParam) && !errors.Is(err, core.ErrShape) {
			t.Errorf("more rows than columns: %v", err)
		}
	}
	for _, bad := range []float64{nan, inf, -inf} {
		if _, err := core.PseudoInverse(mat.NewDense(2, 3, []float64{1, 0, bad, 0, 1, 0})); err == nil {
			t.Errorf("a matrix with %g has an inverse", bad)
		}
	}
	// Close to dependent, but not too close.
	if _, err := core.NewStructure(mat.NewDense(2, 2, []float64{1, 1, 1, 1 + 1e-10})); err != nil {
		t.Error(err)
	}
}
