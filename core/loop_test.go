package core_test

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// script is a solver that asks for given batches, one after the other.
type script struct {
	batches [][]float64
	told    [][]float64
	asked   int
	askErr  error
	tellErr error
	onTell  func()
}

func (s *script) Ask(context.Context) (*mat.Dense, error) {
	if s.askErr != nil {
		return nil, s.askErr
	}
	s.asked++
	if s.asked > len(s.batches) {
		return nil, nil
	}
	return points(s.batches[s.asked-1]...), nil
}

func (s *script) Tell(_ context.Context, f []float64) error {
	s.told = append(s.told, slices.Clone(f))
	if s.onTell != nil {
		s.onTell()
	}
	return s.tellErr
}

// listening is a script that is told when the budget is spent.
type listening struct {
	script
	spent [][]float64
	err   error
}

func (s *listening) BudgetSpent(_ context.Context, f []float64) error {
	s.spent = append(s.spent, slices.Clone(f))
	return s.err
}

// explaining is a script that says why it is done.
type explaining struct {
	script
	reason string
}

func (s *explaining) Reason() string { return s.reason }

func TestSolveBudget(t *testing.T) {
	for name, test := range map[string]struct {
		batches   [][]float64
		budget    int
		end       core.End
		queries   int
		told      [][]float64
		spent     [][]float64 // what a BudgetListener hears
		evaluated [][]float64
	}{
		"done before the budget is spent": {
			batches: [][]float64{{3, 1}, {2}}, budget: 10,
			end: core.EndDone, queries: 3, told: [][]float64{{3, 1}, {2}}, evaluated: [][]float64{{3, 1}, {2}},
		},
		"done when the budget is spent": {
			batches: [][]float64{{3, 1}, {2}}, budget: 3,
			end: core.EndDone, queries: 3, told: [][]float64{{3, 1}, {2}}, evaluated: [][]float64{{3, 1}, {2}},
		},
		"batch cut at the budget": {
			batches: [][]float64{{3, 1}, {2, 4, 0}, {7}}, budget: 4,
			end: core.EndBudget, queries: 4, told: [][]float64{{3, 1}}, spent: [][]float64{{2, 4}}, evaluated: [][]float64{{3, 1}, {2, 4}},
		},
		"first batch cut": {
			batches: [][]float64{{3, 1}}, budget: 1,
			end: core.EndBudget, queries: 1, spent: [][]float64{{3}}, evaluated: [][]float64{{3}},
		},
		"asking after the budget": {
			batches: [][]float64{{3, 1}, {2}, {7}}, budget: 3,
			end: core.EndBudget, queries: 3, told: [][]float64{{3, 1}, {2}}, spent: [][]float64{nil}, evaluated: [][]float64{{3, 1}, {2}},
		},
		"no budget": {
			batches: [][]float64{{3}}, budget: 0,
			end: core.EndBudget, spent: [][]float64{nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(solver core.Solver, s *script) {
				t.Helper()
				r := &recorder{}
				m := core.NewMeter(r, 1, test.budget, math.Inf(-1))
				end, err := core.Solve(t.Context(), m, m, solver, false)
				if end != test.end || err != nil || m.Queries() != test.queries {
					t.Errorf("ended with %q, %v after %d queries", end, err, m.Queries())
				}
				if !reflect.DeepEqual(s.told, test.told) {
					t.Errorf("told %v, want %v", s.told, test.told)
				}
				var evaluated [][]float64
				for _, b := range r.batches {
					evaluated = append(evaluated, b.RawMatrix().Data)
				}
				if !reflect.DeepEqual(evaluated, test.evaluated) {
					t.Errorf("evaluated %v, want %v", evaluated, test.evaluated)
				}
			}
			plain := &script{batches: test.batches}
			check(plain, plain)
			l := &listening{script: script{batches: test.batches}}
			check(l, &l.script)
			if !slices.EqualFunc(l.spent, test.spent, slices.Equal) {
				t.Errorf("heard %v, want %v", l.spent, test.spent)
			}
		})
	}
}

func TestSolveEndsWithAReason(t *testing.T) {
	for reason, want := range map[string]core.End{"collapse": "collapse", "": core.EndDone} {
		s := &explaining{script{batches: [][]float64{{1}}}, reason}
		m := core.NewMeter(&recorder{}, 1, 10, math.Inf(-1))
		if end, err := core.Solve(t.Context(), m, m, s, false); end != want || err != nil {
			t.Errorf("reason %q: %q, %v", reason, end, err)
		}
	}
}

// An empty matrix is an empty batch as nil is.
func TestSolveEmptyBatch(t *testing.T) {
	m := core.NewMeter(&recorder{}, 1, 10, math.Inf(-1))
	end, err := core.Solve(t.Context(), m, m, empty{}, false)
	if end != core.EndDone || err != nil || m.Queries() != 0 {
		t.Errorf("%q, %v after %d queries", end, err, m.Queries())
	}
}

type empty struct{}

func (empty) Ask(context.Context) (*mat.Dense, error) { return &mat.Dense{}, nil }
func (empty) Tell(context.Context, []float64) error   { return errors.New("told of nothing") }

func TestSolveTarget(t *testing.T) {
	for _, test := range []struct {
		stop    bool
		target  float64
		budget  int
		end     core.End
		queries int
		told    int
	}{
		{true, 1, 100, core.EndTarget, 4, 1},
		{false, 1, 100, core.EndDone, 5, 3},
		{true, -1, 100, core.EndDone, 5, 3},
		{true, 1, 3, core.EndTarget, 3, 1}, // reached in what is left of a cut batch
		{true, 1, 2, core.EndBudget, 2, 1},
	} {
		s := &script{batches: [][]float64{{5, 3}, {1, 4}, {0}}}
		m := core.NewMeter(&recorder{}, 1, test.budget, test.target)
		end, err := core.Solve(t.Context(), m, m, s, test.stop)
		if end != test.end || err != nil || m.Queries() != test.queries || len(s.told) != test.told {
			t.Errorf("%+v: %q, %v after %d queries, told %d times", test, end, err, m.Queries(), len(s.told))
		}
	}
}

func TestSolveErrors(t *testing.T) {
	reason := errors.New("broken")
	for name, test := range map[string]struct {
		solver    core.Solver
		objective error
		budget    int
	}{
		"at Ask":           {&script{askErr: reason}, nil, 10},
		"at Tell":          {&script{batches: [][]float64{{1}}, tellErr: reason}, nil, 10},
		"at BudgetSpent":   {&listening{script: script{batches: [][]float64{{1, 2}}}, err: reason}, nil, 1},
		"of the objective": {&script{batches: [][]float64{{1}}}, reason, 10},
	} {
		m := core.NewMeter(&recorder{err: test.objective}, 1, test.budget, math.Inf(-1))
		if _, err := core.Solve(t.Context(), m, m, test.solver, false); !errors.Is(err, reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m := core.NewMeter(&recorder{}, 2, 10, math.Inf(-1))
	if _, err := core.Solve(t.Context(), m, m, &script{batches: [][]float64{{1}}}, false); !errors.Is(err, core.ErrShape) {
		t.Errorf("points of the wrong dimension: %v", err)
	}
}

func TestSolveCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{batches: [][]float64{{1}, {2}, {3}}}
	s.onTell = func() {
		if len(s.told) == 2 {
			cancel()
		}
	}
	m := core.NewMeter(&recorder{}, 1, 10, math.Inf(-1))
	if _, err := core.Solve(ctx, m, m, s, false); !errors.Is(err, context.Canceled) || m.Queries() != 2 {
		t.Errorf("%v after %d queries", err, m.Queries())
	}
	if _, err := core.Estimate(ctx, m, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("estimating: %v", err)
	}
}

// The view of a solver may have other coordinates than the metered objective.
func TestSolveThroughAView(t *testing.T) {
	r := &recorder{}
	m := core.NewMeter(r, 2, 10, math.Inf(-1))
	view := core.NewLinear(m, mat.NewDense(2, 1, []float64{3, 4}))
	s := &script{batches: [][]float64{{1, 2}}}
	if _, err := core.Solve(t.Context(), m, view, s, false); err != nil {
		t.Fatal(err)
	}
	if want := mat.NewDense(2, 2, []float64{3, 4, 6, 8}); !mat.Equal(r.batches[0], want) || !slices.Equal(s.told[0], []float64{3, 6}) {
		t.Errorf("evaluated %v, told %v", r.batches[0], s.told)
	}
}

// stencil is a Hessian approximator with given rounds of points, the same for
// every sample, that answers with the number of values it was told.
type stencil struct {
	rounds  []int // points a sample
	cost    int
	query   core.HessianQuery
	round   int
	values  []float64
	missing int // Hessians fewer than asked for
	err     map[string]error
}

func (s *stencil) Cost(directions int) int { return s.cost * directions }

func (s *stencil) Begin(_ context.Context, q core.HessianQuery) error {
	s.query, s.round, s.values = q, 0, nil
	return s.err["begin"]
}

func (s *stencil) Ask(context.Context) (*mat.Dense, error) {
	if s.round == len(s.rounds) {
		return nil, s.err["ask"]
	}
	s.round++
	samples, dim := s.query.X.Dims()
	return mat.NewDense(samples*s.rounds[s.round-1], dim, nil), nil
}

func (s *stencil) Tell(_ context.Context, f []float64) error {
	s.values = append(s.values, f...)
	return s.err["tell"]
}

func (s *stencil) Hessians(context.Context) ([]*mat.SymDense, error) {
	samples, _ := s.query.X.Dims()
	out := make([]*mat.SymDense, samples-s.missing)
	for i := range out {
		out[i] = mat.NewSymDense(1, []float64{float64(len(s.values))})
	}
	return out, s.err["hessians"]
}

// planned is an estimator with a given list of needs.
type planned struct {
	dim     int // of its structure; 0 means 1
	needs   []core.Need
	answers []core.Answer
	err     map[string]error
}

func (p *planned) Ask(context.Context) (core.Need, error) {
	if len(p.answers) == len(p.needs) {
		return core.Need{}, p.err["ask"]
	}
	return p.needs[len(p.answers)], nil
}

func (p *planned) Tell(_ context.Context, a core.Answer) error {
	p.answers = append(p.answers, a)
	return p.err["tell"]
}

func (p *planned) Structure(context.Context) (*core.Structure, error) {
	if err := p.err["structure"]; err != nil {
		return nil, err
	}
	w := mat.NewDense(1, max(1, p.dim), nil)
	w.Set(0, 0, 1)
	return core.NewStructure(w)
}

func hessiansAt(samples, dim int) core.Need {
	return core.Need{Hessians: &core.HessianQuery{X: mat.NewDense(samples, dim, nil)}}
}

func TestEstimate(t *testing.T) {
	h := &stencil{rounds: []int{2, 1}, cost: 3}
	e := &planned{needs: []core.Need{{Points: points(4, 2)}, hessiansAt(2, 1), {Points: points(1)}}}
	m := core.NewMeter(&recorder{}, 1, 100, math.Inf(-1))
	s, err := core.Estimate(t.Context(), m, h, e)
	if err != nil || s == nil || s.W.At(0, 0) != 1 {
		t.Fatalf("%v, %v", s, err)
	}
	if m.Queries() != 2+2*3+1 {
		t.Errorf("%d queries", m.Queries())
	}
	if !slices.Equal(e.answers[0].Values, []float64{4, 2}) || e.answers[0].Hessians != nil || !slices.Equal(e.answers[2].Values, []float64{1}) {
		t.Errorf("values: %+v", e.answers)
	}
	if found := e.answers[1].Hessians; len(found) != 2 || found[1].At(0, 0) != 6 || e.answers[1].Values != nil {
		t.Errorf("Hessians: %+v", e.answers[1])
	}
}

func TestEstimateChecksTheStructure(t *testing.T) {
	m := core.NewMeter(&recorder{}, 3, 100, math.Inf(-1))
	if _, err := core.Estimate(t.Context(), m, &stencil{}, &planned{dim: 2}); !errors.Is(err, core.ErrShape) {
		t.Errorf("a structure for 2 dimensions in 3: %v", err)
	}
}

// What cannot be paid for is refused before the first query of it.
func TestEstimateBudget(t *testing.T) {
	along := mat.NewDense(4, 2, nil)
	for _, test := range []struct {
		need    core.Need
		dim     int
		budget  int
		queries int
		want    []string
	}{
		{hessiansAt(5, 4), 4, 59, 0, []string{"5 Hessians along 4 directions", "up to 12 queries each, 60 in all", "59 are left"}},
		{core.Need{Hessians: &core.HessianQuery{X: mat.NewDense(5, 4, nil), V: along}}, 4, 29, 0, []string{"along 2 directions", "6 queries each, 30 in all", "29 are left"}},
		{core.Need{Points: points(1, 2, 3)}, 1, 2, 0, []string{"the estimator needs 3 more queries and 2 are left"}},
		{hessiansAt(5, 4), 4, 60, 50, nil}, // a stencil may cost less than it said
	} {
		h := &stencil{rounds: []int{10}, cost: 3}
		m := core.NewMeter(&recorder{}, test.dim, test.budget, math.Inf(-1))
		_, err := core.Estimate(t.Context(), m, h, &planned{dim: test.dim, needs: []core.Need{test.need}})
		if m.Queries() != test.queries || (err == nil) != (test.want == nil) {
			t.Errorf("%d queries of %d: %v", m.Queries(), test.budget, err)
		}
		if err != nil && !errors.Is(err, core.ErrBudget) {
			t.Errorf("error %v", err)
		}
		for _, want := range test.want {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v lacks %q", err, want)
			}
		}
	}
	// One that costs more than it said is stopped all the same.
	m := core.NewMeter(&recorder{}, 4, 65, math.Inf(-1))
	h := &stencil{rounds: []int{12, 12}, cost: 3}
	if _, err := core.Estimate(t.Context(), m, h, &planned{needs: []core.Need{hessiansAt(5, 4)}}); !errors.Is(err, core.ErrBudget) || m.Queries() != 60 {
		t.Errorf("%v after %d queries", err, m.Queries())
	}
}

func TestEstimateErrors(t *testing.T) {
	reason := errors.New("broken")
	for _, at := range []string{"begin", "ask", "tell", "hessians"} {
		h := &stencil{rounds: []int{1}, cost: 1, err: map[string]error{at: reason}}
		m := core.NewMeter(&recorder{}, 1, 10, math.Inf(-1))
		if _, err := core.Estimate(t.Context(), m, h, &planned{needs: []core.Need{hessiansAt(1, 1)}}); !errors.Is(err, reason) {
			t.Errorf("hessian at %s: %v", at, err)
		}
	}
	for _, at := range []string{"ask", "tell", "structure"} {
		e := &planned{needs: []core.Need{{Points: points(1)}}, err: map[string]error{at: reason}}
		m := core.NewMeter(&recorder{}, 1, 10, math.Inf(-1))
		if _, err := core.Estimate(t.Context(), m, nil, e); !errors.Is(err, reason) {
			t.Errorf("estimator at %s: %v", at, err)
		}
	}
	m := core.NewMeter(&recorder{}, 1, 10, math.Inf(-1))
	h := &stencil{rounds: []int{1}, cost: 1, missing: 1}
	if _, err := core.Estimate(t.Context(), m, h, &planned{needs: []core.Need{hessiansAt(2, 1)}}); !errors.Is(err, core.ErrShape) || !strings.Contains(err.Error(), "1 Hessians instead of 2") {
		t.Errorf("too few Hessians: %v", err)
	}
}
