package core_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// recorder is an objective that returns the first coordinate and keeps what it
// was asked.
type recorder struct {
	batches []*mat.Dense
	err     error
}

func (r *recorder) Evaluate(_ context.Context, dst []float64, x *mat.Dense) error {
	r.batches = append(r.batches, mat.DenseCopyOf(x))
	for i := range dst {
		dst[i] = x.At(i, 0)
	}
	return r.err
}

// points returns a batch with one coordinate a point.
func points(x ...float64) *mat.Dense { return mat.NewDense(len(x), 1, x) }

func evaluate(t *testing.T, m *core.Meter, x ...float64) []float64 {
	t.Helper()
	f := make([]float64, len(x))
	if err := m.Evaluate(t.Context(), f, points(x...)); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestMeterCountsAndRemembers(t *testing.T) {
	m := core.NewMeter(&recorder{}, 1, 100, math.Inf(-1))
	if best, x := m.Best(); !math.IsInf(best, 1) || x != nil {
		t.Errorf("before the first query: %g at %v", best, x)
	}
	if f := evaluate(t, m, 5, 7, 3, 4); !slices.Equal(f, []float64{5, 7, 3, 4}) {
		t.Errorf("values %v", f)
	}
	evaluate(t, m, 3) // no improvement
	evaluate(t, m, 9, -1)
	if m.Queries() != 7 || m.Left() != 93 || m.QueriesToTarget() != 0 || m.Invalid() != 0 {
		t.Errorf("%d queries, %d left, target at %d, %d invalid", m.Queries(), m.Left(), m.QueriesToTarget(), m.Invalid())
	}
	if best, x := m.Best(); best != -1 || !slices.Equal(x, []float64{-1}) {
		t.Errorf("best %g at %v", best, x)
	}
	if want := []core.Improvement{{1, 5}, {3, 3}, {7, -1}}; !reflect.DeepEqual(m.Trace(), want) {
		t.Errorf("trace %v, want %v", m.Trace(), want)
	}
	if q, best := m.Live(); q != 7 || best != -1 {
		t.Errorf("live: %d queries, best %g", q, best)
	}
}

// The best point is a copy: solvers use their batches again.
func TestMeterKeepsItsPoint(t *testing.T) {
	m := core.NewMeter(&recorder{}, 2, 10, math.Inf(-1))
	x := mat.NewDense(1, 2, []float64{1, 2})
	if err := m.Evaluate(t.Context(), make([]float64, 1), x); err != nil {
		t.Fatal(err)
	}
	x.Zero()
	if _, best := m.Best(); !slices.Equal(best, []float64{1, 2}) {
		t.Errorf("best point %v", best)
	}
}

func TestMeterRefusesWithoutEvaluating(t *testing.T) {
	r := &recorder{}
	m := core.NewMeter(r, 1, 3, math.Inf(-1))
	evaluate(t, m, 1, 2)
	for name, test := range map[string]struct {
		dst  int
		x    *mat.Dense
		want error
	}{
		"over budget":       {2, points(0, 0), core.ErrBudget},
		"too few values":    {1, points(0, 0), core.ErrShape},
		"wrong coordinates": {1, mat.NewDense(1, 2, nil), core.ErrShape},
	} {
		if err := m.Evaluate(t.Context(), make([]float64, test.dst), test.x); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(r.batches) != 1 || m.Queries() != 2 || m.Left() != 1 {
		t.Errorf("%d batches evaluated, %d queries, %d left", len(r.batches), m.Queries(), m.Left())
	}
	evaluate(t, m, 0) // what fits still goes through
	if err := m.Evaluate(t.Context(), make([]float64, 1), points(0)); !errors.Is(err, core.ErrBudget) {
		t.Errorf("with nothing left: %v", err)
	}
}

func TestMeterPassesErrorsOn(t *testing.T) {
	r := &recorder{err: errors.New("the simulator is out")}
	m := core.NewMeter(r, 1, 3, math.Inf(-1))
	if err := m.Evaluate(t.Context(), make([]float64, 1), points(1)); !errors.Is(err, r.err) {
		t.Error(err)
	}
	if _, x := m.Best(); x != nil {
		t.Errorf("a failed batch left the best point %v", x)
	}
}

func TestMeterUnusableValues(t *testing.T) {
	m := core.NewMeter(&recorder{}, 1, 10, 0)
	inf := math.Inf(1)
	if f := evaluate(t, m, math.NaN(), -inf, inf); !slices.Equal(f, []float64{inf, inf, inf}) {
		t.Errorf("values %v", f)
	}
	if best, x := m.Best(); x != nil || best != inf || m.QueriesToTarget() != 0 || len(m.Trace()) != 0 {
		t.Errorf("best %g at %v, target at %d", best, x, m.QueriesToTarget())
	}
	if f := evaluate(t, m, 4, math.NaN(), 2); !slices.Equal(f, []float64{4, inf, 2}) {
		t.Errorf("values %v", f)
	}
	if m.Invalid() != 3 || m.Queries() != 6 {
		t.Errorf("%d invalid of %d queries", m.Invalid(), m.Queries())
	}
	if want := []core.Improvement{{4, 4}, {6, 2}}; !reflect.DeepEqual(m.Trace(), want) {
		t.Errorf("trace %v", m.Trace())
	}
}

func TestMeterStrict(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
		m := core.NewMeter(&recorder{}, 1, 10, math.Inf(-1))
		m.Strict = true
		evaluate(t, m, 1, math.Inf(1)) // +Inf is a value
		err := m.Evaluate(t.Context(), make([]float64, 3), points(0, bad, 5))
		if !errors.Is(err, core.ErrNaN) || !strings.Contains(err.Error(), "query 4") {
			t.Errorf("%g: %v", bad, err)
		}
		if best, _ := m.Best(); best != 0 || m.Invalid() != 1 {
			t.Errorf("%g: best %g, %d invalid", bad, best, m.Invalid())
		}
	}
}

func TestMeterTarget(t *testing.T) {
	for _, test := range []struct {
		target float64
		x      []float64
		want   int
	}{
		{1, []float64{3, 2, 1.5}, 0},
		{1, []float64{3, 1, 0}, 2}, // reached exactly, and the first counts
		{1, []float64{0.5}, 1},
		{math.Inf(-1), []float64{-1e300}, 0},
		{math.NaN(), []float64{0}, 0},
	} {
		m := core.NewMeter(&recorder{}, 1, 10, test.target)
		for _, x := range test.x {
			evaluate(t, m, x)
		}
		if got := m.QueriesToTarget(); got != test.want {
			t.Errorf("target %g in %v: query %d, want %d", test.target, test.x, got, test.want)
		}
	}
}

// Live may be read while the trial runs.
func TestMeterLive(t *testing.T) {
	const batches = 2000
	m := core.NewMeter(&recorder{}, 1, 2*batches, math.Inf(-1))
	var wait sync.WaitGroup
	stop := make(chan struct{})
	wait.Go(func() {
		lastQueries, lastBest := 0, math.Inf(1)
		for {
			queries, best := m.Live()
			if queries < lastQueries || queries%2 != 0 || best > lastBest {
				t.Errorf("from %d queries and %g to %d and %g", lastQueries, lastBest, queries, best)
				return
			}
			lastQueries, lastBest = queries, best
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for i := range batches {
		evaluate(t, m, -float64(i), 0)
	}
	close(stop)
	wait.Wait()
	if q, best := m.Live(); q != 2*batches || best != 1-batches {
		t.Errorf("at the end %d queries, best %g", q, best)
	}
}
