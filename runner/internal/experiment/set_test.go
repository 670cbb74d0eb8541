package experiment

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

const several = `name = "several"
dim = 5
budget = 1000
seeds = 3
success = { gap = 0.1 }

[[problem]]
name = "A"
objective = { plugin = "rastrigin", shift = 1.0 }
mix = { kind = "orthogonal" }

[[problem]]
name = "B"
objective = { plugin = "squared-norm", shift = 1.0 }

[[method]]
name = "CBO"
solver = { plugin = "cbo", sigma = 1.0 }
noise = { plugin = "anisotropic" }

[[method]]
name = "CBO, v. 2"
solver = { plugin = "cbo", sigma = 2.0 }
noise = { plugin = "anisotropic" }

[[method]]
name = "CBO, v"
solver = { plugin = "cbo", sigma = 3.0 }
noise = { plugin = "anisotropic" }
`

// sigmas returns a figure of every method.
func sigmas(e *Experiment) []any {
	var out []any
	for _, m := range e.Methods {
		out = append(out, m.Solver.Params["sigma"])
	}
	return out
}

func TestSet(t *testing.T) {
	inline := several[:strings.Index(several, "[[method]]")]
	inline = strings.Replace(inline, "\n[[problem]]", "\nmethod = [{ name = 'CBO', solver = { plugin = 'cbo' }, noise = { plugin = 'anisotropic' } }]\n[[problem]]", 1)
	for _, test := range []struct {
		text   string
		change string
		got    func(*Experiment) any
		want   any
	}{
		{several, "budget=200000", func(e *Experiment) any { return e.Budget }, 200000},
		{several, "budget=1e5", func(e *Experiment) any { return e.Budget }, 100000},
		{several, " budget = 7 ", func(e *Experiment) any { return e.Budget }, 7},
		{several, "name=other", func(e *Experiment) any { return e.Name }, "other"},
		{several, `name="other"`, func(e *Experiment) any { return e.Name }, "other"},
		{several, "name=a=b c", func(e *Experiment) any { return e.Name }, "a=b c"},
		{several, "seeds=[4, 2]", func(e *Experiment) any { return e.Seeds }, []uint64{4, 2}},
		{several, "success.gap=1e-6", func(e *Experiment) any { return e.Success.Gap }, 1e-6},
		{several, "success.stop=true", func(e *Experiment) any { return e.Success }, Success{Gap: 0.1, Stop: true}},
		{several, "success={ stop = true }", func(e *Experiment) any { return e.Success }, Success{Gap: 0.005, Stop: true}},
		{several, "solver.sigma=5", func(e *Experiment) any { return sigmas(e) }, []any{5.0, 5.0, 5.0}},
		{several, "noise.plugin=isotropic", func(e *Experiment) any { return e.Methods[2].Noise.Name }, "isotropic"},
		{several, "objective.shift=0", func(e *Experiment) any {
			return []any{e.Problems[0].Objective.Params["shift"], e.Problems[1].Objective.Params["shift"]}
		}, []any{0.0, 0.0}},
		{several, "mix.kind=gaussian", func(e *Experiment) any { return []any{e.Problems[0].Mix.Kind, e.Problems[1].Mix == nil} }, []any{"gaussian", true}},
		{several, "problem.B.mix.kind=gaussian", func(e *Experiment) any { return []any{e.Problems[0].Mix.Kind, e.Problems[1].Mix.Kind} }, []any{"orthogonal", "gaussian"}},
		{several, "problem.B.dim=2", func(e *Experiment) any { return []int{e.Problems[0].Dim, e.Problems[1].Dim} }, []int{5, 2}},
		{several, "method.CBO.solver.sigma=5", func(e *Experiment) any { return sigmas(e) }, []any{5.0, 2.0, 3.0}},
		{several, "method.CBO, v. 2.solver.sigma=5", func(e *Experiment) any { return sigmas(e) }, []any{1.0, 5.0, 3.0}},
		{several, "method.CBO, v.solver.sigma=5", func(e *Experiment) any { return sigmas(e) }, []any{1.0, 2.0, 5.0}},
		{strings.Replace(several, `"CBO, v. 2"`, `"CBO.solver"`, 1), "method.CBO.solver.solver.sigma=5", func(e *Experiment) any { return sigmas(e) }, []any{1.0, 5.0, 3.0}},
		{inline, "solver.sigma=5", func(e *Experiment) any { return sigmas(e) }, []any{5.0}},
		{inline, "method.CBO.solver.sigma=5", func(e *Experiment) any { return sigmas(e) }, []any{5.0}},
	} {
		e, err := resolve("my.toml", test.text, test.change)
		if err != nil {
			t.Errorf("%s: %v", test.change, err)
		} else if got := test.got(e); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.change, got, test.want)
		}
	}
	e, err := resolve("my.toml", several, "solver.sigma=5", "method.CBO.solver.sigma=6", "budget=3", "budget=4")
	if err != nil || e.Budget != 4 || !reflect.DeepEqual(sigmas(e), []any{6.0, 5.0, 5.0}) {
		t.Errorf("one after the other: %+v, %v", e, err)
	}
}

func TestSetErrors(t *testing.T) {
	for _, test := range []struct{ change, key, want string }{
		{"budget", "--set budget", "want path.to.key=value"},
		{"=5", "--set =5", "want path.to.key=value"},
		{"budget=many", "--set budget", `want a whole number, got "many"`},
		{"budget=", "--set budget", "want a whole number"},
		{"budget=-1", "--set budget", "-1 is not possible"},
		{"budget.x=1", "--set budget", "want a whole number"},
		{"budgte=5", "--set budgte", `did you mean "budget"?`},
		{"success.gape=5", "--set success.gape", `did you mean "gap"?`},
		{"solver=cbo", "--set solver", "unknown key"},
		{"solver.sgima=5", "--set method[0].solver.sgima", `did you mean "sigma"?`},
		{"solver.sigma=-5", "--set method[0].solver.sigma", "-5 is not possible"},
		{"estimator.samples=5", "--set estimator.samples=5", "no method of the experiment has a estimator"},
		{"method.CMA.solver.sigma=5", "--set method.CMA.solver.sigma=5", "there is no method of that name; there are CBO, CBO, v. 2, CBO, v"},
		{"problem.A=5", "--set problem.A=5", "there is no problem of that name"},
		{"method=5", "--set method", "want tables"},
		{"problem.B.dim=0", "--set problem[1].dim", "0 is not possible"},
	} {
		_, err := resolve("my.toml", several, test.change)
		var e *Error
		if !errors.As(err, &e) || e.File != "" || e.Line != 0 || e.Key != test.key || !strings.Contains(e.Problem, test.want) {
			t.Errorf("%s: got %v, want %q: %q", test.change, err, test.key, test.want)
		}
	}
	// A mistake of the file is still one of the file.
	_, err := resolve("my.toml", strings.Replace(several, "shift = 1.0", "shift = 'far'", 1), "solver.sigma=5")
	var e *Error
	if !errors.As(err, &e) || e.File != "my.toml" || e.Line != 9 {
		t.Errorf("error %v", err)
	}
}

func TestParseValue(t *testing.T) {
	for text, want := range map[string]any{
		"5": int64(5), "-1_000": int64(-1000), "5.5": 5.5, "1e3": 1000.0, "true": true,
		`"5"`: "5", "'x'": "x", "word": "word", " two words ": "two words", "": "", "./path": "./path",
		"[1, 2.5, 'a']": []any{int64(1), 2.5, "a"}, "[1": "[1", "{ a = 1 }": map[string]any{"a": int64(1)},
		"5\nother = 6": "5\nother = 6", "007": "007",
	} {
		if got := parseValue(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %#v, want %#v", text, got, want)
		}
	}
}
