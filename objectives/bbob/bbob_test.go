package bbob

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/sdk"
	"gonum.org/v1/gonum/mat"
)

func makeObjective(t testing.TB, function, instance, dim int) *objective {
	t.Helper()
	c := Component()
	o, err := c.Make(map[string]any{"function": function, "instance": instance}, &core.Env{Dim: dim})
	if err != nil {
		t.Fatal(err)
	}
	return o.(*objective)
}

func evaluate(t testing.TB, o core.Objective, x *mat.Dense) []float64 {
	t.Helper()
	rows, _ := x.Dims()
	f := make([]float64, rows)
	if err := o.Evaluate(context.Background(), f, x); err != nil {
		t.Fatal(err)
	}
	return f
}

func randomPoints(rows, dim int) *mat.Dense {
	rng := rand.New(rand.NewPCG(1, 2))
	x := mat.NewDense(rows, dim, nil)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = 12*rng.Float64() - 6
	}
	return x
}

func parseFloat(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestReferenceValues compares every function with COCO's own program,
// directly and over the wire.
func TestReferenceValues(t *testing.T) {
	t.Run("direct", func(t *testing.T) {
		compareWithReference(t, func(function, instance, dim int) core.Known {
			return makeObjective(t, function, instance, dim)
		})
	})
	t.Run("over the wire", func(t *testing.T) {
		c := Component()
		open, stop, err := sdk.Loopback(&c)
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		compareWithReference(t, func(function, instance, dim int) core.Known {
			o, err := open(t.Context(), map[string]any{"function": function, "instance": instance}, &core.Env{Dim: dim})
			if err != nil {
				t.Fatal(err)
			}
			return o.(core.Known)
		})
	})
}

func compareWithReference(t *testing.T, makeObjective func(function, instance, dim int) core.Known) {
	file, err := os.Open("testdata/bbob_reference.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	records = records[1:]
	if len(records) != 1440 {
		t.Fatalf("%d rows instead of 1440", len(records))
	}
	objectives := map[[3]int]core.Known{}
	worst := map[int]float64{}
	for _, record := range records {
		var key [3]int
		for i := range key {
			key[i] = int(parseFloat(t, record[i]))
		}
		function, dim, instance := key[0], key[1], key[2]
		o := objectives[key]
		if o == nil {
			o = makeObjective(function, instance, dim)
			objectives[key] = o
		}
		if want := parseFloat(t, record[3]); *o.Facts().Minimum != want {
			t.Errorf("f%d, instance %d: fopt %v instead of %v", function, instance, *o.Facts().Minimum, want)
		}
		x := mat.NewDense(1, dim, nil)
		for i, s := range strings.Split(record[4], ";") {
			x.Set(0, i, parseFloat(t, s))
		}
		got, want := evaluate(t, o, x)[0], parseFloat(t, record[5])
		deviation := math.Abs(got-want) / max(1, math.Abs(want))
		worst[function] = max(worst[function], deviation)
		if !(deviation <= 1e-9) {
			t.Errorf("f%d, instance %d at %s: %v instead of %v", function, instance, record[4], got, want)
		}
	}
	t.Log("largest relative deviations:", worst)
}

func TestMinimum(t *testing.T) {
	for function := 1; function <= len(catalogue); function++ {
		for _, dim := range []int{2, 3, 5, 10, 20, 40, 80} {
			for _, instance := range []int{1, 2, 7, 110, 214000} {
				o := makeObjective(t, function, instance, dim)
				facts := o.Facts()
				x := mat.NewDense(1, dim, facts.Minimiser)
				f := evaluate(t, o, x)[0]
				if !(math.Abs(f-*facts.Minimum) <= 1e-9) {
					t.Errorf("f%d, dim %d, instance %d: %v at the minimiser, the minimum is %v", function, dim, instance, f, *facts.Minimum)
				}
				for i, v := range facts.Minimiser {
					if facts.Lower[i] != -5 || facts.Upper[i] != 5 || math.Abs(v) > 5 {
						t.Errorf("f%d, dim %d, instance %d: coordinate %d of the minimiser is %v, the domain [%v, %v]", function, dim, instance, i, v, facts.Lower[i], facts.Upper[i])
					}
				}
				// Nothing near or far is better.
				around := randomPoints(20, dim)
				for i := range 10 {
					for j, v := range facts.Minimiser {
						around.Set(i, j, v+around.At(i, j)/1000)
					}
				}
				for i, f := range evaluate(t, o, around) {
					if !(f >= *facts.Minimum-1e-9) {
						t.Errorf("f%d, dim %d, instance %d: %v at %v is below the minimum %v", function, dim, instance, f, around.RawRowView(i), *facts.Minimum)
					}
				}
			}
		}
	}
}

// TestBatches checks that a value depends on nothing but its point: neither on
// the other points nor on how they lie in memory.
func TestBatches(t *testing.T) {
	const rows, dim = 2*chunk + 5, 80
	wide := randomPoints(rows, dim+3)
	x := wide.Slice(0, rows, 2, dim+2).(*mat.Dense)
	for function := 1; function <= len(catalogue); function++ {
		o := makeObjective(t, function, 1, dim)
		together := evaluate(t, o, x)
		for _, i := range []int{0, 1, chunk - 1, chunk, rows - 1} {
			alone := evaluate(t, o, mat.NewDense(1, dim, append([]float64{}, x.RawRowView(i)...)))[0]
			if alone != together[i] {
				t.Errorf("f%d: point %d has the value %v alone and %v in a batch", function, i, alone, together[i])
			}
		}
	}
}

func TestNonFinite(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	x := mat.NewDense(5, 3, []float64{
		1, 2, 3,
		1, inf, 3,
		nan, 2, -inf,
		1, 2, nan,
		1, 2, 3,
	})
	for function := 1; function <= len(catalogue); function++ {
		f := evaluate(t, makeObjective(t, function, 1, 3), x)
		if f[1] != inf || f[2] != inf || !math.IsNaN(f[3]) {
			t.Errorf("f%d: %v, %v, %v instead of +Inf, +Inf, NaN", function, f[1], f[2], f[3])
		}
		if math.IsNaN(f[0]) || math.IsInf(f[0], 0) || f[0] != f[4] {
			t.Errorf("f%d: finite points have the values %v and %v", function, f[0], f[4])
		}
	}
}

func TestBadParameters(t *testing.T) {
	c := Component()
	for _, test := range []struct {
		function, instance, dim int
		says                    string
	}{
		{0, 1, 2, "function: 0 is not possible"},
		{25, 1, 2, "function: 25 is not possible"},
		{1, 0, 2, "instance: 0 is not possible"},
		{1, 214001, 2, "instance: 214001 is not possible"},
		{1, 1, 1, "dimension 1: the bbob functions need at least 2"},
	} {
		_, err := c.Make(map[string]any{"function": test.function, "instance": test.instance}, &core.Env{Dim: test.dim})
		if !errors.Is(err, core.ErrParam) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: error %v", test, err)
		}
	}
}

func TestBadShape(t *testing.T) {
	o := makeObjective(t, 1, 1, 3)
	ctx := context.Background()
	if err := o.Evaluate(ctx, make([]float64, 2), mat.NewDense(2, 4, nil)); !errors.Is(err, core.ErrShape) {
		t.Errorf("wrong dimension: error %v", err)
	}
	if err := o.Evaluate(ctx, make([]float64, 1), mat.NewDense(2, 3, nil)); !errors.Is(err, core.ErrShape) {
		t.Errorf("too few places for values: error %v", err)
	}
	if err := o.Evaluate(ctx, nil, &mat.Dense{}); err != nil {
		t.Errorf("empty batch: error %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := makeObjective(t, 1, 1, 2).Evaluate(ctx, make([]float64, 1000), mat.NewDense(1000, 2, nil))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestDoc(t *testing.T) {
	c := Component()
	for i, f := range catalogue {
		if line := fmt.Sprintf("\n%2d  %s", i+1, f.name); !strings.Contains(c.Doc, line) {
			t.Errorf("the doc text does not list %q", line)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	x := randomPoints(50, 10)
	dst := make([]float64, 50)
	ctx := context.Background()
	for function := 1; function <= len(catalogue); function++ {
		o := makeObjective(t, function, 1, 10)
		if n := testing.AllocsPerRun(2, func() { o.Evaluate(ctx, dst, x) }); n != 0 {
			t.Errorf("f%d: %v allocations a batch", function, n)
		}
	}
}

// BenchmarkEvaluate measures batches of 50 points in 100 dimensions.
func BenchmarkEvaluate(b *testing.B) {
	const rows, dim = 50, 100
	x := randomPoints(rows, dim)
	dst := make([]float64, rows)
	ctx := context.Background()
	for i, f := range catalogue {
		b.Run(fmt.Sprintf("f%d %s", i+1, f.name), func(b *testing.B) {
			o := makeObjective(b, i+1, 1, dim)
			evaluate(b, o, x) // the first batch makes the buffers
			b.ReportAllocs()
			for b.Loop() {
				if err := o.Evaluate(ctx, dst, x); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "evaluations/s")
		})
	}
}
