package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/objectives/mix"
	"github.com/unbraid/unbraid/runner/internal/experiment"
	"github.com/unbraid/unbraid/runner/internal/launch"
	"gonum.org/v1/gonum/mat"
)

type benchOptions struct {
	rounds int
	json   bool
}

func newBenchCommand() *cobra.Command {
	o := &benchOptions{}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what processes cost: a CBO step in processes against in-process",
		Long: `Measure a step of CBO on the mixed Rastrigin function in 100 dimensions, with
objective, noise and solver each in its own process and with all of them in this
one, turn by turn so that other load on the machine hits both sides. The figure
to look at is the ratio of the medians; single times vary with the machine.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	cmd.Flags().IntVar(&o.rounds, "rounds", 30, "measurements of each kind")
	cmd.Flags().BoolVar(&o.json, "json", false, "print the figures as JSON")
	return cmd
}

// benchResult is a line of the table. Times are medians, of one step.
type benchResult struct {
	Batch     int           `json:"batch"`
	Dim       int           `json:"dim"`
	InProc    time.Duration `json:"inproc_ns"`
	Process   time.Duration `json:"process_ns"`
	Ratio     float64       `json:"ratio"`
	Objective time.Duration `json:"objective_extra_ns"` // more in the process's evaluation
	Solver    time.Duration `json:"solver_extra_ns"`    // more in asking and telling, noise included
}

func (o *benchOptions) run(cmd *cobra.Command) error {
	if o.rounds < 1 {
		return fmt.Errorf("--rounds %d is not possible, must be at least 1", o.rounds)
	}
	var out []benchResult
	for _, c := range []struct{ batch, steps int }{{1, 200}, {50, 100}, {5000, 4}} {
		r, err := benchStep(cmd.Context(), c.batch, c.steps, o.rounds)
		if err != nil {
			return err
		}
		out = append(out, r)
	}
	if o.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(out)
	}
	t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "batch\tdim\tin-process\tprocesses\tratio\tmore in the objective\tin solver and noise\t")
	for _, r := range out {
		fmt.Fprintf(t, "%d\t%d\t%v\t%v\t%.2f\t%v\t%v\t\n", r.Batch, r.Dim, r.InProc, r.Process, r.Ratio, r.Objective, r.Solver)
	}
	return t.Flush()
}

// stepper runs steps of CBO on the mixed Rastrigin function.
type stepper struct {
	objective core.Objective
	solver    core.Solver
	values    []float64
	release   []launch.Release
}

func newStepper(ctx context.Context, l *launch.Launcher, dim, batch int) (*stepper, error) {
	s := &stepper{values: make([]float64, max(2, batch))}
	open := func(kind core.Kind, name string, params map[string]any, env *core.Env) (any, error) {
		instance, release, err := l.Open(ctx, experiment.Ref{Kind: kind, Name: name, Params: params}, env)
		if err == nil {
			s.release = append(s.release, release)
		}
		return instance, err
	}
	root := core.NewStream(0)
	g, err := open(core.KindObjective, "rastrigin", nil, &core.Env{Dim: dim, Stream: root.Split("objective")})
	if err != nil {
		return nil, err
	}
	w, err := mix.New(mix.Defaults(), dim, nil, root.Split("mix"))
	if err != nil {
		return nil, err
	}
	s.objective = core.NewLinear(g.(core.Objective), w)
	noise, err := open(core.KindNoise, "anisotropic", nil, &core.Env{Dim: dim})
	if err != nil {
		return nil, err
	}
	facts := g.(core.Known).Facts()
	solver, err := open(core.KindSolver, "cbo", map[string]any{"particles": len(s.values)}, &core.Env{
		Dim: dim, Stream: root.Split("solver"), Lower: facts.Lower, Upper: facts.Upper, Noise: noise.(core.Noise),
	})
	if err != nil {
		return nil, err
	}
	s.solver = solver.(core.Solver)
	return s, nil
}

// run makes steps and returns the time spent on the objective and the solver.
func (s *stepper) run(ctx context.Context, steps int) (objective, solver time.Duration, err error) {
	for range steps {
		start := time.Now()
		var x *mat.Dense
		if x, err = s.solver.Ask(ctx); err != nil {
			return 0, 0, err
		}
		asked := time.Now()
		if err = s.objective.Evaluate(ctx, s.values, x); err != nil {
			return 0, 0, err
		}
		evaluated := time.Now()
		if err = s.solver.Tell(ctx, s.values); err != nil {
			return 0, 0, err
		}
		objective += evaluated.Sub(asked)
		solver += asked.Sub(start) + time.Since(evaluated)
	}
	return objective, solver, nil
}

func (s *stepper) close() {
	for _, release := range s.release {
		release(false)
	}
}

func benchStep(ctx context.Context, batch, steps, rounds int) (benchResult, error) {
	const dim = 100
	r := benchResult{Batch: max(2, batch), Dim: dim}
	log, err := newLog(consoleLog(os.Stderr))
	if err != nil {
		return r, err
	}
	sides := [2]*stepper{}
	var objective, solver, total [2][]time.Duration
	for i, isolation := range []string{launch.InProc, launch.Process} {
		l, err := launch.New(launch.NewCatalogue(builtins()), isolation, launch.PluginLog(log))
		if err != nil {
			return r, err
		}
		defer l.Close()
		if sides[i], err = newStepper(ctx, l, dim, batch); err != nil {
			return r, err
		}
		defer sides[i].close()
	}
	for round := range rounds + 1 {
		for i, side := range sides {
			o, s, err := side.run(ctx, steps)
			if err != nil {
				return r, err
			}
			if round == 0 { // warm-up
				continue
			}
			n := time.Duration(steps)
			objective[i], solver[i], total[i] = append(objective[i], o/n), append(solver[i], s/n), append(total[i], (o+s)/n)
		}
	}
	r.InProc, r.Process = medianTime(total[0]), medianTime(total[1])
	r.Ratio = float64(r.Process) / float64(r.InProc)
	r.Objective = medianTime(objective[1]) - medianTime(objective[0])
	r.Solver = medianTime(solver[1]) - medianTime(solver[0])
	return r, nil
}

func medianTime(t []time.Duration) time.Duration {
	slices.Sort(t)
	return t[len(t)/2].Round(time.Microsecond)
}
