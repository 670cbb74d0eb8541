package bbob

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers instead of %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= 1e-15) {
			t.Errorf("%s: number %d is %.17g instead of %.17g", what, i, got[i], want[i])
		}
	}
}

func TestRandomNumbers(t *testing.T) {
	near(t, "uniforms(4, 1)", uniforms(4, 1), []float64{0.41599935685098144, 0.091964890757559287, 0.75641048595142113, 0.52970019333516261})
	near(t, "uniforms(4, 10001)", uniforms(4, 10001), []float64{0.53163354496081994, 0.35540521114850659, 0.40956786666510991, 0.74087246635038051})
	near(t, "normals(2, 10001)", normals(2, 10001), []float64{-0.94747044855895057, -0.082446983458078674})
	near(t, "normals(1, 10001)", normals(1, 10001), []float64{-0.69122823400896249})
	near(t, "normals(1, 10002)", normals(1, 10002), []float64{-0.86973070330747626})
	near(t, "optimalPoint(3, 10001)", optimalPoint(3, 10001), []float64{0.2528, -1.1568, -0.724})
	for _, u := range uniforms(10000, 2147483646) {
		if !(u > 0 && u < 1) {
			t.Fatalf("uniform number %v", u)
		}
	}
}

func TestRotation(t *testing.T) {
	near(t, "rotation(2, 1010010)", rotation(2, 1010010).RawMatrix().Data, []float64{
		0.9773319308815468, -0.21171276975975556,
		0.2117127697597555, 0.97733193088154691})
	near(t, "rotation(3, 1010010)", rotation(3, 1010010).RawMatrix().Data, []float64{
		-0.032580429923207491, -0.29617966029616372, -0.95457641098702417,
		-0.9922393006134379, 0.12425458688504012, -0.0046869986327617063,
		-0.11999869126025703, -0.94701552598934569, 0.29792936684883631})

	const dim = 50
	q := rotation(dim, 10009)
	var product mat.Dense
	product.Mul(q.T(), q)
	for i := range dim {
		product.Set(i, i, product.At(i, i)-1)
	}
	if norm := mat.Norm(&product, 2); norm > 1e-12 {
		t.Errorf("the rotation is not orthogonal: |Q^T Q - I| = %v", norm)
	}
}

func TestOptimalValue(t *testing.T) {
	want := [24][3]float64{
		{79.48, 394.48, -247.11}, {-209.88, -92.09, -87.89}, {-462.09, 77.66, 115.68},
		{-462.09, 77.66, 115.68}, {-9.21, 655.99, 66.71}, {35.9, 31.37, -1000},
		{92.94, 35.35, 3.82}, {149.15, -1000, 98.62}, {123.83, 47.51, 55.34},
		{-54.94, 59.13, -491.53}, {76.27, -22.55, 13.66}, {-621.11, -254.82, 56.61},
		{29.97, -51.71, -279.95}, {-52.35, -179.54, 77.31}, {1000, 70.03, -48.22},
		{71.35, -355.22, 99.17}, {-16.94, 18.81, 273.15}, {-16.94, 18.81, 273.15},
		{-102.55, 71.69, 214.01}, {-546.5, 1000, 208.38}, {40.78, -1.6, -370.84},
		{-1000, 1000, -49.13}, {6.87, 0.01, -130.61}, {102.61, 93.3, 13.64},
	}
	for i, row := range want {
		for j, fopt := range row {
			if got := optimalValue(catalogue[i].seed + 10000*int64(j+1)); got != fopt {
				t.Errorf("f%d, instance %d: fopt %v instead of %v", i+1, j+1, got, fopt)
			}
		}
	}
}

func TestRound(t *testing.T) {
	for in, want := range map[float64]float64{-1.5: -1, -0.5: 0, 0.5: 1, 1.5: 2, 2.4: 2, -2.6: -3} {
		if got := round(in); got != want {
			t.Errorf("round(%v) = %v instead of %v", in, got, want)
		}
	}
}

// TestOscillation checks what T_osz promises: sign, zero, order of magnitude
// and that it is increasing.
func TestOscillation(t *testing.T) {
	if osz(0) != 0 || osz(1) != 1 || osz(-1) != -1 {
		t.Errorf("osz(0) = %v, osz(1) = %v, osz(-1) = %v", osz(0), osz(1), osz(-1))
	}
	previous := [2]float64{math.Inf(-1), 0}
	for k := -400; k <= 400; k++ {
		size := math.Exp(float64(k) / 40)
		for side, in := range []float64{-1 / size, size} {
			out := osz(in)
			if ratio := out / in; !(ratio > 0.9 && ratio < 1.11) {
				t.Errorf("osz(%v) = %v", in, out)
			}
			if out <= previous[side] {
				t.Errorf("osz is not increasing at %v", in)
			}
			previous[side] = out
		}
	}
}

func TestSteps(t *testing.T) {
	for _, test := range []struct {
		name     string
		step     step
		in, want []float64
	}{
		{"shift", shift([]float64{1, 2, 3}), []float64{4, 4, 4}, []float64{3, 2, 1}},
		{"scale", scale([]float64{1, 2, 3}), []float64{4, 4, 4}, []float64{4, 8, 12}},
		{"affine", affine(2, 1), []float64{0, 1, 2}, []float64{1, 3, 5}},
		{"asymmetric", asymmetric(0.5, 3), []float64{4, 4, -4}, []float64{4, 8, -4}},
		{"oscillate", oscillate(), []float64{1, 0, -1}, []float64{1, 0, -1}},
	} {
		test.step.point(test.in)
		near(t, test.name, test.in, test.want)
	}
	near(t, "lambda", lambda(100, 3), []float64{1, math.Sqrt(10), 10})
	near(t, "penalty", []float64{penalty([]float64{-7, 5, 8, 0})}, []float64{13})
}

// TestSandwich compares with the product of three matrices.
func TestSandwich(t *testing.T) {
	const dim = 7
	a, d, b := rotation(dim, 1), lambda(10, dim), rotation(dim, 2)
	var want mat.Dense
	want.Mul(mat.NewDiagDense(dim, d), b)
	if !mat.EqualApprox(scaledRows(d, b), &want, 1e-14) {
		t.Error("scaledRows is wrong")
	}
	want.Mul(a, &want)
	if !mat.EqualApprox(sandwich(a, d, b), &want, 1e-14) {
		t.Error("sandwich is wrong")
	}
}

func TestArgsort(t *testing.T) {
	if got := argsort([]float64{0.3, 0.1, 0.2}); !slices.Equal(got, []int{1, 2, 0}) {
		t.Errorf("argsort = %v", got)
	}
}
