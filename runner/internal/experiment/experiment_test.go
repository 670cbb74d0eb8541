package experiment

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/noise"
	"github.com/unbraid/unbraid/objectives"
	"github.com/unbraid/unbraid/objectives/mix"
	"github.com/unbraid/unbraid/plugins/solvers/cbo"
	"github.com/unbraid/unbraid/sdk"
)

type estimatorParams struct {
	Samples int     `param:"samples" doc:"number of samples" min:"1"`
	Radius  float64 `param:"radius" doc:"where they are" above:"0"`
}

type splitParams struct {
	Inner core.SolverTable `param:"inner" doc:"the solver"`
}

// lookup knows some components of every kind.
func lookup(kind core.Kind, name string) (*core.Description, error) {
	for _, c := range []core.Component{
		objectives.Rastrigin(), objectives.SquaredNorm(), noise.Isotropic(), noise.Anisotropic(), noise.Transform(), cbo.Component(),
		core.NewEstimator("spm", "An estimator.", estimatorParams{150, 20}, func(estimatorParams, *core.Env) (core.Estimator, error) { return nil, nil }),
		core.NewSolver("split", "Runs another solver.", splitParams{core.SolverTable{"plugin": "cbo", "sigma": 1.5}}, func(splitParams, *core.Env) (core.Solver, error) { return nil, nil }),
		core.NewHessian("central", "A hessian.", core.None{}, func(core.None, *core.Env) (core.Hessian, error) { return nil, nil }),
	} {
		if c.Kind == kind && c.Name == name {
			return &c.Description, nil
		}
	}
	return nil, fmt.Errorf("there is no %s %q", kind, name)
}

func resolve(name, text string, changes ...string) (*Experiment, error) {
	f, err := Parse(name, text, changes)
	if err != nil {
		return nil, err
	}
	return f.Resolve(lookup)
}

// base is a small file that is right; the tests of errors change it.
const base = `name = "first"
dim = 5
budget = 1000
seeds = 3

[[problem]]
name = "P"
objective = { plugin = "rastrigin" }

[[method]]
name = "M"
solver = { plugin = "cbo" }
noise = { plugin = "anisotropic" }
`

func TestResolveWhole(t *testing.T) {
	const text = `
name    = "table-1"
doc     = "Two methods"
dim     = 100
budget  = 5e6
seeds   = [7, 0, 3]
nan     = "stop"
success = { gap = 0.5, value = -3, stop = true }

[plugins]
my-sim = { path = "./my-sim", sha256 = "abc" }
a-tool = { command = ["python3", "tool.py"] }

[[problem]]
name      = "Rastrigin"
objective = { plugin = "rastrigin", shift = 0, timeout = "1m30s" }
mix       = { kind = "gaussian", rank = 10 }
domain    = [-1, 2.5]
minimum   = 4

[[problem]]
name = "Plain"
dim  = 3
mix  = false
  [problem.objective]
  plugin  = "squared-norm"
  timeout = 0.5

[[method]]
name   = "On g"
mix    = false
solver = { plugin = "cbo", particles = 10.0 }
noise  = { plugin = "isotropic" }

[[method]]
name      = "On f"
hessian   = { plugin = "central" }
estimator = { plugin = "spm", samples = 5 }
structure = "noise"
solver    = { plugin = "cbo" }
noise     = { plugin = "transform" }
`
	file, err := Parse(filepath.Join("folder", "file.toml"), text, nil)
	if err != nil {
		t.Fatal(err)
	}
	sim, err := filepath.Abs(filepath.Join("folder", "my-sim"))
	if err != nil {
		t.Fatal(err)
	}
	if want := []sdk.Executable{
		{Name: "a-tool", Command: []string{"python3", "tool.py"}, Dir: "folder"},
		{Name: "my-sim", Command: []string{sim}, SHA256: "abc", Dir: "folder"},
	}; !reflect.DeepEqual(file.Plugins(), want) {
		t.Errorf("plugins %+v, want %+v", file.Plugins(), want)
	}
	e, err := file.Resolve(lookup)
	if err != nil {
		t.Fatal(err)
	}
	three, four := -3.0, 4.0
	if e.Name != "table-1" || e.Doc != "Two methods" || e.Dim != 100 || e.Budget != 5_000_000 || !slices.Equal(e.Seeds, []uint64{7, 0, 3}) || e.NaN != NaNStop ||
		!reflect.DeepEqual(e.Success, Success{Gap: 0.5, Value: &three, Stop: true}) {
		t.Errorf("experiment %+v", e)
	}
	params := func(kind core.Kind, name string, values map[string]any) map[string]any {
		d, err := lookup(kind, name)
		if err != nil {
			t.Fatal(err)
		}
		resolved, err := d.Resolve(values)
		if err != nil {
			t.Fatal(err)
		}
		return resolved
	}
	ref := func(kind core.Kind, name string, values map[string]any) *Ref {
		return &Ref{Kind: kind, Name: name, Params: params(kind, name, values)}
	}
	rastrigin, norm := *ref(core.KindObjective, "rastrigin", map[string]any{"shift": 0}), *ref(core.KindObjective, "squared-norm", nil)
	rastrigin.Timeout, norm.Timeout = 90*time.Second, 500*time.Millisecond
	if want := []Problem{
		{Name: "Rastrigin", Dim: 100, Objective: rastrigin, Mix: &mix.Params{Kind: "gaussian", Strength: 5, Rank: 10}, Domain: []float64{-1, 2.5}, Minimum: &four},
		{Name: "Plain", Dim: 3, Objective: norm, NoMix: true},
	}; !reflect.DeepEqual(e.Problems, want) {
		t.Errorf("problems %+v, want %+v", e.Problems, want)
	}
	if want := []Method{
		{Name: "On g", Solver: ref(core.KindSolver, "cbo", map[string]any{"particles": 10}), Noise: ref(core.KindNoise, "isotropic", nil), Fallback: FallbackNone},
		{Name: "On f", Mix: true, Solver: ref(core.KindSolver, "cbo", nil), Noise: ref(core.KindNoise, "transform", nil),
			Estimator: ref(core.KindEstimator, "spm", map[string]any{"samples": 5}), Hessian: ref(core.KindHessian, "central", nil), Structure: UseNoise, Fallback: FallbackNone},
	}; !reflect.DeepEqual(e.Methods, want) {
		t.Errorf("methods %+v, want %+v", e.Methods, want)
	}
}

func TestResolveDefaults(t *testing.T) {
	e, err := resolve("x.toml", base)
	if err != nil {
		t.Fatal(err)
	}
	if e.NaN != NaNWorst || !reflect.DeepEqual(e.Success, Success{Gap: 0.005}) || !slices.Equal(e.Seeds, []uint64{0, 1, 2}) {
		t.Errorf("experiment %+v", e)
	}
	if p := e.Problems[0]; p.Dim != 5 || p.Mix != nil || p.NoMix || p.Domain != nil || p.Minimum != nil || p.Objective.Timeout != 0 {
		t.Errorf("problem %+v", p)
	}
	if m := e.Methods[0]; !m.Mix || m.Structure != "" || m.Estimator != nil || m.Solver.Params["particles"] != int64(50) {
		t.Errorf("method %+v", m)
	}
}

// A solver within a solver is resolved as well.
func TestResolveInnerSolver(t *testing.T) {
	for inner, want := range map[string][2]any{
		"":                {int64(50), 1.5},
		", inner = 'cbo'": {int64(50), 7.1},
		", inner = { plugin = 'cbo', sigma = 0, particles = 5 }": {int64(5), 0.0},
	} {
		e, err := resolve("x.toml", strings.Replace(base, `"cbo"`, `"split"`+inner, 1))
		if err != nil {
			t.Errorf("%q: %v", inner, err)
			continue
		}
		ref := e.Methods[0].Solver
		if ref.Inner == nil || ref.Inner.Name != "cbo" || ref.Inner.Params["particles"] != want[0] || ref.Inner.Params["sigma"] != want[1] {
			t.Errorf("%q: inner solver %+v", inner, ref.Inner)
			continue
		}
		recorded := maps.Clone(ref.Inner.Params)
		recorded["plugin"] = "cbo"
		if !reflect.DeepEqual(ref.Params["inner"], recorded) {
			t.Errorf("%q: recorded as %v", inner, ref.Params["inner"])
		}
	}
}

// Without a solver a method only estimates.
func TestResolveEstimatorAlone(t *testing.T) {
	text := base[:strings.Index(base, "solver =")] + "estimator = { plugin = 'spm' }\nhessian = { plugin = 'central' }\n"
	e, err := resolve("x.toml", text)
	if err != nil || e.Methods[0].Solver != nil || e.Methods[0].Estimator == nil {
		t.Errorf("%+v, %v", e, err)
	}
}

// A matrix is made when a trial needs it, however large, not to read the file.
func TestLargeDimensionsAreOnlyRead(t *testing.T) {
	text := strings.Replace(base, "dim = 5", "dim = 1_000_000_000", 1)
	for _, kind := range []string{"orthogonal", "perturbed-orthogonal", "gaussian", "crosstalk"} {
		if _, err := resolve("x.toml", strings.Replace(text, "\n\n[[method]]", fmt.Sprintf("\nmix = { kind = %q, rank = 3 }\n[[method]]", kind), 1)); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// mistake is a change of base that makes it wrong.
type mistake struct {
	old, new string
	line     int
	key      string
	want     string
}

func checkMistakes(t *testing.T, file string, mistakes []mistake) {
	t.Helper()
	for _, m := range mistakes {
		text := strings.Replace(base, m.old, m.new, 1)
		if text == base {
			t.Fatalf("%q changes nothing", m.old)
		}
		_, err := resolve(file, text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: no error but %v", m.new, err)
			continue
		}
		if e.File != file || e.Line != m.line || e.Key != m.key || !strings.Contains(e.Problem, m.want) {
			t.Errorf("%q: got %v\n  want line %d, key %q, %q", m.new, e, m.line, m.key, m.want)
		}
	}
}

func TestMistakesOfTheExperiment(t *testing.T) {
	checkMistakes(t, "my.toml", []mistake{
		// Not TOML at all.
		{"dim = 5", "dim = = 5", 2, "dim", "not valid TOML"},
		{"dim = 5", "dim = 5\ndim = 6", 3, "dim", "not valid TOML"},
		// Unknown keys.
		{"dim = 5", "dim = 5\nsucces = { gap = 1 }", 3, "succes", `unknown key; did you mean "success"?`},
		{"dim = 5", "dim = 5\nquux_and_more = 1", 3, "quux_and_more", "unknown key; possible are budget, dim, doc"},
		{"dim = 5", "dim = 5\nsuccess.gape = 1", 3, "success.gape", `did you mean "gap"?`},
		// Wrong types.
		{`"first"`, "5", 1, "name", "want a string, got 5"},
		{"dim = 5", `dim = "many"`, 2, "dim", `want a whole number, got "many"`},
		{"dim = 5", "dim = 2.5", 2, "dim", "want a whole number, got 2.5"},
		{"dim = 5", "dim = nan", 2, "dim", "want a whole number"},
		{"budget = 1000", "budget = 1e300", 3, "budget", "want a whole number"},
		{"dim = 5", "dim = 5\nsuccess = 0.1", 3, "success", "want a table such as { ... }, got 0.1"},
		{"dim = 5", `dim = 5` + "\n" + `success.gap = "small"`, 3, "success.gap", `want a number, got "small"`},
		{"dim = 5", "dim = 5\nsuccess.stop = 1", 3, "success.stop", "want true or false, got 1"},
		{"[[method]]", "[method]", 10, "method", "want tables, each under [[method]]"},
		{"[[method]]", "[[method2]]", 10, "method2", `unknown key; did you mean "method"?`},
		{"[[problem]]", "[[problems]]", 6, "problems", `unknown key; did you mean "problem"?`},
		{"[[method]]", "[[treatment]]", 0, "method", "missing: give at least one [[method]]"},
		{"budget = ", "budgett = ", 3, "budgett", `unknown key; did you mean "budget"?`},
		// Values out of range.
		{"dim = 5", "dim = 0", 2, "dim", "0 is not possible, must be at least 1"},
		{"budget = 1000", "", 0, "budget", "missing: say how many queries a trial may use"},
		{"budget = 1000", "budget = -1", 3, "budget", "-1 is not possible, must be at least 1"},
		{"budget = 1000", "budget = 0", 3, "budget", "0 is not possible"},
		{`"first"`, `"a/b"`, 1, "name", "give the experiment a name that can be a folder's"},
		{`"first"`, `""`, 1, "name", "give the experiment a name"},
		{`"first"`, `".."`, 1, "name", "give the experiment a name"},
		{`name = "first"`, "", 0, "name", "give the experiment a name"},
		{"dim = 5", "dim = 5\n" + `nan = "ignore"`, 3, "nan", `"ignore" is not possible, must be "worst" or "stop"`},
		{"dim = 5", "dim = 5\nsuccess.gap = -1.0", 3, "success.gap", "-1 is not possible, must be at least 0"},
		{"dim = 5", "dim = 5\nsuccess.gap = nan", 3, "success.gap", "NaN is not possible"},
		{"dim = 5", "dim = 5\nsuccess.gap = inf", 3, "success.gap", "+Inf is not possible"},
		{"dim = 5", "dim = 5\nsuccess.value = nan", 3, "success.value", "NaN is not possible"},
		// Seeds.
		{"seeds = 3", "", 0, "seeds", "missing: give a number of seeds"},
		{"seeds = 3", "seeds = 0", 4, "seeds", "0 is not a possible number of seeds"},
		{"seeds = 3", "seeds = 100_000_000", 4, "seeds", "not a possible number"},
		{"seeds = 3", "seeds = []", 4, "seeds", "the list is empty"},
		{"seeds = 3", "seeds = [1, -2]", 4, "seeds", "want whole numbers from 0 on, got -2"},
		{"seeds = 3", "seeds = [1, 2, 1]", 4, "seeds", "seed 1 is there twice"},
		{"seeds = 3", "seeds = 2.5", 4, "seeds", "want a number of seeds or a list"},
		{"seeds = 3", `seeds = "0:10"`, 4, "seeds", "want a number of seeds or a list"},
	})
}

func TestMistakesOfProblems(t *testing.T) {
	objective := `objective = { plugin = "rastrigin" }`
	checkMistakes(t, "my.toml", []mistake{
		{`name = "P"`, "", 6, "problem[0].name", "missing: give the problem a name"},
		{"dim = 5", "", 6, "problem[0].dim", "missing: give the number of dimensions here or for the whole experiment"},
		{`name = "P"`, `name = "P"` + "\ndim = -3", 8, "problem[0].dim", "-3 is not possible"},
		{objective, "", 6, "problem[0].objective", "missing: name one"},
		{objective, "objective = {}", 8, "problem[0].objective.plugin", "missing: name the objective"},
		{objective, `objective = "rastrigin"`, 8, "problem[0].objective", "want a table"},
		{objective, `objective = { plugin = "rastrigni" }`, 8, "problem[0].objective.plugin", `there is no objective "rastrigni"`},
		{objective, `objective = { plugin = "rastrigin", shfit = 1 }`, 8, "problem[0].objective.shfit", `unknown key; did you mean "shift"?`},
		{objective, "\n[problem.objective]\nplugin = 'rastrigin'\nshift = 'far'", 11, "problem[0].objective.shift", `want a number, got "far"`},
		{objective, objective + "\ncolour = 1", 9, "problem[0].colour", "unknown key; possible are dim, domain, minimum, mix, name, objective"},
		{objective, objective + "\n[[problem]]\nname = 'P'\n" + objective, 10, "problem[1].name", `"P" is there twice; names tell the results apart`},
		{objective, objective + "\nminimum = 'low'", 9, "problem[0].minimum", `want a number, got "low"`},
		{objective, objective + "\nminimum = nan", 9, "problem[0].minimum", "NaN is not possible"},
		{objective, objective + "\nminimum = -inf", 9, "problem[0].minimum", "-Inf is not possible"},

		{objective, objective + "\ndomain = 5", 9, "problem[0].domain", "want [lower, upper]"},
		{objective, objective + "\ndomain = [1.0]", 9, "problem[0].domain", "want [lower, upper]"},
		{objective, objective + "\ndomain = [5, -5]", 9, "problem[0].domain", "want [lower, upper]"},
		{objective, objective + "\ndomain = [1, 1]", 9, "problem[0].domain", "want [lower, upper]"},
		{objective, objective + "\ndomain = ['a', 1]", 9, "problem[0].domain", "want [lower, upper]"},
		{objective, objective + "\ndomain = [nan, 1]", 9, "problem[0].domain", "want [lower, upper]"},
		{objective, objective + "\ndomain = [0, inf]", 9, "problem[0].domain", "want [lower, upper]"},
		{objective, objective + "\ndomain = [-1.5e308, 1.5e308]", 9, "problem[0].domain", "want [lower, upper]"},

		{objective, `objective = { plugin = "rastrigin", timeout = "soon" }`, 8, "problem[0].objective.timeout", `want a time such as "30s" or "10m", got "soon"`},
		{objective, `objective = { plugin = "rastrigin", timeout = 0 }`, 8, "problem[0].objective.timeout", "want a time"},
		{objective, `objective = { plugin = "rastrigin", timeout = "-3s" }`, 8, "problem[0].objective.timeout", "want a time"},
		{objective, `objective = { plugin = "rastrigin", timeout = nan }`, 8, "problem[0].objective.timeout", "want a time"},
		{objective, `objective = { plugin = "rastrigin", timeout = 1e300 }`, 8, "problem[0].objective.timeout", "want a time"},
		{objective, `objective = { plugin = "rastrigin", timeout = true }`, 8, "problem[0].objective.timeout", "want a time"},
	})
}

func TestMistakesOfMethods(t *testing.T) {
	solver, noise := `solver = { plugin = "cbo" }`, `noise = { plugin = "anisotropic" }`
	estimator := "estimator = { plugin = 'spm' }\nhessian = { plugin = 'central' }"
	checkMistakes(t, "my.toml", []mistake{
		{`name = "M"`, "", 10, "method[0].name", "missing: give the method a name"},
		{solver, "", 10, "method[0].solver", "missing: name one"},
		{solver, `solver = { plugin = "cob" }`, 12, "method[0].solver.plugin", `there is no solver "cob"`},
		{solver, `solver = { plugin = "cbo", particles = 1 }`, 12, "method[0].solver.particles", "1 is not possible, must be at least 2"},
		{solver, `solver = { plugin = "cbo", sgima = 1 }`, 12, "method[0].solver.sgima", `did you mean "sigma"?`},
		{solver, `solver = { plugin = "cbo", sigma = "much" }`, 12, "method[0].solver.sigma", `want a number, got "much"`},
		{solver, `solver = { plugin = "cbo" }` + "\nsolvr = 1", 13, "method[0].solvr", `did you mean "solver"?`},
		{solver, solver + "\nmix = 'no'", 13, "method[0].mix", "want true or false"},
		{noise, noise + "\n[[method]]\nname = 'M'\n" + solver, 15, "method[1].name", `"M" is there twice`},

		{solver, `solver = { plugin = "split", inner = 3 }`, 12, "method[0].solver.inner", `want a solver such as { plugin = "cbo" }, got 3`},
		{solver, `solver = { plugin = "split", inner = { sigma = 3 } }`, 12, "method[0].solver.inner", "want a solver such as"},
		{solver, `solver = { plugin = "split", inner = "cob" }`, 12, "method[0].solver.inner.plugin", `there is no solver "cob"`},
		{solver, `solver = { plugin = "split", inner = { plugin = "cbo", particles = 1 } }`, 12, "method[0].solver.inner.particles", "1 is not possible"},
		{solver, "solver = { plugin = 'split', inner = {\n plugin = 'cbo',\n sgima = 1\n} }", 14, "method[0].solver.inner.sgima", `did you mean "sigma"?`},

		{noise, noise + "\nfallback = 'stop'", 14, "method[0].fallback", "there is no estimator whose verdict could be bad"},
		{noise, noise + "\n" + estimator + "\nstructure = 'noise'\nfallback = 'hope'", 17, "method[0].fallback", `"hope" is not possible, must be "none", "identity" or "stop"`},
		{solver, estimator, 10, "method[0].solver", "missing: without one, a method is just an estimator and a hessian"},
		{noise, noise + "\nstructure = 'noise'", 14, "method[0].structure", "there is no estimator to find one"},
		{noise, noise + "\nhessian = { plugin = 'central' }", 14, "method[0].hessian", "there is no estimator that asks for Hessians"},
		{noise, noise + "\nestimator = { plugin = 'spm' }\nstructure = 'noise'", 10, "method[0].hessian", "missing: the estimator needs one"},
		{noise, noise + "\n" + estimator, 10, "method[0].structure", `missing: say how the structure is used, "noise" or "coordinates"`},
		{noise, noise + "\n" + estimator + "\nstructure = 'nose'", 16, "method[0].structure", `"nose" is not possible`},
		{noise, estimator + "\nstructure = 'noise'", 10, "method[0].noise", "missing: structure = \"noise\" hands the structure to a noise model"},
	})
}

func TestMistakesOfPlugins(t *testing.T) {
	entry := func(text string) string { return "[plugins]\nsim = " + text + "\n[[problem]]" }
	checkMistakes(t, "my.toml", []mistake{
		{"dim = 5", "dim = 5\nplugins = 3", 3, "plugins", "want a table"},
		{"[[problem]]", entry(`"./sim"`), 7, "plugins.sim", "want a table"},
		{"[[problem]]", entry("{}"), 7, "plugins.sim", `give the path of an executable, for example path = "./sim"`},
		{"[[problem]]", entry(`{ path = 3 }`), 7, "plugins.sim.path", "want a string, got 3"},
		{"[[problem]]", entry(`{ path = "a", command = ["b"] }`), 7, "plugins.sim.command", "either path or command, not both"},
		{"[[problem]]", entry(`{ command = "python3 sim.py" }`), 7, "plugins.sim.command", `want a list of strings such as ["python3", "sim.py"]`},
		{"[[problem]]", entry(`{ command = [] }`), 7, "plugins.sim.command", "want a list of strings"},
		{"[[problem]]", entry(`{ command = ["python3", 3] }`), 7, "plugins.sim.command", "want a list of strings"},
		{"[[problem]]", entry(`{ command = ["python3"], sha256 = "00" }`), 7, "plugins.sim.sha256", "a checksum pins a path, not a command"},
		{"[[problem]]", entry(`{ path = "a", pth = "b" }`), 7, "plugins.sim.pth", `did you mean "path"?`},
		{"[[problem]]", "[plugins]\nzoo = 1\nape = 2\n[[problem]]", 8, "plugins.ape", "want a table"}, // the same one every time
	})
}

func TestMistakesOfMatrices(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ragged.csv":    "1,2\n3\n",
		"singular.csv":  "1,2\n2,4\n",
		"zero.csv":      "1,2\n0,0\n",
		"wide.csv":      "1,0,0\n0,1,0\n",
		"tall.csv":      "1,0\n0,1\n1,1\n",
		"words.csv":     "1,2\nthree,4\n",
		"right.csv":     "1,2\n3,4\n",
		"structure.csv": "1,0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "my.toml")
	objective, noise := `objective = { plugin = "rastrigin" }`, `noise = { plugin = "anisotropic" }`
	in2D := func(mix string) string { return objective + "\ndim = 2\nmix = " + mix }
	structure := func(name string) string {
		return noise + "\nstructure = 'noise'\nstructure_file = '" + name + "'"
	}
	checkMistakes(t, file, []mistake{
		{objective, in2D("3"), 10, "problem[0].mix", "want a table"},
		{objective, in2D("true"), 10, "problem[0].mix", `want a table such as { kind = "orthogonal" }, or false`},
		{objective, in2D("{ kind = 'rotation' }"), 10, "problem[0].mix.kind", `"rotation" is not possible, must be one of "orthogonal"`},
		{objective, in2D("{ knid = 'gaussian' }"), 10, "problem[0].mix.knid", `did you mean "kind"?`},
		{objective, in2D("{ strength = -1 }"), 10, "problem[0].mix.strength", "-1 is not possible"},
		{objective, in2D("{ rank = 3 }"), 10, "problem[0].mix.rank", "3 is not possible in 2 dimensions"},
		{objective, in2D("{ kind = 'gaussian', file = 'right.csv' }"), 10, "problem[0].mix.file", `only kind = "file" takes a file`},
		{objective, in2D("{ kind = 'file' }"), 10, "problem[0].mix.file", "needs a matrix"},
		{objective, in2D("{ kind = 'file', file = 'missing.csv' }"), 10, "problem[0].mix.file", "missing.csv"},
		{objective, in2D("{ kind = 'file', file = 'ragged.csv' }"), 10, "problem[0].mix.file", "ragged.csv: line 2: 1 numbers, the first row has 2"},
		{objective, in2D("{ kind = 'file', file = 'words.csv' }"), 10, "problem[0].mix.file", `words.csv: line 2, column 1: "three" is not a finite number`},
		{objective, in2D("{ kind = 'file', file = 'singular.csv' }"), 10, "problem[0].mix", "linearly dependent"},
		{objective, in2D("{ kind = 'file', file = 'zero.csv' }"), 10, "problem[0].mix", "row 2 of the matrix cannot be scaled"},
		{objective, in2D("{ kind = 'file', file = 'wide.csv' }"), 10, "problem[0].mix.file", "the matrix is 2 x 3, must be 2 x 2"},
		{objective, in2D("{ kind = 'file', file = 'right.csv', rank = 1 }"), 10, "problem[0].mix.file", "the matrix is 2 x 2, must be 1 x 2"},

		{noise, structure("missing.csv"), 15, "method[0].structure_file", "missing.csv"},
		{noise, structure("ragged.csv"), 15, "method[0].structure_file", "ragged.csv: line 2"},
		{noise, structure("singular.csv"), 15, "method[0].structure_file", "linearly dependent"},
		{noise, structure("tall.csv"), 15, "method[0].structure_file", "tall.csv: "},
		{noise, noise + "\nstructure_file = 'right.csv'", 10, "method[0].structure", "missing: say how the structure is used"},
		{noise, structure("right.csv") + "\nestimator = { plugin = 'spm' }", 15, "method[0].structure_file", "either from a file or from an estimator"},
	})
	text := strings.Replace(base, objective, in2D("{ kind = 'file', file = 'right.csv' }"), 1)
	e, err := resolve(file, strings.Replace(text, noise, structure("structure.csv"), 1))
	if err != nil {
		t.Fatal(err)
	}
	if m := e.Problems[0].MixMatrix; m == nil || m.At(1, 0) != 3 {
		t.Errorf("mix %v", m)
	}
	if m := e.Methods[0].StructureMatrix; m == nil || m.At(0, 0) != 1 || e.Methods[0].StructureFile != "structure.csv" {
		t.Errorf("structure %v", m)
	}
}

func TestErrorText(t *testing.T) {
	for want, e := range map[string]Error{
		"a.toml:3: dim: wrong": {File: "a.toml", Line: 3, Key: "dim", Problem: "wrong"},
		"a.toml: dim: wrong":   {File: "a.toml", Key: "dim", Problem: "wrong"},
		"a.toml:3: wrong":      {File: "a.toml", Line: 3, Problem: "wrong"},
		"--set dim: wrong":     {Key: "--set dim", Problem: "wrong"},
	} {
		if e.Error() != want {
			t.Errorf("got %q, want %q", e.Error(), want)
		}
	}
}

func TestNearest(t *testing.T) {
	valid := []string{"sigma", "alpha", "alpha_max", "CBO on g"}
	for name, want := range map[string]string{
		"sgima": "sigma", "Sigma": "sigma", "alpha_mx": "alpha_max", "alphas": "alpha", "cbo on f": "CBO on g", "temperature": "", "": "",
	} {
		if got := Nearest(name, valid); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestSingle(t *testing.T) {
	p, err := Single("rastrigin", 4, []string{"shift=0", "mix.kind=orthogonal", "mix.rank=2", "A=1e3"}, lookup)
	if err != nil {
		t.Fatal(err)
	}
	if p.Dim != 4 || p.Objective.Name != "rastrigin" || p.Objective.Params["shift"] != 0.0 || p.Objective.Params["A"] != 1000.0 ||
		!reflect.DeepEqual(p.Mix, &mix.Params{Kind: "orthogonal", Strength: 5, Rank: 2}) {
		t.Errorf("problem %+v", p)
	}
	if p, err = Single("rastrigin", 4, nil, lookup); err != nil || p.Mix != nil || p.NoMix || p.Objective.Params["shift"] != 2.0 {
		t.Errorf("without changes: %+v, %v", p, err)
	}
	for _, test := range []struct {
		objective, change, want string
	}{
		{"rastrigni", "shift=0", `objective.plugin: there is no objective "rastrigni"`},
		{"rastrigin", "shift", "--set shift: want key=value"},
		{"rastrigin", "shfit=1", `--set objective.shfit: unknown key; did you mean "shift"?`},
		{"rastrigin", "shift=far", `--set objective.shift: want a number, got "far"`},
		{"rastrigin", "mix.rank=9", "--set mix.rank: 9 is not possible in 4 dimensions"},
		{"rastrigin", "mix.file=no-such.csv", "no-such.csv"},
	} {
		if _, err := Single(test.objective, 4, []string{test.change}, lookup); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, %s: %v", test.objective, test.change, err)
		}
	}
}

func TestRange(t *testing.T) {
	if got := Range(3, 6); !slices.Equal(got, []uint64{3, 4, 5}) {
		t.Errorf("got %v", got)
	}
	if got := Range(math.MaxUint64-1, math.MaxUint64); !slices.Equal(got, []uint64{math.MaxUint64 - 1}) {
		t.Errorf("got %v", got)
	}
}
