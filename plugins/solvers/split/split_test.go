package split

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/solvers/cbo"
	"github.com/unbraid/unbraid/plugins/solvers/cmaes"
	"github.com/unbraid/unbraid/plugins/solvers/line"
	"gonum.org/v1/gonum/mat"
)

type function func(z []float64) float64

func (f function) Evaluate(_ context.Context, dst []float64, x *mat.Dense) error {
	for i := range dst {
		dst[i] = f(x.RawRowView(i))
	}
	return nil
}

// separable sums one(j, z_j).
func separable(one func(j int, y float64) float64) function {
	return func(z []float64) float64 {
		var sum float64
		for j, v := range z {
			sum += one(j, v)
		}
		return sum
	}
}

// shift is the minimiser's coordinate j, somewhere in [-2, 2].
func shift(j int) float64 { return 2 * math.Sin(1+2.4*float64(j)) }

func rastrigin(j int, y float64) float64 {
	y -= shift(j)
	return y*y + 10 - 10*math.Cos(2*math.Pi*y)
}

func square(j int, y float64) float64 { return (y - shift(j)) * (y - shift(j)) }

func sixth(j int, y float64) float64 { return math.Pow(y-shift(j), 6) }

// paper are the settings of the paper's componentwise method.
var paper = core.SolverTable{"plugin": "cbo", "tau": 0.01, "sigma": 1.1, "alpha": 1.0}

// inner makes the solver that a table names, as the runner does.
func inner(table core.SolverTable) func(*core.Env) (core.Solver, error) {
	return func(env *core.Env) (core.Solver, error) {
		d := core.Description{Params: []core.Param{{Name: "inner", Type: core.TypeSolver}}}
		name, values := d.InnerSolver(map[string]any{"inner": map[string]any(table)})
		for _, c := range []core.Component{line.Component(), cbo.Component(), cmaes.Component(), cmaes.BIPOP()} {
			if c.Name == name {
				made, err := c.Make(values, env)
				if err != nil {
					return nil, err
				}
				return made.(core.Solver), nil
			}
		}
		return nil, fmt.Errorf("no solver %q", name)
	}
}

func environment(m, budget int) *core.Env {
	return &core.Env{Dim: m, Budget: budget, Stream: core.NewStream(7), Inner: inner(core.SolverTable{"plugin": "line"}),
		Lower: slices.Repeat([]float64{-5.12}, m), Upper: slices.Repeat([]float64{5.12}, m)}
}

// run solves with a meter that allows more than the budget, so that it shows
// whether the solver keeps it by itself.
func run(t testing.TB, f function, values map[string]any, env *core.Env) (*core.Meter, core.End) {
	t.Helper()
	c := Component()
	made, err := c.Make(values, env)
	if err != nil {
		t.Fatal(err)
	}
	meter := core.NewMeter(f, env.Dim, env.Budget+1000, math.Inf(-1))
	end, err := core.Solve(t.Context(), meter, meter, made.(core.Solver), false)
	if err != nil {
		t.Fatal(err)
	}
	if meter.Queries() > env.Budget {
		t.Errorf("%d queries, the budget is %d", meter.Queries(), env.Budget)
	}
	return meter, end
}

func gap(m *core.Meter) float64 {
	best, _ := m.Best()
	return best
}

func TestSeparable(t *testing.T) {
	for name, test := range map[string]struct {
		f      func(int, float64) float64
		inner  core.SolverTable
		budget int // for each component
		gap    float64
		end    core.End
	}{
		"rastrigin, line":        {rastrigin, core.SolverTable{"plugin": "line"}, 400, 1e-10, "converged"},
		"sixth power, line":      {sixth, core.SolverTable{"plugin": "line"}, 400, 1e-11, "converged"},
		"far away, line":         {func(j int, y float64) float64 { return square(j, y/100) }, core.SolverTable{"plugin": "line"}, 1000, 1e-11, "converged"},
		"rastrigin, cbo":         {rastrigin, paper, 12000, 0.01, core.EndBudget},
		"square, cmaes":          {square, core.SolverTable{"plugin": "cmaes"}, 1000, 1e-9, "converged"},
		"square, bipop":          {square, core.SolverTable{"plugin": "bipop-cmaes"}, 1000, 1e-9, core.EndBudget},
		"square, cbo that stops": {square, core.SolverTable{"plugin": "cbo", "tau": 0.1, "sigma": 1.0, "collapse": 1e-4}, 20000, 1e-4, "converged"},
	} {
		for _, m := range []int{1, 5, 30} {
			env := environment(m, m*test.budget)
			env.Inner = inner(test.inner)
			meter, end := run(t, separable(test.f), nil, env)
			if g := gap(meter); !(g <= test.gap) || end != test.end {
				t.Errorf("%s, m = %d: gap %.3g after %d queries, ended with %q", name, m, g, meter.Queries(), end)
			}
		}
	}
}

// rotated turns neighbouring coordinates of f by an angle.
func rotated(f function, angle float64) function {
	sin, cos := math.Sincos(angle)
	var y []float64
	return func(z []float64) float64 {
		y = append(y[:0], z...)
		for j := 0; j+1 < len(y); j++ {
			y[j], y[j+1] = cos*y[j]-sin*y[j+1], sin*y[j]+cos*y[j+1]
		}
		return f(y)
	}
}

// coupled adds weight times the squared differences of neighbours, which has
// its minimum with f.
func coupled(f function, weight float64) function {
	return func(z []float64) float64 {
		sum := f(z)
		for j := range len(z) - 1 {
			d := (z[j+1] - shift(j+1)) - (z[j] - shift(j))
			sum += weight * d * d
		}
		return sum
	}
}

// Where f is not quite separable the joined point is not what was promised, and
// the refinement makes up for it.
func TestNearlySeparable(t *testing.T) {
	const m = 20
	for name, test := range map[string]struct {
		f   function
		gap float64
	}{
		"rastrigin, rotated by 1e-4":     {rotated(separable(rastrigin), 1e-4), 1e-9},
		"rastrigin, rotated by 1e-3":     {rotated(separable(rastrigin), 1e-3), 1e-9},
		"rastrigin, rotated by 0.01":     {rotated(separable(rastrigin), 0.01), 1e-6},
		"square, rotated by 0.1":         {rotated(separable(func(j int, y float64) float64 { return float64(j+1) * square(j, y) }), 0.1), 1e-5},
		"rastrigin, coupled with 1e-3":   {coupled(separable(rastrigin), 1e-3), 1e-9},
		"rastrigin, coupled with 0.1":    {coupled(separable(rastrigin), 0.1), 1e-6},
		"sixth power, coupled with 0.01": {coupled(separable(sixth), 0.01), 1e-3},
	} {
		plain, _ := run(t, test.f, map[string]any{"refine": 0}, environment(m, 20000))
		meter, end := run(t, test.f, nil, environment(m, 20000))
		before, after := gap(plain), gap(meter)
		cost := meter.Queries() - plain.Queries()
		if !(after <= test.gap && after < before/10) || end != "refined" || cost > 11*(2*m+4)+10*3*m {
			t.Errorf("%s: gap %.3g without refinement, %.3g with %d more queries, ended with %q", name, before, after, cost, end)
		}
	}
}

// A promise that is kept costs one query.
func TestNoRefinementWithoutNeed(t *testing.T) {
	for name, one := range map[string]func(int, float64) float64{"rastrigin": rastrigin, "sixth": sixth, "square": square} {
		with, end := run(t, separable(one), nil, environment(20, 20000))
		without, _ := run(t, separable(one), map[string]any{"refine": 0}, environment(20, 20000))
		if end != "converged" || with.Queries() != without.Queries() {
			t.Errorf("%s: ended with %q, %d queries, %d without refinement", name, end, with.Queries(), without.Queries())
		}
	}
}

// The budget is kept whatever it is, and the end is honest.
func TestBudgets(t *testing.T) {
	tables := []core.SolverTable{{"plugin": "line"}, {"plugin": "cbo"}, {"plugin": "cmaes"}}
	for _, table := range tables {
		for _, m := range []int{1, 2, 7} {
			for budget := 0; budget < 700; budget += 1 + budget/9 {
				env := environment(m, budget)
				env.Inner = inner(table)
				meter, end := run(t, coupled(separable(rastrigin), 0.1), nil, env)
				if budget < 3 && (end != core.EndBudget || meter.Queries() > budget) {
					t.Errorf("%v, m = %d: budget %d, %d queries, ended with %q", table, m, budget, meter.Queries(), end)
				}
				if left := budget - meter.Queries(); table["plugin"] == "cbo" && budget > 60 && left > 50+2*m+4+budget/10 {
					t.Errorf("cbo, m = %d: %d queries of %d unused", m, left, budget)
				}
			}
		}
	}
}

// stub asks for batches of a size, so many times (-1: for ever).
type stub struct{ rows, times, told int }

func (s *stub) Ask(context.Context) (*mat.Dense, error) {
	if s.times == s.told || s.rows == 0 {
		return nil, nil
	}
	return mat.NewDense(s.rows, 1, nil), nil
}

func (s *stub) Tell(_ context.Context, f []float64) error {
	if len(f) != s.rows {
		return fmt.Errorf("%d values for %d points", len(f), s.rows)
	}
	s.told++
	return nil
}

// stubs hands out the given solvers in turn.
func stubs(list ...*stub) func(*core.Env) (core.Solver, error) {
	return func(*core.Env) (core.Solver, error) {
		next := list[0]
		list = list[1:]
		return next, nil
	}
}

func TestLeftoversGoToTheOthers(t *testing.T) {
	constant := func([]float64) float64 { return 1 }
	for name, test := range map[string]struct {
		list   []*stub
		budget int
		want   []int // how often each was told
		end    core.End
	}{
		"even shares":                 {[]*stub{{10, -1, 0}, {10, -1, 0}}, 102, []int{5, 5}, core.EndBudget},
		"one ends at once":            {[]*stub{{10, 0, 0}, {10, -1, 0}}, 102, []int{0, 10}, core.EndBudget},
		"one ends later":              {[]*stub{{10, -1, 0}, {5, 2, 0}, {1, -1, 0}}, 302, []int{14, 2, 150}, core.EndBudget},
		"one cannot begin":            {[]*stub{{80, -1, 0}, {10, -1, 0}}, 102, []int{0, 10}, core.EndBudget},
		"waits for the others to end": {[]*stub{{80, 1, 0}, {10, 2, 0}}, 102, []int{1, 2}, "converged"},
		"all too large, one remains":  {[]*stub{{50, -1, 0}, {50, -1, 0}, {50, -1, 0}}, 72, []int{0, 0, 1}, core.EndBudget},
		"nobody has anything to ask":  {[]*stub{{1, 0, 0}, {0, 0, 0}}, 100, []int{0, 0}, "converged"},
	} {
		env := environment(len(test.list), test.budget)
		env.Inner = stubs(slices.Clone(test.list)...)
		meter, end := run(t, constant, map[string]any{"refine": 0}, env)
		var got []int
		queries := 1 // the base; the joined point is not needed
		for _, s := range test.list {
			got = append(got, s.told)
			queries += s.rows * s.told
		}
		if !slices.Equal(got, test.want) || end != test.end || meter.Queries() != queries {
			t.Errorf("%s: told %v times, %d queries, ended with %q", name, got, meter.Queries(), end)
		}
	}
}

// batches returns the sizes of all batches.
func batches(t testing.TB, f function, env *core.Env) (sizes []int) {
	t.Helper()
	c := Component()
	made, err := c.Make(nil, env)
	if err != nil {
		t.Fatal(err)
	}
	s := made.(core.Solver)
	for {
		x, err := s.Ask(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if x == nil {
			return sizes
		}
		values := make([]float64, x.RawMatrix().Rows)
		_ = f.Evaluate(t.Context(), values, x)
		if err := s.Tell(t.Context(), values); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(values))
	}
}

func TestComponentsAdvanceTogether(t *testing.T) {
	sizes := batches(t, separable(rastrigin), environment(30, 20000))
	if sizes[0] != 1+30*237 || sizes[1] != 30*4 || sizes[len(sizes)-1] != 1 || len(sizes) > 15 {
		t.Errorf("batches of %v", sizes)
	}
}

// Beyond a certain size of the batch components take turns.
func TestLargeBatchesAreDivided(t *testing.T) {
	const m = 135
	best := math.Inf(1)
	sizes := batches(t, func(z []float64) float64 {
		f := separable(square)(z)
		best = min(best, f)
		return f
	}, environment(m, 100000))
	if best > 1e-12 {
		t.Errorf("best value %g", best)
	}
	for _, n := range sizes {
		if n*m > maxEntries+m {
			t.Errorf("a batch of %d points in %d dimensions", n, m)
		}
	}
	if sizes[0] < 100*237 || slices.Max(sizes) == 1+m*237 {
		t.Errorf("batches of %v", sizes)
	}
}

func TestSameStreamSameRun(t *testing.T) {
	points := func(seed uint64) string {
		var log strings.Builder
		env := environment(4, 3000)
		env.Inner, env.Stream = inner(paper), core.NewStream(seed)
		f := coupled(separable(rastrigin), 0.1)
		run(t, func(z []float64) float64 { fmt.Fprint(&log, z); return f(z) }, nil, env)
		return log.String()
	}
	first := points(1)
	if first != points(1) {
		t.Error("one stream, two runs")
	}
	if first == points(2) {
		t.Error("two streams, one run")
	}
}

func TestHardObjectives(t *testing.T) {
	inf := math.Inf(1)
	// The base is the first point that is asked for.
	notAtBase := func() function {
		base := math.NaN()
		return func(z []float64) float64 {
			if math.IsNaN(base) {
				base = z[0]
			}
			if math.Abs(z[0]-base) < 1e-3 {
				return math.NaN()
			}
			return separable(square)(z)
		}
	}
	for name, test := range map[string]struct {
		f   function
		gap float64
		end core.End
	}{
		"infinite over half of the domain": {func(z []float64) float64 {
			if z[0] > 0.5 {
				return inf
			}
			return separable(square)(z)
		}, (0.5 - shift(0)) * (0.5 - shift(0)) * 1.0001, "converged"},
		"not a number at the base": {notAtBase(), 1e-9, "refined"},
		"not a number anywhere":    {func([]float64) float64 { return math.NaN() }, inf, "no finite value"},
		"constant":                 {func([]float64) float64 { return 0 }, 0, "converged"},
		"plateaus":                 {separable(func(j int, y float64) float64 { return math.Floor(math.Abs(y - shift(j))) }), 0, "converged"},
		"one coordinate matters":   {func(z []float64) float64 { return square(1, z[1]) }, 1e-12, "converged"},
		"unbounded":                {func(z []float64) float64 { return z[0] + square(1, z[1]) }, 0, "unbounded"},
	} {
		for _, table := range []core.SolverTable{{"plugin": "line"}, paper, {"plugin": "cmaes"}} {
			env := environment(3, 15000)
			env.Inner = inner(table)
			meter, end := run(t, test.f, nil, env)
			if table["plugin"] == "line" && (!(gap(meter) <= test.gap) || end != test.end) {
				t.Errorf("%s: best %g, ended with %q", name, gap(meter), end)
			}
		}
	}
}

// The base is close to the middle of the domain, but neither that nor the
// origin: there many a test function has its minimum.
func TestBase(t *testing.T) {
	env := environment(2, 2000)
	env.Lower, env.Upper = []float64{-1, 2}, []float64{1, 6}
	var first []float64
	run(t, func(z []float64) float64 {
		if first == nil {
			first = slices.Clone(z)
		}
		return separable(square)(z)
	}, nil, env)
	if first[0] == 0 || math.Abs(first[0]) > 0.1 || first[1] == 4 || math.Abs(first[1]-4) > 0.2 {
		t.Errorf("the base is %v", first)
	}
}

func TestInnerEnvironment(t *testing.T) {
	env := environment(2, 1000)
	env.Lower, env.Upper = []float64{-1, -2}, []float64{1, 2}
	var seen []*core.Env
	env.Inner = func(e *core.Env) (core.Solver, error) { seen = append(seen, e); return &stub{}, nil }
	run(t, func([]float64) float64 { return 0 }, map[string]any{"refine": 1}, env)
	for j, e := range seen {
		if e.Dim != 1 || e.Budget != (1000-2-8)/2 || e.Lower[0] != env.Lower[j] || e.Upper[0] != env.Upper[j] || len(e.Lower) != 1 || e.Noise == nil {
			t.Errorf("component %d has %+v", j, e)
		}
	}
	if seen[0].Stream == seen[1].Stream {
		t.Error("two components share a stream")
	}
}

func TestRefuses(t *testing.T) {
	c := Component()
	if _, err := c.Make(nil, &core.Env{Dim: 1, Lower: []float64{0}, Upper: []float64{1}}); !errors.Is(err, core.ErrUnsuitable) {
		t.Errorf("nobody makes solvers: error %v", err)
	}
	env := environment(2, 100)
	env.Lower = nil
	if _, err := c.Make(nil, env); !errors.Is(err, core.ErrUnsuitable) {
		t.Errorf("no domain: error %v", err)
	}
	reason := errors.New("not today")
	env = environment(2, 100)
	env.Inner = func(*core.Env) (core.Solver, error) { return nil, reason }
	if _, err := c.Make(nil, env); !errors.Is(err, reason) {
		t.Errorf("an inner solver that cannot be made: error %v", err)
	}
	for name, bad := range map[string]*failing{"ask": {ask: reason}, "tell": {tell: reason, x: mat.NewDense(1, 1, nil)}, "shape": {x: mat.NewDense(1, 2, nil)}} {
		env.Inner = func(*core.Env) (core.Solver, error) { return bad, nil }
		made, err := c.Make(nil, env)
		if err != nil {
			t.Fatal(err)
		}
		meter := core.NewMeter(function(func([]float64) float64 { return 0 }), 2, 100, math.Inf(-1))
		_, err = core.Solve(t.Context(), meter, meter, made.(core.Solver), false)
		if want := map[bool]error{true: core.ErrShape, false: reason}[name == "shape"]; !errors.Is(err, want) || !strings.Contains(err.Error(), "component 0") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

type failing struct {
	x         *mat.Dense
	ask, tell error
}

func (f *failing) Ask(context.Context) (*mat.Dense, error) { return f.x, f.ask }
func (f *failing) Tell(context.Context, []float64) error   { return f.tell }

func TestParabola(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct{ down, middle, up, h, step, gain float64 }{
		{9, 4, 1, 1, 2, 4},                       // (x - 2)^2
		{9, 4, 1, 0.5, 1, 4},                     // ((x - 1) / 0.5)^2
		{101, 0, 100, 1, 0.5 / 201, 0.125 / 201}, // the minimum nearly in the middle
		{1, 0, 1, 1, 0, 0},
		{1e3 + 1, 1e3, 1e3 - 0.99, 1, 10, 9.45}, // far away: limited
		{3, 2, 1, 1, 1, 1},                      // a line
		{1, 2, 1, 1, -1, 1},                     // a hill
		{2, 2, 2, 1, 0, 0},
		{inf, 2, 1, 1, 1, 1},
		{1, 2, inf, 1, -1, 1},
		{inf, 2, inf, 1, 0, 0},
		{inf, 2, 3, 1, 0, 0},
	} {
		step, gain := parabola(test.down, test.middle, test.up, test.h)
		if math.Abs(step-test.step) > 1e-12 || math.Abs(gain-test.gain) > 1e-9 {
			t.Errorf("%+v: step %g, gain %g", test, step, gain)
		}
	}
}

func TestProfile(t *testing.T) {
	p := newProfile(0, bins) // parts of width 1
	if v, _ := p.best(); !math.IsInf(v, 1) || p.others(0, math.Inf(1), 9) != nil {
		t.Error("an empty profile has minima")
	}
	for _, seen := range [][2]float64{{-100, 8}, {10.5, 5}, {10.2, 4}, {10.8, 6}, {11.5, 7}, {20.5, 1}, {30.5, 3}, {40.5, 2}, {50.5, 9}, {1e9, 2.5}, {60, math.Inf(1)}} {
		p.note(seen[0], seen[1])
	}
	if v, s := p.best(); v != 1 || s != 20.5 {
		t.Errorf("best %g at %g", v, s)
	}
	for _, test := range []struct {
		near, limit float64
		n           int
		want        []float64
	}{
		{20.5, 10, 9, []float64{40.5, 1e9, 10.2}},
		{20.5, 10, 2, []float64{40.5, 1e9}},
		{20.5, 3, 9, []float64{40.5, 1e9}},
		{40, 10, 9, []float64{20.5, 1e9, 10.2}},
		{20.5, 1, 9, nil},
	} {
		if got := p.others(test.near, test.limit, test.n); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %v", test, got)
		}
	}
	flat := newProfile(1, 1)
	flat.note(1, 5)
	flat.note(0, 4)
	if v, _ := flat.best(); v != 4 {
		t.Errorf("a domain without width: best %g", v)
	}
}
