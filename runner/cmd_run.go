package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"github.com/unbraid/unbraid/runner/internal/experiment"
	"github.com/unbraid/unbraid/runner/internal/launch"
	"github.com/unbraid/unbraid/runner/internal/results"
	"github.com/unbraid/unbraid/runner/internal/trial"
)

//go:embed experiments/*.toml
var builtinExperiments embed.FS

// quickStart is the experiment that runs when none is named.
const quickStart = "quick-start"

type runOptions struct {
	out       string
	seeds     string
	only      []string
	set       []string
	isolation string
	workers   int
	json      bool
	quiet     bool
}

func newRunCommand() *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "run [EXPERIMENT.toml | NAME]",
		Short: "Run the trials of an experiment that are not done yet",
		Long: `Run the trials of an experiment: every problem with every method and every seed.
Without a file, run the built-in quick start, which takes some seconds; other
built-in experiments run by name: ` + strings.Join(builtinNames(), ", ") + `.

Each finished trial is a line in DIR/trials.jsonl. Run the same command again to
go on where it stopped, or with more seeds, problems or methods to add trials.
The results do not depend on --isolation or --workers.

--set changes a key of the file: budget=200000 or success.gap=1e-6 for the
experiment; solver.sigma=5 or objective.shift=1 for all that have such a key;
"method.NAME.solver.sigma=5" for one method or problem.

Exit status: 0 done, whether or not an optimum was found; 1 a trial could not be
run; 2 the command or the file is wrong; 130 interrupted.`,
		Example: `  unbraid run
  unbraid run my.toml --seeds 0:100
  unbraid run my.toml --only method="CBO on g" --set solver.sigma=5 --out results/sigma-5`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := quickStart
			if len(args) == 1 {
				name = args[0]
			}
			return o.run(cmd, name)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "where results go (default results/NAME)")
	f.StringVar(&o.seeds, "seeds", "", "instead of the file's: 0:10 (0 to 9), or a list such as 3,5,8")
	f.StringArrayVar(&o.only, "only", nil, "problem=A,B or method=C: only these (may be repeated)")
	f.StringArrayVar(&o.set, "set", nil, "path.to.key=value: change a key of the file (may be repeated)")
	f.StringVar(&o.isolation, "isolation", launch.Process, "process: every component in its own process; inproc: built-in ones in this one")
	f.IntVar(&o.workers, "workers", runtime.NumCPU(), "number of trials that run at the same time")
	f.BoolVar(&o.json, "json", false, "print the record of each trial run now as a line of JSON instead of the table")
	f.BoolVar(&o.quiet, "quiet", false, "print nothing but errors")
	return cmd
}

// readExperiment returns the text of a file, or of a built-in experiment of
// that name.
func readExperiment(name string) (text string, err error) {
	b, err := os.ReadFile(name)
	if err == nil {
		return string(b), nil
	}
	if builtin, builtinErr := builtinExperiments.ReadFile(path.Join("experiments", name+".toml")); builtinErr == nil && errors.Is(err, fs.ErrNotExist) {
		return string(builtin), nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no file %s; built-in experiments are %s", name, strings.Join(builtinNames(), ", "))
	}
	return "", err
}

// builtinNames returns the names of the built-in experiments.
func builtinNames() []string {
	files, err := fs.Glob(builtinExperiments, "experiments/*.toml")
	if err != nil {
		panic(err) // the pattern is ours
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(path.Base(f), ".toml")
	}
	return files
}

func (o *runOptions) run(cmd *cobra.Command, name string) error {
	ctx := cmd.Context()
	if o.isolation != launch.Process && o.isolation != launch.InProc {
		return fmt.Errorf("--isolation %s is not possible, must be %s or %s", o.isolation, launch.Process, launch.InProc)
	}
	if o.workers < 1 {
		return fmt.Errorf("--workers %d is not possible, must be at least 1", o.workers)
	}
	text, err := readExperiment(name)
	if err != nil {
		return err
	}
	file, err := experiment.Parse(name, text, o.set)
	if err != nil {
		return err
	}
	catalogue, err := newCatalogue(ctx, cmd.ErrOrStderr(), nil)
	if err != nil {
		return err
	}
	for _, p := range file.Plugins() {
		if err := catalogue.Add(ctx, p); err != nil {
			return err
		}
	}
	e, err := file.Resolve(catalogue.Lookup)
	if err != nil {
		return err
	}
	if o.seeds != "" {
		if e.Seeds, err = parseSeeds(o.seeds); err != nil {
			return err
		}
	}
	for _, ref := range e.Refs() {
		if err := catalogue.Identify(ref); err != nil {
			return err
		}
	}
	problems, methods, err := o.selection(e)
	if err != nil {
		return err
	}
	if err := check(ctx, catalogue, e, problems, methods); err != nil {
		return err
	}
	dir := o.out
	if dir == "" {
		dir = filepath.Join("results", e.Name)
	}
	store, err := results.Open(dir, e)
	if err != nil {
		return err
	}
	defer store.Close()
	todo := specs(e, problems, methods, e.Seeds)
	total := len(todo)
	todo = slices.DeleteFunc(todo, func(s trial.Spec) bool { return store.Done(s.Key()) })
	failed, err := o.runTrials(cmd, catalogue, todo, total, store)
	if err != nil {
		return err
	}
	return o.summarise(cmd, name, dir, failed, total)
}

// check makes the built-in components of every problem and method once: what
// cannot work is wrong in the file and need not be tried.
func check(ctx context.Context, catalogue *launch.Catalogue, e *experiment.Experiment, problems, methods []string) error {
	l, err := launch.New(catalogue, launch.InProc, launch.PluginLog(zerolog.Nop()))
	if err != nil {
		return err
	}
	defer l.Close()
	for _, spec := range specs(e, problems, methods, e.Seeds[:1]) {
		if slices.ContainsFunc(spec.Refs(), catalogue.External) {
			continue // what a plugin does is seen in its trials
		}
		if err := trial.Check(ctx, l, spec); err != nil {
			return fmt.Errorf("method %q on problem %q cannot work: %s", spec.Method.Name, spec.Problem.Name, strings.ReplaceAll(err.Error(), "core: ", ""))
		}
	}
	return nil
}

// specs returns the trials of some problems, methods and seeds. Seeds come
// first, so that after an interruption all methods have had as many.
func specs(e *experiment.Experiment, problems, methods []string, seeds []uint64) []trial.Spec {
	var out []trial.Spec
	for _, seed := range seeds {
		for i := range e.Problems {
			for j := range e.Methods {
				if slices.Contains(problems, e.Problems[i].Name) && slices.Contains(methods, e.Methods[j].Name) {
					out = append(out, trial.Spec{Experiment: e, Problem: &e.Problems[i], Method: &e.Methods[j], Seed: seed})
				}
			}
		}
	}
	return out
}

func parseSeeds(text string) ([]uint64, error) {
	bad := fmt.Errorf("--seeds %s is not possible, want FIRST:END such as 0:10 or a list such as 3,5,8", text)
	if first, end, ok := strings.Cut(text, ":"); ok {
		a, err1 := strconv.ParseUint(first, 10, 64)
		b, err2 := strconv.ParseUint(end, 10, 64)
		if err1 != nil || err2 != nil || b <= a || b-a > 1e7 {
			return nil, bad
		}
		return experiment.Range(a, b), nil
	}
	var list []uint64
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 64)
		if err != nil || slices.Contains(list, n) {
			return nil, bad
		}
		list = append(list, n)
	}
	return list, nil
}

// selection applies --only.
func (o *runOptions) selection(e *experiment.Experiment) (problems, methods []string, err error) {
	all, kept := map[string][]string{}, map[string][]string{}
	for _, p := range e.Problems {
		all["problem"] = append(all["problem"], p.Name)
	}
	for _, m := range e.Methods {
		all["method"] = append(all["method"], m.Name)
	}
	for _, only := range o.only {
		what, rest, _ := strings.Cut(only, "=")
		if all[what] == nil || rest == "" {
			return nil, nil, fmt.Errorf("--only %s is not possible, want problem=A,B or method=C", only)
		}
		// A name may hold a comma itself.
		for rest != "" {
			name := ""
			for _, n := range all[what] {
				if (rest == n || strings.HasPrefix(rest, n+",")) && len(n) > len(name) {
					name = n
				}
			}
			if name == "" {
				wanted, _, _ := strings.Cut(rest, ",")
				hint := ""
				if nearest := experiment.Nearest(wanted, all[what]); nearest != "" {
					hint = fmt.Sprintf("; did you mean %q?", nearest)
				}
				return nil, nil, fmt.Errorf("--only %s: there is no %s %q%s", only, what, wanted, hint)
			}
			kept[what] = append(kept[what], name)
			rest = strings.TrimPrefix(strings.TrimPrefix(rest, name), ",")
		}
	}
	for what, names := range all {
		if kept[what] == nil {
			kept[what] = names
		}
	}
	return kept["problem"], kept["method"], nil
}

// runTrials runs trials on several workers and stores their records. It
// returns the number of trials that could not be run.
func (o *runOptions) runTrials(cmd *cobra.Command, catalogue *launch.Catalogue, todo []trial.Spec, total int, store *results.Store) (failed int, err error) {
	progress := newProgress(total, total-len(todo), o.quiet)
	defer progress.stop()
	log, err := newLog(consoleLog(progress.output()))
	if err != nil {
		return 0, err
	}
	if o.quiet {
		log = log.Level(zerolog.ErrorLevel)
	}
	l, err := launch.New(catalogue, o.isolation, launch.PluginLog(log))
	if err != nil {
		return 0, err
	}
	defer l.Close()
	// Plugins end at once when we are interrupted, also those that hang.
	stop := context.AfterFunc(cmd.Context(), l.Close)
	defer stop()

	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	queue := make(chan trial.Spec)
	records := make(chan *trial.Record)
	var workers sync.WaitGroup
	for range min(o.workers, max(1, len(todo))) {
		workers.Go(func() {
			for spec := range queue {
				records <- trial.Run(ctx, l, spec, nil)
			}
		})
	}
	go func() {
		defer close(queue)
		for _, spec := range todo {
			select {
			case queue <- spec:
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() {
		workers.Wait()
		close(records)
	}()
	out := json.NewEncoder(cmd.OutOrStdout())
	for r := range records {
		// A trial that an interrupt has cut short is run again, but one that was
		// done by then is kept; when the disk is full, none can be.
		if ctx.Err() != nil && (r.Failed() || cmd.Context().Err() == nil) {
			continue
		}
		if r.Failed() {
			failed++
			log.Error().Str("problem", r.Problem).Str("method", r.Method).Uint64("seed", r.Seed).Str("status", r.Status).Msg(r.Error)
		}
		if err := store.Append(r); err != nil {
			cancel(err)
			continue
		}
		progress.done(failed)
		if o.json {
			_ = out.Encode(r)
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		if cmd.Context().Err() != nil {
			return failed, &exitError{exitInterrupted, "interrupted; what is done is kept, run the same command to go on"}
		}
		return failed, &exitError{exitFailed, cause.Error()}
	}
	return failed, nil
}

// summarise prints the table and what to do next.
func (o *runOptions) summarise(cmd *cobra.Command, name, dir string, failed, total int) error {
	if !o.json && !o.quiet {
		s, err := results.Summarise(dir)
		if err != nil {
			return err
		}
		if err := s.Write(cmd.OutOrStdout(), "text"); err != nil {
			return err
		}
	}
	if failed > 0 {
		return &exitError{exitFailed, fmt.Sprintf("%d of %d trials could not be run; their records in %s say why. Run again to try them once more", failed, total, dir)}
	}
	if !o.json && !o.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "\nResults are in %s.\n", dir)
		if name == quickStart && len(o.set)+len(o.only) == 0 && o.out == "" {
			fmt.Fprintln(cmd.ErrOrStderr(), quickStartNext)
		}
	}
	return nil
}

const quickStartNext = `
CBO wins when the function is a sum over the coordinates (g), loses when a matrix
has mixed them (f = g(Wx)), and wins again once the directions of W are found
from values of f alone. Along these the problem falls apart, and searching one
line at a time takes a fraction of the queries. Try next:

  go run ./runner table results/quick-start --certificates
  go run ./runner run --set noise.plugin=isotropic --out results/isotropic
  go run ./runner plugins`
