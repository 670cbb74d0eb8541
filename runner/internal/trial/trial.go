// Package trial runs one trial: a problem, a method and a seed. It wires the
// components together, has the core loop run them and writes down what came of
// it. A trial is a pure function of its spec, times aside.
package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/objectives/mix"
	"github.com/unbraid/unbraid/runner/internal/experiment"
	"github.com/unbraid/unbraid/runner/internal/launch"
	"gonum.org/v1/gonum/mat"
)

// Spec is what a trial is made from.
type Spec struct {
	Experiment *experiment.Experiment
	Problem    *experiment.Problem
	Method     *experiment.Method
	Seed       uint64
}

// Refs returns the components of the trial.
func (s *Spec) Refs() []*experiment.Ref {
	one := experiment.Experiment{Problems: []experiment.Problem{*s.Problem}, Methods: []experiment.Method{*s.Method}}
	return one.Refs()
}

// Key identifies the trial within its experiment.
func (s *Spec) Key() Key { return Key{s.Problem.Name, s.Method.Name, s.Seed} }

// Live is told the meter as soon as there is one, to watch the trial.
type Live func(*core.Meter)

// Run runs a trial to its end, whatever its components do: what goes wrong is
// in the record's Status and Error. live may be nil.
func Run(ctx context.Context, l *launch.Launcher, spec Spec, live Live) *Record {
	start := time.Now()
	t := &running{spec: spec, launcher: l, live: live, record: &Record{
		Experiment: spec.Experiment.Name, Problem: spec.Problem.Name, Method: spec.Method.Name,
		Seed: spec.Seed, Dim: spec.Problem.Dim, Budget: spec.Experiment.Budget,
	}}
	end, err := t.guarded(ctx)
	t.close(err != nil)
	t.finish(end, err)
	t.record.Seconds = time.Since(start).Seconds()
	return t.record.writable()
}

// Check makes all components of a trial without asking them anything, to find
// out what is wrong with the experiment before it begins. A structure that is
// still to be found is taken to be the identity.
func Check(ctx context.Context, l *launch.Launcher, spec Spec) error {
	t := &running{spec: spec, launcher: l, record: &Record{}, dry: true}
	_, err := t.guarded(ctx)
	t.close(err != nil)
	return err
}

// running is a trial under way.
type running struct {
	dry      bool // only make the components
	spec     Spec
	launcher *launch.Launcher
	live     Live
	record   *Record
	meter    *core.Meter
	minimum  *float64
	releases []launch.Release
}

func (t *running) close(failed bool) {
	for _, release := range slices.Backward(t.releases) {
		release(failed)
	}
}

// guarded turns a panic of a component in this process into an error.
func (t *running) guarded(ctx context.Context) (end core.End, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", core.ErrPanic, p, debug.Stack())
		}
	}()
	return t.run(ctx)
}

// endEstimated is the end of a trial that was only to find the structure.
const endEstimated core.End = "estimated"

func (t *running) run(ctx context.Context) (core.End, error) {
	root := core.NewStream(t.spec.Seed)
	prob, method := t.spec.Problem, t.spec.Method
	f, w, err := t.objective(ctx, root)
	if err != nil {
		return "", err
	}
	dim := prob.Dim
	if w == nil || !method.Mix {
		dim = f.dim
	}
	lower, upper, err := domain(prob, f.facts, dim)
	if err != nil {
		return "", err
	}
	var seen core.Objective = f
	if w != nil && method.Mix {
		seen = core.NewLinear(f, w)
	}
	t.minimum = f.facts.Minimum
	if prob.Minimum != nil {
		t.minimum = prob.Minimum
	}
	t.record.Dim = dim
	t.meter = core.NewMeter(seen, dim, t.spec.Experiment.Budget, t.target())
	if t.live != nil {
		t.live(t.meter)
	}
	t.meter.Strict = t.spec.Experiment.NaN == experiment.NaNStop
	structure, err := t.structure(ctx, root, dim, lower, upper, w)
	if err != nil {
		return "", err
	}
	if method.Solver == nil {
		return endEstimated, nil
	}
	if structure != nil && structure.Certificate.Verdict == core.NotSeparable && method.Fallback != experiment.FallbackNone {
		t.record.Fallback = method.Fallback
		if method.Fallback == experiment.FallbackStop {
			return core.End(core.NotSeparable), nil
		}
		if structure, err = core.NewStructure(identity(dim)); err != nil {
			return "", err
		}
	}
	view, solverDim := core.Objective(t.meter), dim
	if method.Structure == experiment.UseCoordinates {
		view = core.NewLinear(view, structure.Inverse)
		solverDim, _ = structure.W.Dims()
		lower, upper = lower[:min(len(lower), solverDim)], upper[:min(len(upper), solverDim)]
	}
	env := &core.Env{Dim: solverDim, Budget: t.meter.Left(), Stream: root.Split("solver"), Lower: lower, Upper: upper}
	if method.Noise != nil {
		noiseEnv := &core.Env{Dim: solverDim, Stream: root.Split("noise")}
		if method.Structure == experiment.UseNoise {
			noiseEnv.Structure = structure
		}
		if env.Noise, err = open[core.Noise](ctx, t, *method.Noise, noiseEnv); err != nil {
			return "", err
		}
	}
	solver, err := open[core.Solver](ctx, t, *method.Solver, env)
	if err != nil || t.dry {
		return "", err
	}
	var end core.End
	err = t.stage("solve", func() (err error) {
		end, err = core.Solve(ctx, t.meter, view, solver, t.spec.Experiment.Success.Stop)
		return err
	})
	return end, err
}

// open makes an instance that is released when the trial ends.
func open[T any](ctx context.Context, t *running, ref experiment.Ref, env *core.Env) (T, error) {
	var none T
	instance, release, err := t.launcher.Open(ctx, ref, env)
	if err != nil {
		return none, err
	}
	t.releases = append(t.releases, release)
	c, ok := instance.(T)
	if !ok {
		return none, fmt.Errorf("%w: %s/%s is a %T", core.ErrUnsuitable, ref.Kind, ref.Name, instance)
	}
	return c, nil
}

// g is the objective itself, before any mix.
type g struct {
	core.Objective
	dim   int
	facts core.Facts
}

// objective makes the objective and the matrix in front of it, nil for none.
func (t *running) objective(ctx context.Context, root core.Stream) (*g, *mat.Dense, error) {
	prob := t.spec.Problem
	var w *mat.Dense
	dim := prob.Dim
	if prob.Mix != nil {
		var err error
		if w, err = mix.New(*prob.Mix, prob.Dim, prob.MixMatrix, root.Split("mix")); err != nil {
			return nil, nil, err
		}
		dim, _ = w.Dims()
	}
	o, err := open[core.Objective](ctx, t, prob.Objective, &core.Env{Dim: dim, Stream: root.Split("objective")})
	if err != nil {
		return nil, nil, err
	}
	found := &g{Objective: o, dim: dim}
	if k, ok := o.(core.Known); ok {
		found.facts = k.Facts()
		if err := checkFacts(found.facts, dim); err != nil {
			return nil, nil, fmt.Errorf("%s/%s: %w", prob.Objective.Kind, prob.Objective.Name, err)
		}
	}
	if w == nil && !prob.NoMix && found.facts.Mix != nil {
		w = found.facts.Mix
		if m, d := w.Dims(); m != dim || d != prob.Dim {
			return nil, nil, fmt.Errorf("%w: %s/%s brings a mix of %d x %d for %d dimensions", core.ErrShape, prob.Objective.Kind, prob.Objective.Name, m, d, prob.Dim)
		}
	}
	return found, w, nil
}

// checkFacts makes sure that what an objective says of itself fits together.
func checkFacts(f core.Facts, dim int) error {
	if len(f.Lower) != len(f.Upper) || f.Lower != nil && len(f.Lower) != dim {
		return fmt.Errorf("%w: its facts have %d lower and %d upper bounds in %d dimensions", core.ErrShape, len(f.Lower), len(f.Upper), dim)
	}
	for j, lower := range f.Lower {
		if !(lower < f.Upper[j]) {
			return fmt.Errorf("%w: its facts have a domain from %v to %v in coordinate %d", core.ErrShape, lower, f.Upper[j], j+1)
		}
	}
	if f.Minimiser != nil && len(f.Minimiser) != dim {
		return fmt.Errorf("%w: its facts have a minimiser of %d coordinates in %d dimensions", core.ErrShape, len(f.Minimiser), dim)
	}
	return nil
}

// domain returns the bounds of the coordinates that the method sees: the
// problem's, else the objective's, which a mix leaves as they are.
func domain(prob *experiment.Problem, facts core.Facts, dim int) (lower, upper []float64, err error) {
	if prob.Domain != nil {
		return slices.Repeat(prob.Domain[:1], dim), slices.Repeat(prob.Domain[1:], dim), nil
	}
	if facts.Lower == nil || facts.Upper == nil || len(facts.Lower) == dim {
		return facts.Lower, facts.Upper, nil
	}
	// A mix of lower rank: the points have more coordinates than g.
	for j := range facts.Lower {
		if facts.Lower[j] != facts.Lower[0] || facts.Upper[j] != facts.Upper[0] {
			return nil, nil, fmt.Errorf("%w: the objective's domain differs between coordinates and does not carry over to %d dimensions: give the problem a domain", core.ErrUnsuitable, dim)
		}
	}
	return slices.Repeat(facts.Lower[:1], dim), slices.Repeat(facts.Upper[:1], dim), nil
}

// Objective makes the objective of a problem as a trial with this seed would
// see it.
func Objective(ctx context.Context, l *launch.Launcher, prob *experiment.Problem, seed uint64) (core.Objective, launch.Release, error) {
	t := &running{spec: Spec{Problem: prob}, launcher: l}
	f, w, err := t.objective(ctx, core.NewStream(seed))
	if err != nil {
		t.close(true)
		return nil, nil, err
	}
	if w != nil {
		return core.NewLinear(f, w), t.close, nil
	}
	return f, t.close, nil
}

// target is the value at which a trial has succeeded.
func (t *running) target() float64 {
	s := t.spec.Experiment.Success
	if s.Value != nil {
		return *s.Value
	}
	if t.minimum != nil {
		return *t.minimum + s.Gap
	}
	return math.Inf(-1)
}

// structure finds the structure that the method wants to use, nil for none.
func (t *running) structure(ctx context.Context, root core.Stream, dim int, lower, upper []float64, w *mat.Dense) (*core.Structure, error) {
	method := t.spec.Method
	if method.StructureMatrix != nil {
		if _, d := method.StructureMatrix.Dims(); d != dim {
			return nil, fmt.Errorf("%w: the matrix in %s has %d columns, the problem %d dimensions", core.ErrShape, method.StructureFile, d, dim)
		}
		return core.NewStructure(mat.DenseCopyOf(method.StructureMatrix))
	}
	if method.Estimator == nil {
		return nil, nil
	}
	hessian, err := open[core.Hessian](ctx, t, *method.Hessian, &core.Env{Dim: dim, Stream: root.Split("hessian"), Lower: lower, Upper: upper})
	if err != nil {
		return nil, err
	}
	estimator, err := open[core.Estimator](ctx, t, *method.Estimator, &core.Env{
		Dim: dim, Budget: t.meter.Left(), Stream: root.Split("estimator"), Lower: lower, Upper: upper, HessianCost: hessian.Cost(dim),
	})
	if err != nil {
		return nil, err
	}
	if t.dry {
		return core.NewStructure(identity(dim))
	}
	var found *core.Structure
	err = t.stage("estimate", func() (err error) {
		found, err = core.Estimate(ctx, t.meter, hessian, estimator)
		return err
	})
	if err != nil {
		return nil, err
	}
	t.record.Certificate = &found.Certificate
	if w != nil && method.Mix {
		share, worst := recovered(w, found.W)
		t.record.Recovered, t.record.WorstRow = &share, &worst
	}
	return found, nil
}

func identity(d int) *mat.Dense {
	w := mat.NewDense(d, d, nil)
	for i := range d {
		w.Set(i, i, 1)
	}
	return w
}

// recovered returns the share of rows of the true w that have an estimate
// within 1e-4 in the Euclidean norm, up to sign, and the largest distance.
func recovered(w, estimate *mat.Dense) (share, worst float64) {
	rows, _ := w.Dims()
	candidates, _ := estimate.Dims()
	found := 0
	for i := range rows {
		nearest := math.Inf(1)
		for k := range candidates {
			var plus, minus float64
			for j, v := range w.RawRowView(i) {
				e := estimate.At(k, j)
				plus += (v - e) * (v - e)
				minus += (v + e) * (v + e)
			}
			nearest = min(nearest, plus, minus)
		}
		if math.Sqrt(nearest) <= 1e-4 {
			found++
		}
		worst = max(worst, math.Sqrt(nearest))
	}
	return float64(found) / float64(rows), worst
}

// stage runs a part of the trial and notes its queries and time.
func (t *running) stage(name string, part func() error) error {
	start, before := time.Now(), t.meter.Queries()
	err := part()
	t.record.Stages = append(t.record.Stages, Stage{Name: name, Queries: t.meter.Queries() - before, Seconds: time.Since(start).Seconds()})
	return err
}

// statuses pairs errors with the words for them in a record.
var statuses = []struct {
	err    error
	status string
}{
	{core.ErrPanic, StatusPanic},
	{core.ErrTimeout, StatusTimeout},
	{core.ErrCrash, StatusCrash},
	{core.ErrShape, StatusShape},
	{core.ErrNaN, StatusNaN},
	{context.Canceled, StatusInterrupted},
}

// finish writes down the result.
func (t *running) finish(end core.End, err error) {
	r := t.record
	r.Status = string(end)
	if err != nil {
		// The sentinels' own prefix tells people nothing.
		r.Status, r.Error = StatusError, strings.ReplaceAll(strings.TrimSpace(err.Error()), "core: ", "")
		for _, s := range statuses {
			if errors.Is(err, s.err) {
				r.Status = s.status
				break
			}
		}
	}
	if t.meter == nil {
		return
	}
	r.Queries, r.Invalid = t.meter.Queries(), t.meter.Invalid()
	if n := t.meter.QueriesToTarget(); n > 0 {
		r.QueriesToTarget = &n
	}
	best, x := t.meter.Best()
	if x != nil {
		r.Best, r.X = &best, x
	}
	if r.Best != nil && t.minimum != nil {
		gap := best - *t.minimum
		r.Gap = &gap
	}
	if t.spec.Method.Solver != nil && (t.minimum != nil || t.spec.Experiment.Success.Value != nil) {
		ok := r.QueriesToTarget != nil
		r.Success = &ok
	}
	reference := math.Inf(-1)
	if t.minimum != nil {
		reference = *t.minimum
	} else if x != nil {
		reference = best
	}
	r.Trace = thin(t.meter.Trace(), reference)
}
