package results

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/objectives/mix"
	"github.com/unbraid/unbraid/runner/internal/experiment"
	"github.com/unbraid/unbraid/runner/internal/trial"
	"gonum.org/v1/gonum/mat"
)

// newExperiment returns an experiment with the problems P and Q and the methods
// A and B. Every call returns a new one.
func newExperiment() *experiment.Experiment {
	e := &experiment.Experiment{Name: "first", Budget: 1000, Seeds: []uint64{0, 1}, NaN: experiment.NaNWorst, Success: experiment.Success{Gap: 0.005}}
	for _, name := range []string{"P", "Q"} {
		e.Problems = append(e.Problems, experiment.Problem{Name: name, Dim: 5,
			Objective: experiment.Ref{Kind: core.KindObjective, Name: "rastrigin", Params: map[string]any{"shift": 2.0}}})
	}
	for _, name := range []string{"A", "B"} {
		e.Methods = append(e.Methods, experiment.Method{Name: name, Mix: true,
			Solver: &experiment.Ref{Kind: core.KindSolver, Name: "cbo", Params: map[string]any{"sigma": 7.1}},
			Noise:  &experiment.Ref{Kind: core.KindNoise, Name: "anisotropic", Params: map[string]any{}}})
	}
	return e
}

func key(problem, method string, seed uint64) trial.Key {
	return trial.Key{Problem: problem, Method: method, Seed: seed}
}

func newRecord(problem, method string, seed uint64) *trial.Record {
	return &trial.Record{Experiment: "first", Problem: problem, Method: method, Seed: seed, Dim: 5, Budget: 1000, Queries: 1000,
		Best: new(0.25), X: []float64{1, 2, 3, 4, 5}, Status: "budget"}
}

func failedRecord(problem, method string, seed uint64) *trial.Record {
	return &trial.Record{Experiment: "first", Problem: problem, Method: method, Seed: seed, Dim: 5, Budget: 1000, Status: trial.StatusCrash, Error: "it crashed"}
}

func open(t *testing.T, dir string, e *experiment.Experiment) *Store {
	t.Helper()
	s, err := Open(dir, e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func appendAll(t *testing.T, s *Store, records ...*trial.Record) {
	t.Helper()
	for _, r := range records {
		if err := s.Append(r); err != nil {
			t.Fatal(err)
		}
	}
}

// fill makes a folder that holds records, and closes it.
func fill(t *testing.T, records ...*trial.Record) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "results", "first")
	s := open(t, dir, newExperiment())
	appendAll(t, s, records...)
	closeStore(t, s)
	return dir
}

func closeStore(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// contents returns all files of a folder but the lock, which is always empty.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() != lockFile || len(text) > 0 {
			out[e.Name()] = string(text)
		}
	}
	return out
}

func TestAppendAndGoOn(t *testing.T) {
	dir := fill(t, newRecord("P", "A", 0), newRecord("P", "A", 1))
	before := contents(t, dir)
	if names := slices.Sorted(maps.Keys(before)); !slices.Equal(names, []string{settingsFile, trialsFile}) {
		t.Errorf("files %v", names)
	}
	s := open(t, dir, newExperiment())
	for key, want := range map[trial.Key]bool{key("P", "A", 0): true, key("P", "A", 1): true, key("P", "A", 2): false, key("P", "B", 0): false, key("Q", "A", 0): false} {
		if s.Done(key) != want {
			t.Errorf("%v: done is %v", key, !want)
		}
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("opening has changed the folder from %v to %v", before, after)
	}
	appendAll(t, s, newRecord("Q", "B", 7))
	if !s.Done(key("Q", "B", 7)) {
		t.Error("not done though appended")
	}
	after := contents(t, dir)[trialsFile]
	if !strings.HasPrefix(after, before[trialsFile]) || strings.Count(after, "\n") != 3 {
		t.Errorf("after %q follows %q", before[trialsFile], after)
	}
	var r trial.Record
	if err := json.Unmarshal([]byte(after[strings.LastIndex(after[:len(after)-1], "\n"):]), &r); err != nil || r.Key() != key("Q", "B", 7) {
		t.Errorf("last line %+v, %v", r, err)
	}
}

// A kill may cut the last line anywhere.
func TestTornLastLine(t *testing.T) {
	whole := contents(t, fill(t, newRecord("P", "A", 0), newRecord("P", "A", 1)))[trialsFile]
	first := strings.Index(whole, "\n") + 1
	for _, cut := range []int{first, first + 1, first + 20, len(whole) - 2, len(whole) - 1} {
		dir := fill(t, newRecord("P", "A", 0))
		path := filepath.Join(dir, trialsFile)
		if err := os.WriteFile(path, []byte(whole[:cut]), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Summarise(dir); err != nil {
			t.Errorf("cut at %d: %v", cut, err)
		}
		s := open(t, dir, newExperiment())
		if !s.Done(key("P", "A", 0)) || s.Done(key("P", "A", 1)) {
			t.Errorf("cut at %d: wrong trials are done", cut)
		}
		appendAll(t, s, newRecord("P", "A", 1))
		if got := contents(t, dir)[trialsFile]; got != whole {
			t.Errorf("cut at %d and gone on: %q", cut, got)
		}
	}
}

func TestDamagedFolder(t *testing.T) {
	good := func(file string) string { return contents(t, fill(t, newRecord("P", "A", 0)))[file] }
	for name, test := range map[string]struct {
		file, text, want string
	}{
		"a line that is no record": {trialsFile, good(trialsFile) + "{\"seed\": \n" + good(trialsFile), trialsFile + ":2: not a record"},
		"a record of wrong type":   {trialsFile, "{\"seed\": -1}\n", trialsFile + ":1: not a record"},
		"settings that are none":   {settingsFile, "{", settingsFile + " is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fill(t, newRecord("P", "A", 0))
			if err := os.WriteFile(filepath.Join(dir, test.file), []byte(test.text), 0o666); err != nil {
				t.Fatal(err)
			}
			before := contents(t, dir)
			for range 2 { // the first try must not keep the lock
				if _, err := Open(dir, newExperiment()); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("opening: %v", err)
				}
			}
			if _, err := Summarise(dir); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("summing up: %v", err)
			}
			if after := contents(t, dir); !maps.Equal(before, after) {
				t.Errorf("the folder was changed: %v", after)
			}
		})
	}
	// Blank lines do no harm.
	dir := fill(t, newRecord("P", "A", 0))
	if err := os.WriteFile(filepath.Join(dir, trialsFile), []byte("\n"+good(trialsFile)+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if s := open(t, dir, newExperiment()); !s.Done(key("P", "A", 0)) {
		t.Error("blank lines hide a record")
	}
}

// changes are what makes the records of problem P and method A incomparable.
var changes = map[string]struct {
	change func(*experiment.Experiment)
	want   string
}{
	"budget":        {func(e *experiment.Experiment) { e.Budget = 2000 }, "experiment: budget was 1000, now 2000"},
	"nan":           {func(e *experiment.Experiment) { e.NaN = experiment.NaNStop }, "experiment: nan was worst, now stop"},
	"gap":           {func(e *experiment.Experiment) { e.Success.Gap = 0.1 }, "experiment: success.gap was 0.005, now 0.1"},
	"success value": {func(e *experiment.Experiment) { e.Success.Value = new(3.0) }, "experiment: success.value was none, now 3"},
	"success stop":  {func(e *experiment.Experiment) { e.Success.Stop = true }, "experiment: success.stop was false, now true"},

	"dim":              {func(e *experiment.Experiment) { e.Problems[0].Dim = 6 }, `problem "P": dim was 5, now 6`},
	"domain":           {func(e *experiment.Experiment) { e.Problems[0].Domain = []float64{-1, 1} }, `problem "P": domain was [], now [-1 1]`},
	"minimum":          {func(e *experiment.Experiment) { e.Problems[0].Minimum = new(0.5) }, `problem "P": minimum was none, now 0.5`},
	"mix":              {func(e *experiment.Experiment) { e.Problems[0].Mix = &mix.Params{Kind: "gaussian"} }, `problem "P": mix was the objective's own, now {Kind:gaussian`},
	"no mix":           {func(e *experiment.Experiment) { e.Problems[0].NoMix = true }, `problem "P": mix was the objective's own, now none`},
	"objective":        {func(e *experiment.Experiment) { e.Problems[0].Objective.Name = "ackley" }, `problem "P": objective.plugin was rastrigin, now ackley`},
	"objective's own":  {func(e *experiment.Experiment) { e.Problems[0].Objective.Params["shift"] = 1.0 }, `problem "P": objective.shift was 2, now 1`},
	"new parameter":    {func(e *experiment.Experiment) { e.Problems[0].Objective.Params["A"] = 1.0 }, `problem "P": objective.A is new: 1`},
	"method's mix":     {func(e *experiment.Experiment) { e.Methods[0].Mix = false }, `method "A": mix was true, now false`},
	"solver":           {func(e *experiment.Experiment) { e.Methods[0].Solver.Params["sigma"] = 5.0 }, `method "A": solver.sigma was 7.1, now 5`},
	"noise":            {func(e *experiment.Experiment) { e.Methods[0].Noise.Name = "isotropic" }, `method "A": noise.plugin was anisotropic, now isotropic`},
	"no noise":         {func(e *experiment.Experiment) { e.Methods[0].Noise = nil }, `method "A": noise.plugin was anisotropic, now not there`},
	"structure":        {func(e *experiment.Experiment) { e.Methods[0].Structure = experiment.UseNoise }, `method "A": structure was , now noise`},
	"structure matrix": {func(e *experiment.Experiment) { e.Methods[0].StructureMatrix = mat.NewDense(1, 1, []float64{1}) }, `method "A": structure_file is new`},
	"estimator": {func(e *experiment.Experiment) {
		e.Methods[0].Estimator = &experiment.Ref{Kind: core.KindEstimator, Name: "spm"}
	}, `method "A": estimator.plugin is new: spm`},
}

func TestChangedSettings(t *testing.T) {
	for name, test := range changes {
		t.Run(name, func(t *testing.T) {
			dir := fill(t, newRecord("P", "A", 0))
			before := contents(t, dir)
			e := newExperiment()
			test.change(e)
			_, err := Open(dir, e)
			if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("error %v, want %q", err, test.want)
			}
			if after := contents(t, dir); !maps.Equal(before, after) {
				t.Errorf("the folder was changed from %v to %v", before, after)
			}
			open(t, dir, newExperiment()) // the settings of before still work
		})
	}
}

// All differences are named, in a fixed order.
func TestChangedSettingsAreListed(t *testing.T) {
	dir := fill(t, newRecord("P", "A", 0))
	e := newExperiment()
	e.Budget, e.NaN, e.Problems[0].Dim, e.Methods[0].Solver.Params["sigma"] = 1, experiment.NaNStop, 2, 3.0
	const want = `
  experiment: budget was 1000, now 1
  experiment: nan was worst, now stop
  problem "P": dim was 5, now 2
  method "A": solver.sigma was 7.1, now 3
`
	if _, err := Open(dir, e); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
}

// What has no finished trials may change.
func TestChangesWithoutTrials(t *testing.T) {
	for name, records := range map[string][]*trial.Record{"no trials": nil, "only failed ones": {failedRecord("P", "A", 0)}} {
		for what, test := range changes {
			dir := fill(t, records...)
			e := newExperiment()
			test.change(e)
			for _, e := range []*experiment.Experiment{e, newExperiment()} {
				s, err := Open(dir, e)
				if err != nil {
					t.Errorf("%s, other %s: %v", name, what, err)
					break
				}
				closeStore(t, s)
			}
		}
	}
	dir := fill(t, newRecord("P", "A", 0))
	e := newExperiment()
	e.Problems[1].Dim, e.Methods[1].Mix = 9, false
	open(t, dir, e)
}

// What changes neither the numbers nor what they mean may change any time.
func TestHarmlessChanges(t *testing.T) {
	dir := fill(t, newRecord("P", "A", 0))
	e := newExperiment()
	e.Doc, e.Seeds, e.Problems[0].Objective.Timeout = "explained", []uint64{5}, 10
	open(t, dir, e)
}

func TestMoreProblemsAndMethods(t *testing.T) {
	dir := fill(t, newRecord("P", "A", 0))
	e := newExperiment()
	e.Problems[1].Name, e.Methods[1].Name = "R", "C" // instead of Q and B
	s := open(t, dir, e)
	appendAll(t, s, newRecord("R", "C", 0))
	closeStore(t, s)
	sum, err := Summarise(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(sum.Problems, []string{"P", "R", "Q"}) || !slices.Equal(sum.Methods, []string{"A", "C", "B"}) {
		t.Errorf("problems %v, methods %v", sum.Problems, sum.Methods)
	}
	// What is not in the file this time keeps its settings.
	e = newExperiment()
	e.Problems[1].Name, e.Methods[1].Name = "R", "C"
	e.Methods[1].Mix = false
	if _, err := Open(dir, e); !errors.Is(err, ErrChanged) {
		t.Errorf("method C changed: %v", err)
	}
	open(t, dir, newExperiment())
}

func TestBusy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first")
	first := open(t, dir, newExperiment())
	appendAll(t, first, newRecord("P", "A", 0))
	before := contents(t, dir)
	changed := newExperiment()
	changed.Methods = append(changed.Methods, experiment.Method{Name: "C"})
	for range 2 {
		if _, err := Open(dir, changed); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), dir) {
			t.Errorf("error %v", err)
		}
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("the folder was changed from %v to %v", before, after)
	}
	appendAll(t, first, newRecord("P", "A", 1))
	closeStore(t, first)
	second := open(t, dir, changed)
	if !second.Done(key("P", "A", 1)) {
		t.Error("the record of the first is not there")
	}
}

func TestFailedTrialsAreNotDone(t *testing.T) {
	dir := fill(t, failedRecord("P", "A", 0), failedRecord("P", "A", 1))
	s := open(t, dir, newExperiment())
	again := key("P", "A", 0)
	if s.Done(again) {
		t.Error("a failed trial is done")
	}
	appendAll(t, s, newRecord("P", "A", 0)) // the later record wins
	if !s.Done(again) {
		t.Error("not done after it was run again")
	}
	closeStore(t, s)
	sum, err := Summarise(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c := sum.Cells[0]; c.Trials != 1 || c.Failed != 1 || sum.Failed != 1 {
		t.Errorf("%+v", c)
	}
	if s = open(t, dir, newExperiment()); !s.Done(again) || s.Done(key("P", "A", 1)) {
		t.Error("the wrong trials are done after opening again")
	}
}

func TestFolderThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, filepath.Join(file, "below")} {
		if _, err := Open(path, newExperiment()); err == nil || !strings.Contains(err.Error(), "choose another with --out") {
			t.Errorf("%s: %v", path, err)
		}
	}
	t.Run("read-only", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("folders have no permissions here")
		}
		if os.Geteuid() == 0 {
			t.Skip("the superuser may write everywhere")
		}
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Chmod(dir, 0o755) }()
		for _, path := range []string{dir, filepath.Join(dir, "below")} {
			if _, err := Open(path, newExperiment()); err == nil || !strings.Contains(err.Error(), "choose another with --out") {
				t.Errorf("%s: %v", path, err)
			}
		}
	})
}

// A record with numbers that JSON does not have is refused, and the folder is
// as before.
func TestAppendRefuses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first")
	s := open(t, dir, newExperiment())
	appendAll(t, s, newRecord("P", "A", 0))
	before := contents(t, dir)
	bad := newRecord("P", "A", 1)
	bad.Seconds = math.NaN()
	if err := s.Append(bad); err == nil || s.Done(bad.Key()) {
		t.Errorf("error %v", err)
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("the folder was changed from %v to %v", before, after)
	}
	appendAll(t, s, newRecord("P", "A", 2))
	if got := contents(t, dir)[trialsFile]; strings.Count(got, "\n") != 2 {
		t.Errorf("records %q", got)
	}
}
