package certify

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/estimators/internal/draw"
	"github.com/unbraid/unbraid/plugins/estimators/internal/script"
	"github.com/unbraid/unbraid/plugins/estimators/internal/testbed"
	"gonum.org/v1/gonum/mat"
)

// certify runs the test on f along the rows of w, of which the first found are
// estimates, and returns its result and the number of queries.
func certify(t *testing.T, f core.Objective, w *mat.Dense, found, limit int) (Result, int) {
	t.Helper()
	_, d := w.Dims()
	s, err := core.NewStructure(w)
	if err != nil {
		t.Fatal(err)
	}
	var result Result
	e := &script.Script{}
	subject := Subject{Structure: s, Found: found, Curved: found, Region: draw.NewRegion(&core.Env{Dim: d}, 0), Rand: rand.New(rand.NewPCG(1, 2)), Limit: limit}
	e.Step = Run(subject, func(r Result) (script.Step, error) {
		result, e.Found = r, s
		return script.Step{}, nil
	})
	meter := core.NewMeter(f, d, 1_000_000, math.Inf(-1))
	if _, err := core.Estimate(context.Background(), meter, nil, e); err != nil {
		t.Fatal(err)
	}
	return result, meter.Queries()
}

func TestVerdicts(t *testing.T) {
	const d = 13
	rng := rand.New(rand.NewPCG(3, 4))
	w := testbed.Mix(d, d, rng)
	wrong := testbed.Mix(d, d, rng)
	ripples := testbed.Sum(d, 1, rng, testbed.Rastrigin)
	coupled := func(pairs ...[2]int) testbed.Function {
		return func(z []float64) float64 {
			sum := ripples(z)
			for _, p := range pairs {
				sum += 30 * math.Sin(z[p[0]]*z[p[1]])
			}
			return sum
		}
	}
	for name, c := range map[string]struct {
		f       testbed.Function
		w       *mat.Dense
		verdict core.Verdict
		blocks  [][]int
	}{
		"separable":  {ripples, w, core.Separable, nil},
		"one block":  {coupled([2]int{2, 11}), w, core.Blocks, [][]int{{2, 11}}},
		"two blocks": {coupled([2]int{0, 1}, [2]int{1, 7}, [2]int{4, 12}), w, core.Blocks, [][]int{{0, 1, 7}, {4, 12}}},
		"wrong rows": {ripples, wrong, core.NotSeparable, nil},
	} {
		r, queries := certify(t, core.NewLinear(c.f, w), c.w, d, 60*d)
		if got := r.Verdict(d); got != c.verdict || c.blocks != nil && !reflect.DeepEqual(r.Blocks, c.blocks) {
			t.Errorf("%s: %s, %+v", name, got, r)
		}
		if name == "separable" && (r.Residual > 1e-9 || queries != Cost(d)) {
			t.Errorf("residual %g after %d queries, announced %d", r.Residual, queries, Cost(d))
		}
		if queries > Cost(d)+60*d {
			t.Errorf("%s: %d queries", name, queries)
		}
	}
}

func TestSmallErrorsAreNoCoupling(t *testing.T) {
	const d = 10
	rng := rand.New(rand.NewPCG(5, 6))
	w := testbed.Mix(d, d, rng)
	estimate := mat.DenseCopyOf(w)
	for i := range estimate.RawMatrix().Data {
		estimate.RawMatrix().Data[i] += 1e-5 * rng.NormFloat64()
	}
	r, _ := certify(t, core.NewLinear(testbed.Sum(d, 1, rng, testbed.Rastrigin), w), estimate, d, 60*d)
	if r.Verdict(d) != core.Separable || r.Residual == 0 || r.Residual > 1e-2 {
		t.Errorf("%+v", r)
	}
}

func TestFilledUpRows(t *testing.T) {
	const d = 6
	rng := rand.New(rand.NewPCG(7, 8))
	w := testbed.Orthogonal(d, rng)
	for rank, verdict := range map[int]core.Verdict{4: core.Separable, 5: core.NotSeparable} {
		f := core.NewLinear(testbed.Sum(rank, 1, rng, testbed.Rastrigin), mat.DenseCopyOf(w.Slice(0, rank, 0, d)))
		if r, _ := certify(t, f, mat.DenseCopyOf(w), 4, 0); r.Verdict(4) != verdict {
			t.Errorf("f has rank %d, 4 rows are known: %s, %+v", rank, r.Verdict(4), r)
		}
	}
}

func TestValuesThatAreNotFinite(t *testing.T) {
	const d = 4
	rng := rand.New(rand.NewPCG(9, 10))
	w := testbed.Orthogonal(d, rng)
	ripples := testbed.Sum(d, 1, rng, testbed.Rastrigin)
	calls := 0
	once := testbed.Function(func(z []float64) float64 {
		if calls++; calls == 5 {
			return math.NaN()
		}
		return ripples(z)
	})
	if r, _ := certify(t, core.NewLinear(once, w), mat.DenseCopyOf(w), d, 60*d); r.Verdict(d) != core.Separable {
		t.Errorf("one NaN: %+v", r)
	}
	never := testbed.Function(func([]float64) float64 { return math.Inf(1) })
	if r, queries := certify(t, never, mat.DenseCopyOf(w), d, 60*d); r.Verdict(d) != core.NotSeparable || !r.Blind || len(r.Notes()) == 0 || queries > 5*Cost(d) {
		t.Errorf("never finite: %+v", r)
	}
}

func TestOneRow(t *testing.T) {
	f := testbed.Function(func(z []float64) float64 { return math.Cosh(z[0]) })
	if r, _ := certify(t, f, mat.NewDense(1, 3, []float64{1, 0, 0}), 1, 0); r.Verdict(1) != core.Separable {
		t.Errorf("%+v", r)
	}
}
