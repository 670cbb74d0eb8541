package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unbraid/unbraid/runner/internal/trial"
)

// faultyPath is a plugin that goes wrong in every way.
var faultyPath string

// asProgram makes the test binary behave as unbraid itself.
const asProgram = "UNBRAID_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" || len(os.Args) > 1 && os.Args[1] == "serve" {
		main()
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "unbraid-runner-test")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		faultyPath = filepath.Join(dir, "faulty")
		if out, err := exec.Command("go", "build", "-o", faultyPath, "github.com/unbraid/unbraid/sdk/internal/faulty").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the faulty plugin: %v\n%s", err, out)
			return 1
		}
		os.Setenv("XDG_CONFIG_HOME", dir) // no plugins of the user's
		return m.Run()
	}())
}

// unbraid returns a command that runs the program in a folder.
func unbraid(ctx context.Context, dir string, args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// run runs the program to its end.
func run(t *testing.T, dir string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := unbraid(t.Context(), dir, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func readRecords(t *testing.T, path string) []*trial.Record {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []*trial.Record
	for line := range bytes.Lines(data) {
		r := &trial.Record{}
		if err := json.Unmarshal(line, r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// pluginProcesses returns the processes that serve a component for a runner
// started in dir.
func pluginProcesses(t *testing.T, dir string) (found []string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("looks for processes in /proc, which only Linux has")
	}
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, f := range folders {
		cwd, _ := os.Readlink(filepath.Join(f, "cwd"))
		line, _ := os.ReadFile(filepath.Join(f, "cmdline"))
		if cwd == dir && bytes.Contains(line, []byte("\x00serve\x00")) {
			found = append(found, filepath.Base(f)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

const small = `
name   = "small"
dim    = 4
budget = 3000
seeds  = 3

[[problem]]
name      = "Rastrigin"
objective = { plugin = "rastrigin" }
mix       = { kind = "perturbed-orthogonal" }

[[problem]]
name      = "Sphere"
objective = { plugin = "squared-norm", shift = 1.0 }

[[method]]
name   = "CBO on g"
mix    = false
solver = { plugin = "cbo" }
noise  = { plugin = "anisotropic" }

[[method]]
name   = "CBO, isotropic"
solver = { plugin = "cbo", particles = 31, sigma = 0.7 }
noise  = { plugin = "isotropic" }

[[method]]
name   = "CBO, heavy tails"
solver = { plugin = "cbo", particles = 70, sigma = 0.7 }
noise  = { plugin = "heavy-tailed" }

[[method]]
name   = "CMA-ES"
solver = { plugin = "bipop-cmaes" }

[[method]]
name      = "split"
hessian   = { plugin = "shared" }
estimator = { plugin = "joint" }
structure = "coordinates"
solver    = { plugin = "split" }

[[method]]
name      = "split, CBO"
hessian   = { plugin = "central" }
estimator = { plugin = "spm", samples = 20 }
structure = "coordinates"
solver    = { plugin = "split", inner = { plugin = "cbo", particles = 10, tau = 0.01, sigma = 1.1, alpha = 1.0 } }
`

// Promise 1: the same records to the last bit, whatever the isolation, the
// number of workers and restarts.
func TestRecordsDoNotDependOnHowTheyAreMade(t *testing.T) {
	dir := realTempDir(t)
	write(t, filepath.Join(dir, "small.toml"), small)
	var want []string
	for _, variant := range [][]string{
		{"--isolation", "inproc", "--workers", "1"},
		{"--isolation", "inproc", "--workers", "2"},
		{"--isolation", "process", "--workers", "1"},
		{"--isolation", "process", "--workers", "2"},
	} {
		out := strings.Join(variant, "")
		// In two goes, as after an interruption.
		for _, seeds := range []string{"0:1", "0:3"} {
			args := append([]string{"run", "small.toml", "--quiet", "--seeds", seeds, "--out", out}, variant...)
			if _, stderr, status := run(t, dir, args...); status != 0 {
				t.Fatalf("%v: status %d: %s", args, status, stderr)
			}
		}
		var got []string
		for _, r := range readRecords(t, filepath.Join(dir, out, "trials.jsonl")) {
			r.Seconds = 0
			for i := range r.Stages {
				r.Stages[i].Seconds = 0
			}
			// A split ends when no component has enough left for its next batch.
			if r.Queries > 3000 || r.Queries < 3000 && r.Status == "budget" && !strings.HasPrefix(r.Method, "split") {
				t.Errorf("%s on %s: %d queries", r.Method, r.Problem, r.Queries)
			}
			b, _ := json.Marshal(r)
			got = append(got, string(b))
		}
		slices.Sort(got)
		if len(got) != 36 {
			t.Fatalf("%d records", len(got))
		}
		if want == nil {
			want = got
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%v differs:\n%s\n%s", variant, got[i], want[i])
			}
		}
	}
	if left := pluginProcesses(t, dir); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func faultyExperiment(problem, more string) string {
	return fmt.Sprintf(`
name   = "faults"
dim    = 3
budget = 2000
seeds  = 2

[plugins]
faulty = { path = %q }

[[problem]]
name      = "bad"
objective = { %s }
domain    = [-5.0, 5.0]

[[problem]]
name      = "good"
objective = { plugin = "squared-norm" }
%s
[[method]]
name   = "CBO"
solver = { plugin = "cbo", sigma = 1.0 }
noise  = { plugin = "anisotropic" }
`, faultyPath, problem, more)
}

// Promise 3: whatever a plugin does, the trial ends with a clear status and
// the others go on.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name, objective string
		status          string
		text            string // in the error
	}{
		{"killed in mid-run", `plugin = "faulty", fault = "kill", after = 3`, "crash", "signal: killed"},
		{"panics", `plugin = "faulty", fault = "panic", after = 3`, "panic", "divided by zero"},
		{"hangs", `plugin = "faulty", fault = "hang", after = 3, timeout = "300ms"`, "timeout", "no answer within 300ms"},
		{"too few values", `plugin = "too-few"`, "wrong shape", "1 values for 50 points"},
		{"an error of its own", `plugin = "faulty", fault = "error"`, "error", "the mesh is tangled"},
		{"cannot be made", `plugin = "faulty", fault = "make"`, "error", "cannot be made"},
		{"exits before the handshake", `plugin = "stillborn"`, "crash", "no licence found"},
		{"states facts that do not fit", `plugin = "faulty", fault = "bad-facts"`, "wrong shape", "3 lower and 2 upper bounds in 3 dimensions"},
		{"speaks another version", `plugin = "other-world"`, "error", "speaks version 99, this unbraid speaks version 1"},
		{"NaN", `plugin = "faulty", fault = "nan"`, "budget", ""},
		{"some NaN", `plugin = "faulty", fault = "some-nan"`, "budget", ""},
		{"+Inf", `plugin = "faulty", fault = "inf"`, "budget", ""},
		{"prints", `plugin = "faulty", fault = "print"`, "budget", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := realTempDir(t)
			write(t, filepath.Join(dir, "faults.toml"), faultyExperiment(c.objective, ""))
			_, stderr, status := run(t, dir, "run", "faults.toml", "--workers", "2")
			if want := map[bool]int{true: exitFailed, false: 0}[c.text != ""]; status != want {
				t.Errorf("exit status %d, want %d: %s", status, want, stderr)
			}
			records := readRecords(t, filepath.Join(dir, "results/faults/trials.jsonl"))
			if len(records) != 4 {
				t.Fatalf("%d records, want 4", len(records))
			}
			for _, r := range records {
				if r.Problem == "good" {
					if r.Status != "budget" || r.Error != "" {
						t.Errorf("the good problem: %s %s", r.Status, r.Error)
					}
					continue
				}
				if r.Status != c.status || !strings.Contains(r.Error, c.text) || (c.text == "") != (r.Error == "") {
					t.Errorf("status %q, error %q; want %q with %q", r.Status, r.Error, c.status, c.text)
				}
				switch c.name {
				case "NaN":
					if r.Invalid != 2000 || r.Best != nil || *r.Success {
						t.Errorf("NaN everywhere: %d invalid, best %v", r.Invalid, r.Best)
					}
				case "some NaN":
					if r.Invalid != 40 || r.Best == nil {
						t.Errorf("NaN in each batch: %d invalid, best %v", r.Invalid, r.Best)
					}
				case "+Inf":
					if r.Invalid != 0 || r.Best != nil {
						t.Errorf("+Inf everywhere: %d invalid, best %v", r.Invalid, r.Best)
					}
				}
			}
			if left := pluginProcesses(t, dir); left != nil {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestFailedTrialsAreTriedAgain(t *testing.T) {
	dir := realTempDir(t)
	write(t, filepath.Join(dir, "faults.toml"), faultyExperiment(`plugin = "stillborn"`, ""))
	for range 2 {
		if _, _, status := run(t, dir, "run", "faults.toml", "--quiet"); status != exitFailed {
			t.Fatalf("status %d", status)
		}
	}
	if n := len(readRecords(t, filepath.Join(dir, "results/faults/trials.jsonl"))); n != 6 {
		t.Errorf("%d records, want 2 that went well and 2 x 2 that failed", n)
	}
}

func TestWrongChecksum(t *testing.T) {
	dir := realTempDir(t)
	text := strings.Replace(faultyExperiment(`plugin = "faulty"`, ""), `path = "`+faultyPath+`"`, `path = "`+faultyPath+`", sha256 = "`+strings.Repeat("0", 64)+`"`, 1)
	write(t, filepath.Join(dir, "faults.toml"), text)
	_, stderr, status := run(t, dir, "run", "faults.toml")
	if status != exitUsage || !strings.Contains(stderr, "the checksum differs") || !strings.Contains(stderr, `plugin "faulty"`) {
		t.Errorf("status %d: %s", status, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "results")); err == nil {
		t.Error("something was written")
	}
}

// started runs an experiment whose objective hangs in its second batch, and
// waits until the first problem's trials are done and the plugins are up.
func started(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	write(t, filepath.Join(dir, "faults.toml"), faultyExperiment(`plugin = "faulty", fault = "hang", after = 1`, ""))
	if _, stderr, status := run(t, dir, "run", "faults.toml", "--quiet", "--only", "problem=good"); status != 0 {
		t.Fatal(stderr)
	}
	cmd := unbraid(t.Context(), dir, "run", "faults.toml", "--workers", "2")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for len(pluginProcesses(t, dir)) < 6 && t.Context().Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	return cmd
}

// Promise 4: when the runner is killed, its plugins end, even one that hangs.
func TestRunnerKilled(t *testing.T) {
	dir := realTempDir(t)
	t.Setenv("TMPDIR", dir)
	cmd := started(t, dir)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	// They end within milliseconds; one that does not keeps the test waiting
	// until it is timed out.
	for len(pluginProcesses(t, dir)) > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	if n := len(readRecords(t, filepath.Join(dir, "results/faults/trials.jsonl"))); n != 2 {
		t.Errorf("%d records, want the 2 that were done", n)
	}
	// The sockets that it could not remove go with the next run.
	if _, stderr, status := run(t, dir, "run", "faults.toml", "--quiet", "--only", "problem=good", "--seeds", "0:3"); status != 0 {
		t.Fatal(stderr)
	}
	noSocketsLeft(t, dir)
}

// noSocketsLeft checks the folder for temporary files.
func noSocketsLeft(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{"unbraid-*", "plugin*"} {
		if left, _ := filepath.Glob(filepath.Join(dir, pattern)); left != nil {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestInterrupted(t *testing.T) {
	dir := realTempDir(t)
	t.Setenv("TMPDIR", dir)
	cmd := started(t, dir)
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != exitInterrupted {
		t.Errorf("status %d", status)
	}
	if left := pluginProcesses(t, dir); left != nil {
		t.Errorf("left behind: %v", left)
	}
	if n := len(readRecords(t, filepath.Join(dir, "results/faults/trials.jsonl"))); n != 2 {
		t.Errorf("%d records, want the 2 that were done", n)
	}
	noSocketsLeft(t, dir)
}

func TestSolverInTheWrongDimension(t *testing.T) {
	dir := realTempDir(t)
	write(t, filepath.Join(dir, "faults.toml"), faultyExperiment(`plugin = "faulty"`, "")+`
[[method]]
name   = "one too many"
solver = { plugin = "one-too-many" }

[[method]]
name   = "CBO, loud"
solver = { plugin = "cbo", sigma = 0.3 }
noise  = { plugin = "shout" }
`)
	if _, stderr, status := run(t, dir, "run", "faults.toml"); status != exitFailed {
		t.Errorf("status %d: %s", status, stderr)
	}
	for _, r := range readRecords(t, filepath.Join(dir, "results/faults/trials.jsonl")) {
		want := "budget"
		if r.Method == "one too many" {
			want = "wrong shape"
		}
		if r.Status != want {
			t.Errorf("%s on %s: %s %s", r.Method, r.Problem, r.Status, r.Error)
		}
	}
}

// Bad input: exit status 2, a message with file, line and key, nothing written.
func TestBadInput(t *testing.T) {
	for _, c := range []struct{ change, with, want string }{
		{`sigma = 1.0`, `sigmaa = 1.0`, `bad.toml:21: method[0].solver.sigmaa: unknown key; did you mean "sigma"?`},
		{`budget = 2000`, `budget = "many"`, `bad.toml:4: budget: want a whole number`},
		{`budget = 2000`, `budget = -1`, `bad.toml:4: budget: -1 is not possible`},
		{`dim    = 3`, `dim = 0`, `bad.toml:3: dim: 0 is not possible`},
		{`sigma = 1.0`, `particles = 1`, `bad.toml:21: method[0].solver.particles: 1 is not possible, must be at least 2`},
		{`plugin = "squared-norm"`, `plugin = "squarednorm"`, `bad.toml:17: problem[1].objective.plugin: there is no objective "squarednorm"; did you mean "squared-norm"?`},
		{`name      = "good"`, `name = "bad"`, `bad.toml:16: problem[1].name: "bad" is there twice`},
		{`[[method]]`, `[[method]`, `bad.toml:`},
		{`noise  = { plugin = "anisotropic" }`, `nois = { plugin = "anisotropic" }`, `bad.toml:22: method[0].nois: unknown key; did you mean "noise"?`},
	} {
		dir := realTempDir(t)
		text := faultyExperiment(`plugin = "faulty"`, "")
		if !strings.Contains(text, c.change) {
			t.Fatalf("no %q in the experiment", c.change)
		}
		write(t, filepath.Join(dir, "bad.toml"), strings.Replace(text, c.change, c.with, 1))
		stdout, stderr, status := run(t, dir, "run", "bad.toml")
		if status != exitUsage || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("%s: status %d, %q; want %q", c.with, status, stderr, c.want)
		}
		if _, err := os.Stat(filepath.Join(dir, "results")); err == nil {
			t.Errorf("%s: something was written", c.with)
		}
	}
}

func TestSecondRunOnTheSameFolder(t *testing.T) {
	dir := realTempDir(t)
	first := started(t, dir)
	_, stderr, status := run(t, dir, "run", "faults.toml")
	if status != exitUsage || !strings.Contains(stderr, "another run is writing") {
		t.Errorf("status %d: %s", status, stderr)
	}
	_ = first.Process.Kill()
	_ = first.Wait()
}

func TestChangedSettingIsRefused(t *testing.T) {
	dir := realTempDir(t)
	write(t, filepath.Join(dir, "small.toml"), small)
	args := []string{"run", "small.toml", "--quiet", "--seeds", "0:1", "--only", "method=CBO on g", "--isolation", "inproc"}
	if _, stderr, status := run(t, dir, args...); status != 0 {
		t.Fatal(stderr)
	}
	_, stderr, status := run(t, dir, append(args, "--set", "method.CBO on g.solver.sigma=5")...)
	if status != exitUsage || !strings.Contains(stderr, `method "CBO on g": solver.sigma was 7.1, now 5`) || !strings.Contains(stderr, "--out") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

func TestEval(t *testing.T) {
	dir := realTempDir(t)
	write(t, filepath.Join(dir, "points.csv"), "# two points\n0,0,0\n1, 2,-0.5\n")
	stdout, stderr, status := run(t, dir, "eval", "rastrigin", "--set", "shift=0", "--points", "points.csv")
	if status != 0 || stdout != "0\n25.25\n" {
		t.Errorf("status %d: %q %s", status, stdout, stderr)
	}
	// The same function in its own process and with a mix in front.
	for _, extra := range [][]string{{"--isolation", "inproc"}, {"--isolation", "process"}} {
		args := append([]string{"eval", "rastrigin", "--seed", "7", "--set", "mix.kind=orthogonal", "--points", "points.csv"}, extra...)
		if stdout, stderr, status = run(t, dir, args...); status != 0 || strings.Count(stdout, "\n") != 2 {
			t.Fatalf("status %d: %q %s", status, stdout, stderr)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"eval", "rastrign", "--points", "points.csv"}, `did you mean "rastrigin"?`},
		{[]string{"eval", "rastrigin", "--set", "shit=0", "--points", "points.csv"}, `did you mean "shift"?`},
		{[]string{"eval", "rastrigin", "--dim", "2", "--points", "points.csv"}, "points.csv:2: 3 coordinates instead of 2"},
		{[]string{"eval", "rastrigin", "--points", "missing.csv"}, "missing.csv"},
		{[]string{"eval", "bbob", "--set", "function=25", "--points", "points.csv"}, "25 is not possible"},
	} {
		if _, stderr, status := run(t, dir, c.args...); status != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: status %d: %s", c.args, status, stderr)
		}
	}
}

func TestDiscoveredPlugins(t *testing.T) {
	dir := realTempDir(t)
	if err := os.Symlink(faultyPath, filepath.Join(dir, "unbraid-plugin-faulty")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	t.Setenv("UNBRAID_PLUGIN_PATH", dir)
	stdout, stderr, status := run(t, dir, "plugins")
	if status != 0 || !strings.Contains(stdout, "objective/faulty") || !strings.Contains(stdout, "solver/cbo") {
		t.Errorf("status %d: %s %s", status, stdout, stderr)
	}
	stdout, _, _ = run(t, dir, "plugins", "describe", "objective/faulty")
	if !strings.Contains(stdout, "what goes wrong") || !strings.Contains(stdout, "unbraid-plugin-faulty") {
		t.Error(stdout)
	}
}

// The built-in quick start shows the paper's point.
func TestQuickStart(t *testing.T) {
	dir := realTempDir(t)
	stdout, stderr, status := run(t, dir, "run", "--seeds", "0:2")
	if status != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{"CBO on g              100 %", "CBO on f = g(Wx)      0 %", "CBO on f, unbraided   100 %", "one line at a time    100 %"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if !strings.Contains(stderr, "results/quick-start") {
		t.Error(stderr)
	}
}

const structured = `
name   = "structured"
dim    = 8
budget = 40_000
seeds  = 2

[[problem]]
name      = "Rastrigin"
objective = { plugin = "rastrigin" }
mix       = { kind = "perturbed-orthogonal" }

[[problem]]
name      = "rotated Rosenbrock"
objective = { plugin = "bbob", function = 9 }

[[problem]]
name      = "ellipsoid"
objective = { plugin = "squared-norm", shift = 1.0 }
mix       = { kind = "gaussian" }

[[method]]
name      = "estimate"
hessian   = { plugin = "shared" }
estimator = { plugin = "joint" }

[[method]]
name      = "coordinates"
hessian   = { plugin = "shared" }
estimator = { plugin = "joint" }
structure = "coordinates"
fallback  = "identity"
solver    = { plugin = "cbo" }
noise     = { plugin = "anisotropic" }

[[method]]
name      = "noise"
hessian   = { plugin = "central" }
estimator = { plugin = "joint" }
structure = "noise"
fallback  = "stop"
solver    = { plugin = "cbo" }
noise     = { plugin = "transform" }
`

// The whole way from values to a structure to a solution, with every component
// in its own process; and nothing falls back silently.
func TestStructure(t *testing.T) {
	dir := realTempDir(t)
	write(t, filepath.Join(dir, "structured.toml"), structured)
	if _, stderr, status := run(t, dir, "run", "structured.toml", "--quiet"); status != 0 {
		t.Fatal(stderr)
	}
	for _, r := range readRecords(t, filepath.Join(dir, "results/structured/trials.jsonl")) {
		name := fmt.Sprintf("%s on %s, seed %d", r.Method, r.Problem, r.Seed)
		if r.Certificate == nil || r.Stages[0].Name != "estimate" || r.Stages[0].Queries == 0 {
			t.Fatalf("%s: no estimate: %s", name, r.Error)
		}
		verdict, fallback, status := "separable", "", "budget"
		switch {
		case r.Problem == "ellipsoid":
			verdict = "quadratic"
		case r.Problem == "rotated Rosenbrock":
			verdict = "not separable"
			fallback = map[string]string{"coordinates": "identity", "noise": "stop"}[r.Method]
		}
		switch {
		case r.Method == "estimate":
			status = "estimated"
		case fallback == "stop":
			status = "not separable"
		}
		if string(r.Certificate.Verdict) != verdict || r.Fallback != fallback || r.Status != status {
			t.Errorf("%s: verdict %q, fallback %q, status %q; want %q, %q, %q", name, r.Certificate.Verdict, r.Fallback, r.Status, verdict, fallback, status)
		}
		if r.Problem == "Rastrigin" && (*r.Recovered != 1 || r.Method != "estimate" && !*r.Success) {
			t.Errorf("%s: recovered %v, gap %v", name, *r.Recovered, *r.Gap)
		}
	}
	stdout, _, _ := run(t, dir, "table", "results/structured", "--certificates")
	if !strings.Contains(stdout, "not separable") || !strings.Contains(stdout, "rows are not determined") {
		t.Error(stdout)
	}
}

// A budget that does not suffice is refused before the first query.
func TestStructureBudget(t *testing.T) {
	dir := realTempDir(t)
	write(t, filepath.Join(dir, "structured.toml"), structured)
	if _, stderr, status := run(t, dir, "run", "structured.toml", "--set", "budget=100", "--only", "problem=Rastrigin"); status != exitUsage || !strings.Contains(stderr, "joint needs at least three Hessians") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "results")); err == nil {
		t.Error("something was written")
	}
}

// What cannot work is wrong in the file: nothing is tried.
func TestImpossibleCombinations(t *testing.T) {
	for _, c := range []struct{ change, with, want string }{
		{`noise  = { plugin = "anisotropic" }`, ``, "cbo needs a noise model"},
		{`noise  = { plugin = "anisotropic" }`, `noise = { plugin = "transform" }`, "transform"},
		{`plugin = "squared-norm"`, `plugin = "exec"`, "command"},
		{`plugin = "squared-norm"`, `plugin = "exec", command = ["cat"]`, "give it one, for example domain"},
	} {
		dir := realTempDir(t)
		text := faultyExperiment(`plugin = "faulty"`, "")
		write(t, filepath.Join(dir, "bad.toml"), strings.Replace(text, c.change, c.with, 1))
		_, stderr, status := run(t, dir, "run", "bad.toml")
		if status != exitUsage || !strings.Contains(stderr, `method "CBO" on problem "good" cannot work`) || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d: %s", c.with, status, stderr)
		}
	}
}

// A plugin that was built anew may be another function: its trials are not
// mixed with those of the old one.
func TestChangedExecutableIsRefused(t *testing.T) {
	dir := realTempDir(t)
	binary, err := os.ReadFile(faultyPath)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(faultyExperiment(`plugin = "faulty"`, ""), faultyPath, "./sim", 1)
	write(t, filepath.Join(dir, "sim.toml"), text)
	for i, want := range []int{0, exitUsage} {
		if err := os.WriteFile(filepath.Join(dir, "sim"), append(binary, make([]byte, i)...), 0o777); err != nil {
			t.Fatal(err)
		}
		_, stderr, status := run(t, dir, "run", "sim.toml", "--quiet", "--seeds", fmt.Sprintf("0:%d", i+1))
		if status != want || want != 0 && !strings.Contains(stderr, `problem "bad": objective.executable was sha256`) {
			t.Errorf("status %d: %s", status, stderr)
		}
	}
}

// Points are answered as they come.
func TestEvalOfAStream(t *testing.T) {
	cmd := unbraid(t.Context(), t.TempDir(), "eval", "squared-norm")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(out)
	for i, want := range []string{"1\n", "4\n", "9\n"} {
		fmt.Fprintf(in, "%d,0\n", i+1)
		if got, err := answers.ReadString('\n'); got != want || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
