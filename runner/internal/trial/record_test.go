package trial

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

func TestThin(t *testing.T) {
	if got := thin(nil, 0); got != nil {
		t.Errorf("no improvements became %v", got)
	}
	for name, test := range map[string]struct {
		trace     []core.Improvement
		reference float64
		want      [][2]float64
	}{
		"one": {[]core.Improvement{{Query: 3, Value: 7}}, 0, [][2]float64{{3, 7}}},
		"large steps stay": {
			[]core.Improvement{{Query: 1, Value: 100}, {Query: 2, Value: 10}, {Query: 3, Value: 1}}, 0,
			[][2]float64{{1, 100}, {2, 10}, {3, 1}}},
		"small ones go, but not the last": {
			[]core.Improvement{{Query: 1000, Value: 100}, {Query: 1001, Value: 99.9}, {Query: 1002, Value: 99.8}, {Query: 1003, Value: 99.7}}, 0,
			[][2]float64{{1000, 100}, {1003, 99.7}}},
		"small steps that add up": {
			[]core.Improvement{{Query: 1000, Value: 100}, {Query: 1001, Value: 99}, {Query: 1002, Value: 97}, {Query: 1003, Value: 96.9}}, 0,
			[][2]float64{{1000, 100}, {1002, 97}, {1003, 96.9}}},
		"small steps after many queries": {
			[]core.Improvement{{Query: 1000, Value: 100}, {Query: 2000, Value: 99.9}, {Query: 2001, Value: 99.8}}, 0,
			[][2]float64{{1000, 100}, {2000, 99.9}, {2001, 99.8}}},
		"steps count by the gap": {
			[]core.Improvement{{Query: 1000, Value: 100.1}, {Query: 1001, Value: 100.05}, {Query: 1002, Value: 100.04999}, {Query: 1003, Value: 100}}, 100,
			[][2]float64{{1000, 100.1}, {1001, 100.05}, {1003, 100}}},
		"below the reference": {
			[]core.Improvement{{Query: 1, Value: 5}, {Query: 2, Value: 4}}, 10,
			[][2]float64{{1, 5}, {2, 4}}},
	} {
		if got := thin(test.trace, test.reference); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// However long the trace, what is left can be drawn and written.
func TestThinLongTrace(t *testing.T) {
	var trace []core.Improvement
	for q := 1; q <= 200_000; q++ {
		trace = append(trace, core.Improvement{Query: q, Value: 1e6 * math.Exp(-float64(q)/1e4)})
	}
	got := thin(trace, 0)
	if len(got) < 100 || len(got) > 2000 || got[0][0] != 1 || got[len(got)-1][0] != 200_000 {
		t.Errorf("%d points from query %g to %g", len(got), got[0][0], got[len(got)-1][0])
	}
	for i := 1; i < len(got); i++ {
		if got[i][0] <= got[i-1][0] || got[i][1] >= got[i-1][1] {
			t.Fatalf("%v does not follow %v", got[i], got[i-1])
		}
	}
	// Without a known minimum the best value is what gaps are taken to.
	if got := thin(trace, trace[len(trace)-1].Value); len(got) < 100 || len(got) > 5000 {
		t.Errorf("%d points without a known minimum", len(got))
	}
}

func TestRecovered(t *testing.T) {
	w := mat.NewDense(2, 3, []float64{0.6, 0.8, 0, 0, 0, 1})
	for name, test := range map[string]struct {
		estimate     []float64
		share, worst float64
	}{
		"exact":              {[]float64{0.6, 0.8, 0, 0, 0, 1}, 1, 0},
		"other order, signs": {[]float64{0, 0, -1, -0.6, -0.8, 0}, 1, 0},
		"close enough":       {[]float64{0.6, 0.8, 9e-5, 0, 0, 1}, 1, 9e-5},
		"not close enough":   {[]float64{0.6, 0.8, 2e-4, 0, 0, 1}, 0.5, 2e-4},
		"fewer rows":         {[]float64{0, 0, 1}, 0.5, math.Sqrt2},
		"more rows":          {[]float64{0, 0, 1, 1, 0, 0, 0.6, 0.8, 0}, 1, 0},
		"the same row twice": {[]float64{0, 0, 1, 0, 0, 1}, 0.5, math.Sqrt2},
		"none":               {[]float64{1, 0, 0}, 0, math.Sqrt2},
	} {
		share, worst := recovered(w, mat.NewDense(len(test.estimate)/3, 3, test.estimate))
		if share != test.share || math.Abs(worst-test.worst) > 1e-12 {
			t.Errorf("%s: share %g, worst %g, want %g, %g", name, share, worst, test.share, test.worst)
		}
	}
}

// A result that JSON cannot carry becomes a failed trial.
func TestWritable(t *testing.T) {
	fine := &Record{Problem: "P", X: []float64{1}, Status: "done"}
	if fine.writable() != fine {
		t.Error("a good record was replaced")
	}
	for name, r := range map[string]*Record{
		"point":       {X: []float64{math.NaN()}},
		"gap":         {Gap: new(math.Inf(1))},
		"certificate": {Certificate: &core.Certificate{Condition: math.Inf(1)}},
		"after error": {X: []float64{math.Inf(1)}, Status: StatusCrash, Error: "it crashed"},
	} {
		r.Problem, r.Method, r.Seed, r.Queries = "P", "M", 3, 10
		got := r.writable()
		if got.Key() != r.Key() || got.Queries != 10 || got.Status != StatusNaN || !got.Failed() ||
			!strings.Contains(got.Error, "not finite") || !strings.Contains(got.Error, r.Error) {
			t.Errorf("%s: %+v", name, got)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
