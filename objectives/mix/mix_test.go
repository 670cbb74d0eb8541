package mix

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

var random = []string{"orthogonal", "perturbed-orthogonal", "gaussian", "crosstalk"}

func newMix(t *testing.T, p Params, d int, given *mat.Dense, seed uint64) *mat.Dense {
	t.Helper()
	w, err := New(p, d, given, core.NewStream(seed))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Every kind gives unit rows that follow the seed; a rank takes the first ones.
func TestNew(t *testing.T) {
	for _, kind := range random {
		for _, d := range []int{1, 2, 5, 30} {
			p := Params{Kind: kind, Strength: 5}
			w := newMix(t, p, d, nil, 1)
			if rows, cols := w.Dims(); rows != d || cols != d {
				t.Fatalf("%s: %d x %d in %d dimensions", kind, rows, cols, d)
			}
			for i := range d {
				if n := mat.Norm(w.RowView(i), 2); math.Abs(n-1) > 1e-14 {
					t.Errorf("%s: row %d has length %g", kind, i, n)
				}
			}
			if !mat.Equal(w, newMix(t, p, d, nil, 1)) {
				t.Errorf("%s: one seed, two matrices", kind)
			}
			// Up to two heaters the scaling leaves nothing of the jitter.
			if d > 2 && mat.Equal(w, newMix(t, p, d, nil, 2)) {
				t.Errorf("%s: two seeds, one matrix", kind)
			}
			for p.Rank = 1; p.Rank <= d; p.Rank++ {
				if !mat.Equal(newMix(t, p, d, nil, 1), w.Slice(0, p.Rank, 0, d)) {
					t.Errorf("%s: rank %d does not give the first rows", kind, p.Rank)
				}
			}
		}
	}
}

func TestOrthogonal(t *testing.T) {
	w := newMix(t, Params{Kind: "orthogonal", Rank: 4}, 9, nil, 1)
	var gram mat.Dense
	gram.Mul(w, w.T())
	if !mat.EqualApprox(&gram, mat.NewDiagDense(4, []float64{1, 1, 1, 1}), 1e-14) {
		t.Errorf("the rows are not orthonormal:\n%v", mat.Formatted(&gram))
	}
}

func TestCrosstalk(t *testing.T) {
	const d = 9
	w := newMix(t, Params{Kind: "crosstalk"}, d, nil, 1)
	for i := range d {
		var off float64
		for j := range d {
			v := w.At(i, j) / w.At(i, i) // the unit diagonal of before
			switch distance := max(i-j, j-i); {
			case distance > 3 && v != 0:
				t.Errorf("entry %d, %d is %g", i, j, v)
			case distance > 0:
				off += v
			}
			if j > i+1 && j <= i+3 {
				// Neighbouring entries differ by the factor 0.4 and the jitter.
				if ratio := w.At(i, j) / w.At(i, j-1) / 0.4; ratio < 0.7/1.3 || ratio > 1.3/0.7 {
					t.Errorf("entry %d, %d is off by the factor %g", i, j, ratio)
				}
			}
		}
		if math.Abs(off-0.3) > 1e-14 {
			t.Errorf("row %d: neighbours add up to %g", i, off)
		}
	}
}

// Results that are on record depend on these draws.
func TestDrawsStay(t *testing.T) {
	for kind, want := range map[string][]float64{
		"orthogonal":           {0.48486191076401508, -0.42439700487567494, -0.73864998364036749, 0.19797048116047469, -0.76396742846387478},
		"perturbed-orthogonal": {-0.0010342679272372962, 0.11894593291537343, -0.83328115128185076, 0.53990121156665294, 0.069899633850398796},
	} {
		got := newMix(t, Params{Kind: kind, Strength: 5}, 4, nil, 1).RawMatrix().Data[:5]
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-14 {
				t.Errorf("%s: %.17g, want %.17g", kind, got, want)
			}
		}
	}
}

func TestFile(t *testing.T) {
	given := mat.NewDense(2, 3, []float64{3, 4, 0, 0, 0, -2})
	w := newMix(t, Params{Kind: "file", File: "w.csv", Rank: 2}, 3, given, 1)
	if want := mat.NewDense(2, 3, []float64{0.6, 0.8, 0, 0, 0, -1}); !mat.EqualApprox(w, want, 1e-15) {
		t.Errorf("got\n%v", mat.Formatted(w))
	}
	if given.At(0, 0) != 3 {
		t.Error("the given matrix was changed")
	}
}

func TestErrors(t *testing.T) {
	square := func(data ...float64) *mat.Dense { return mat.NewDense(2, 2, data) }
	for _, test := range []struct {
		p     Params
		given *mat.Dense
		want  string
	}{
		{Params{Kind: "rotation"}, nil, `"rotation"`},
		{Params{Kind: "gaussian", Rank: 3}, nil, "rank: 3"},
		{Params{Kind: "gaussian", Rank: -1}, nil, "rank: -1"},
		{Params{Kind: "gaussian", File: "w.csv"}, nil, `kind = "file"`},
		{Params{Kind: "gaussian"}, square(1, 0, 0, 1), `kind = "file"`},
		{Params{Kind: "file"}, nil, "needs a matrix"},
		{Params{Kind: "file"}, mat.NewDense(3, 2, nil), "3 x 2"},
		{Params{Kind: "file", Rank: 1}, square(1, 0, 0, 1), "must be 1 x 2"},
		{Params{Kind: "file"}, square(1, 0, 0, 0), "row 2"},
		{Params{Kind: "file"}, square(math.NaN(), 0, 0, 1), "row 1"},
		{Params{Kind: "file"}, square(1, 2, 2, 4), "linearly dependent"},
		{Params{Kind: "perturbed-orthogonal", Strength: math.Inf(1)}, nil, "row 1"},
	} {
		_, err := New(test.p, 2, test.given, core.NewStream(1))
		if !errors.Is(err, core.ErrParam) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.p, err, test.want)
		}
	}
}

func TestParams(t *testing.T) {
	d := core.DescribeParams("mix", Defaults())
	if kinds := append(slices.Clone(random), "file"); !slices.Equal(d.Params[0].OneOf, kinds) {
		t.Errorf("the kinds are %v, these tests cover %v", d.Params[0].OneOf, kinds)
	}
}

func TestParse(t *testing.T) {
	w, err := Parse(strings.NewReader("\ufeff# two rows\n1, -2.5e-1,3 # remark\r\n\n   \n4,5,6"))
	if err != nil {
		t.Fatal(err)
	}
	if want := mat.NewDense(2, 3, []float64{1, -0.25, 3, 4, 5, 6}); !mat.Equal(w, want) {
		t.Errorf("got\n%v", mat.Formatted(w))
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "no matrix",
		"# nothing\n\n":    "no matrix",
		"1,2\n\n3":         "line 3: 1 numbers",
		"1,2\n3,4,5":       "line 2: 3 numbers",
		"1,2\n3,x":         `line 2, column 2: "x"`,
		"# a\n1,,2":        "line 2, column 2",
		"1,2,":             "line 1, column 3",
		"NaN":              "line 1, column 1",
		"1,2\n-Inf,3":      "line 2, column 1",
		"1e999":            "line 1, column 1",
		"1 2":              "line 1, column 1",
		"1;2":              "line 1, column 1",
		"\x00\n":           "line 1, column 1",
		"1,2\n3,4 5 # ,,,": "line 2, column 2",
	} {
		if _, err := Parse(strings.NewReader(text)); !errors.Is(err, core.ErrParam) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := Parse(iotest.ErrReader(os.ErrClosed)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a reader that fails: %v", err)
	}
}

// FuzzParse checks that whatever is accepted is a finite matrix that is read
// back the same from its own text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "1,2\n3,4\n", "# c\n\n1e-3 , 0x1p-2\r\n+5,-0 # d", "1,,2", "nan", "1\n2,3", ",", "1_0", "\ufeff1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := Parse(strings.NewReader(text))
		if err != nil {
			return
		}
		rows, cols := w.Dims()
		var b strings.Builder
		for i := range rows {
			for j, v := range w.RawRowView(i) {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("accepted %g", v)
				}
				if j > 0 {
					b.WriteString(",")
				}
				fmt.Fprintf(&b, "%.17g", v)
			}
			b.WriteString("\n")
		}
		again, err := Parse(strings.NewReader(b.String()))
		if err != nil || !mat.Equal(w, again) {
			t.Fatalf("%d x %d: written and read again it differs: %v", rows, cols, err)
		}
	})
}
