// Package experiment reads experiment files: problems, methods, seeds and
// budget, checked against the descriptions of all components, with errors that
// name file, line and key.
package experiment

import (
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/objectives/mix"
	"github.com/unbraid/unbraid/sdk"
	"gonum.org/v1/gonum/mat"
)

// Experiment is a resolved experiment file: every parameter is there, given or
// by default.
type Experiment struct {
	Name     string
	Doc      string
	Dim      int
	Budget   int
	Seeds    []uint64
	Success  Success
	NaN      string // NaNWorst or NaNStop
	Problems []Problem
	Methods  []Method
}

// What to do about values that are not numbers.
const (
	NaNWorst = "worst" // the point counts and is treated as worst
	NaNStop  = "stop"  // the trial ends with an error
)

// Success says when a trial has succeeded.
type Success struct {
	Gap   float64  // best - minimum is at most this, if the minimum is known
	Value *float64 // best is at most this
	Stop  bool     // whether a trial ends there instead of spending its budget
}

// Ref is a component in use.
type Ref struct {
	Kind    core.Kind
	Name    string
	Params  map[string]any
	Timeout time.Duration // for each answer of its process; 0 for none
	Inner   *Ref          // the solver that a solver runs, if it runs one
	// Executable identifies the program that an external component is in: what
	// it computes may change with it. The runner sets it.
	Executable string
}

// Refs returns all components of an experiment.
func (e *Experiment) Refs() []*Ref {
	var refs []*Ref
	for i := range e.Problems {
		refs = append(refs, &e.Problems[i].Objective)
	}
	for i := range e.Methods {
		m := &e.Methods[i]
		for _, ref := range []*Ref{m.Solver, m.Noise, m.Estimator, m.Hessian} {
			if ref != nil {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// Problem is an objective with its dimension and the facts known of it.
type Problem struct {
	Name      string
	Dim       int // of the points x
	Objective Ref
	Mix       *mix.Params // nil for the objective's own, if it has one
	MixMatrix *mat.Dense  // the matrix of a mix of kind "file"
	NoMix     bool        // not even the objective's own
	Domain    []float64   // nil, or lower and upper bound of every coordinate
	Minimum   *float64    // if given
}

// Method is a solver with what it needs.
type Method struct {
	Name      string
	Mix       bool // false: it sees g instead of f = g(W.)
	Solver    *Ref // nil: the trial ends with the estimate
	Noise     *Ref
	Estimator *Ref
	Hessian   *Ref
	Structure string // how the structure is used: UseNoise, UseCoordinates or ""
	Fallback  string // what to do when the estimate is certified not to be one
	// StructureFile names a file with a W to use instead of an estimate, and
	// StructureMatrix is what is in it.
	StructureFile   string
	StructureMatrix *mat.Dense
}

// How a method uses the structure that its estimator found.
const (
	UseNoise       = "noise"       // the noise model gets it
	UseCoordinates = "coordinates" // the solver works on z = W x
)

// What a method does when its estimator finds that f is not separable.
const (
	FallbackNone     = "none"     // use the estimate all the same
	FallbackIdentity = "identity" // use the coordinates as they are
	FallbackStop     = "stop"     // end the trial
)

// Lookup finds the description of a component. The error says what there is.
type Lookup func(kind core.Kind, name string) (*core.Description, error)

// File is a parsed experiment file whose components are not looked up yet.
type File struct {
	root    *table
	plugins []sdk.Executable
}

// Parse reads the text of an experiment file and applies changes of the form
// "path.to.key=value". name is its path: it is used in errors, and relative
// paths in the file start from its folder.
func Parse(name, text string, changes []string) (*File, error) {
	var values map[string]any
	if _, err := toml.Decode(text, &values); err != nil {
		var p toml.ParseError
		if errors.As(err, &p) {
			return nil, &Error{File: name, Line: p.Position.Line, Key: p.LastKey, Problem: "not valid TOML: " + p.Message}
		}
		return nil, &Error{File: name, Problem: "not valid TOML: " + err.Error()}
	}
	d := newDecoder(name)
	d.lines = locate(text)
	for _, change := range changes {
		if err := d.change(values, change); err != nil {
			return nil, err
		}
	}
	f := &File{root: &table{d: d, values: values}}
	f.readPlugins()
	return f, d.err
}

// Plugins returns the executables named in the file.
func (f *File) Plugins() []sdk.Executable { return f.plugins }

func (f *File) readPlugins() {
	t := f.root.sub("plugins")
	if t == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(t.values)) {
		p := t.sub(name)
		if p == nil {
			return
		}
		e := sdk.Executable{Name: name, SHA256: p.str("sha256", ""), Dir: filepath.Dir(t.d.file)}
		path := p.str("path", "")
		command, given := p.get("command")
		switch {
		case path != "" && given:
			p.fail("command", "give either path or command, not both")
		case path != "":
			e.Command = []string{t.d.resolve(path)}
		case !given:
			p.finish() // a misspelt path is more likely than none
			p.fail("", "give the path of an executable, for example path = \"./%s\", or command = [\"python3\", \"%s.py\"]", name, name)
		default:
			list, _ := command.([]any)
			for _, word := range list {
				if s, ok := word.(string); ok {
					e.Command = append(e.Command, s)
				}
			}
			if len(e.Command) == 0 || len(e.Command) < len(list) {
				p.fail("command", "want a list of strings such as [\"python3\", \"%s.py\"]", name)
			}
			if e.SHA256 != "" {
				p.fail("sha256", "a checksum pins a path, not a command: the interpreter is not what you want to pin")
			}
		}
		p.finish()
		f.plugins = append(f.plugins, e)
	}
}

// Resolve checks the whole file against the components there are.
func (f *File) Resolve(lookup Lookup) (*Experiment, error) {
	t := f.root
	e := &Experiment{Name: t.str("name", ""), Doc: t.str("doc", "")}
	if e.Name == "" || strings.ContainsAny(e.Name, "/\\") || e.Name[0] == '.' {
		t.fail("name", "give the experiment a name that can be a folder's, for example name = \"first\"")
	}
	e.Dim = t.integer("dim", 0, 1)
	e.Budget = t.integer("budget", 0, 1)
	if !t.has("budget") {
		t.missing("budget", "say how many queries a trial may use, for example budget = 100_000")
	}
	e.Seeds = seeds(t)
	e.NaN = t.str("nan", NaNWorst)
	if e.NaN != NaNWorst && e.NaN != NaNStop {
		t.fail("nan", "%q is not possible, must be %q or %q", e.NaN, NaNWorst, NaNStop)
	}
	e.Success = success(t)
	names := map[string]bool{}
	for _, p := range t.subs("problem") {
		e.Problems = append(e.Problems, problem(p, e.Dim, lookup))
		unique(p, names, e.Problems[len(e.Problems)-1].Name)
	}
	if len(e.Problems) == 0 {
		t.missing("problem", "give at least one [[problem]]")
	}
	names = map[string]bool{}
	for _, m := range t.subs("method") {
		e.Methods = append(e.Methods, method(m, lookup))
		unique(m, names, e.Methods[len(e.Methods)-1].Name)
	}
	if len(e.Methods) == 0 {
		t.missing("method", "give at least one [[method]]")
	}
	t.finish()
	for _, path := range slices.Sorted(maps.Keys(t.d.broad)) {
		if change := t.d.broad[path]; !t.d.accepted[change] {
			key := path[strings.LastIndex(path, ".")+1:]
			t.d.failAt(path, "unknown key%s", suggest(key, t.d.offered[change]))
		}
	}
	return e, t.d.err
}

// Single returns a problem made of an objective's name and changes of the form
// "key=value" for its parameters, or "mix.key=value".
func Single(objective string, dim int, changes []string, lookup Lookup) (*Problem, error) {
	values := map[string]any{"name": objective, "objective": map[string]any{"plugin": objective}}
	d := newDecoder("")
	for _, change := range changes {
		key, text, ok := strings.Cut(change, "=")
		if !ok {
			return nil, &Error{Key: "--set " + change, Problem: "want key=value"}
		}
		if !strings.HasPrefix(key, "mix.") {
			key = "objective." + key
		}
		d.assign(values, "", key, parseValue(text))
	}
	p := problem(&table{d: d, values: values}, dim, lookup)
	return &p, d.err
}

func unique(t *table, names map[string]bool, name string) {
	if names[name] {
		t.fail("name", "%q is there twice; names tell the results apart", name)
	}
	names[name] = true
}

func seeds(t *table) []uint64 {
	v, ok := t.get("seeds")
	if !ok {
		t.missing("seeds", "give a number of seeds, for example seeds = 10, or a list")
		return nil
	}
	switch v := v.(type) {
	case int64:
		if v < 1 || v > 1e7 {
			t.fail("seeds", "%d is not a possible number of seeds", v)
			return nil
		}
		return Range(0, uint64(v))
	case []any:
		var list []uint64
		given := map[uint64]bool{}
		for _, e := range v {
			n, ok := e.(int64)
			if !ok || n < 0 {
				t.fail("seeds", "want whole numbers from 0 on, got %s", show(e))
				return nil
			}
			if given[uint64(n)] {
				t.fail("seeds", "seed %d is there twice", n)
			}
			given[uint64(n)] = true
			list = append(list, uint64(n))
		}
		if len(list) == 0 {
			t.fail("seeds", "the list is empty")
		}
		return list
	}
	t.fail("seeds", "want a number of seeds or a list of them, got %s", show(v))
	return nil
}

// Range returns the seeds from first up to, not including, end.
func Range(first, end uint64) []uint64 {
	list := make([]uint64, 0, end-first)
	for s := first; s < end; s++ {
		list = append(list, s)
	}
	return list
}

func success(t *table) Success {
	s := Success{Gap: 0.005}
	sub := t.sub("success")
	if sub == nil {
		return s
	}
	if gap := sub.float("gap"); gap != nil {
		s.Gap = *gap
		if !(*gap >= 0) || math.IsInf(*gap, 0) {
			sub.fail("gap", "%v is not possible, must be at least 0", *gap)
		}
	}
	if s.Value = sub.float("value"); s.Value != nil && math.IsNaN(*s.Value) {
		sub.fail("value", "%v is not possible, must be a number", *s.Value)
	}
	s.Stop = sub.boolean("stop", false)
	sub.finish()
	return s
}

func problem(t *table, dim int, lookup Lookup) Problem {
	p := Problem{Name: t.str("name", ""), Dim: t.integer("dim", dim, 1)}
	if p.Name == "" {
		t.missing("name", "give the problem a name")
	}
	if p.Dim == 0 {
		t.missing("dim", "give the number of dimensions here or for the whole experiment, for example dim = 20")
	}
	if ref := component(t, core.KindObjective, lookup); ref != nil {
		p.Objective = *ref
	} else {
		t.missing("objective", "name one, for example objective = { plugin = \"rastrigin\" }")
	}
	readMix(t, &p)
	if p.Minimum = t.float("minimum"); p.Minimum != nil && (math.IsNaN(*p.Minimum) || math.IsInf(*p.Minimum, 0)) {
		t.fail("minimum", "%v is not possible, must be a finite number; leave it out if it is not known", *p.Minimum)
	}
	if v, ok := t.get("domain"); ok {
		list, _ := v.([]any)
		for _, e := range list {
			if x, ok := number(e); ok {
				p.Domain = append(p.Domain, x)
			}
		}
		if len(list) != 2 || len(p.Domain) != 2 || !(p.Domain[0] < p.Domain[1]) || math.IsInf(p.Domain[1]-p.Domain[0], 0) {
			t.fail("domain", "want [lower, upper], the same for all coordinates, for example domain = [-5.0, 5.0]; got %s", show(v))
		}
	}
	t.finish()
	return p
}

func readMix(t *table, p *Problem) {
	if v, ok := t.values["mix"].(bool); ok {
		t.known = append(t.known, "mix")
		p.NoMix = !v
		if v {
			t.fail("mix", "want a table such as { kind = \"orthogonal\" }, or false")
		}
		return
	}
	m := t.sub("mix")
	if m == nil {
		return
	}
	if m.has("file") && !m.has("kind") {
		m.values["kind"] = "file"
	}
	desc := core.DescribeParams("mix", mix.Defaults())
	values := m.params(&desc)
	if values == nil {
		return
	}
	params, _ := core.DecodeParams(mix.Defaults(), values)
	p.Mix = &params
	if params.File != "" {
		p.MixMatrix = m.matrix("file", params.File)
	}
	// Errors belong to the file, not to a trial.
	err := params.Check(p.Dim, p.MixMatrix)
	if err == nil && p.MixMatrix != nil {
		_, err = mix.New(params, p.Dim, p.MixMatrix, core.Stream{})
	}
	if err != nil && p.Dim > 0 {
		var bad *core.ParamError
		if errors.As(err, &bad) {
			m.fail(bad.Key, "%s", bad.Problem)
		}
		m.fail("", "%v", err)
	}
}

// matrix reads a CSV file that a key names.
func (t *table) matrix(key, path string) *mat.Dense {
	f, err := os.Open(t.d.resolve(path))
	if err != nil {
		t.fail(key, "%v", err)
		return nil
	}
	defer f.Close()
	m, err := mix.Parse(f)
	if err != nil {
		t.fail(key, "%s: %v", path, err)
	}
	return m
}

func method(t *table, lookup Lookup) Method {
	m := Method{Name: t.str("name", ""), Mix: t.boolean("mix", true), Structure: t.str("structure", "")}
	if m.Name == "" {
		t.missing("name", "give the method a name")
	}
	m.Solver = component(t, core.KindSolver, lookup)
	m.Noise = component(t, core.KindNoise, lookup)
	m.Estimator = component(t, core.KindEstimator, lookup)
	m.Hessian = component(t, core.KindHessian, lookup)
	if m.StructureFile = t.str("structure_file", ""); m.StructureFile != "" {
		if m.StructureMatrix = t.matrix("structure_file", m.StructureFile); m.StructureMatrix != nil {
			if _, err := core.PseudoInverse(m.StructureMatrix); err != nil {
				t.fail("structure_file", "%s: %v", m.StructureFile, err)
			}
		}
	}
	m.Fallback = t.str("fallback", FallbackNone)
	known := m.Estimator != nil || m.StructureFile != ""
	switch {
	case m.Fallback != FallbackNone && m.Fallback != FallbackIdentity && m.Fallback != FallbackStop:
		t.fail("fallback", "%q is not possible, must be %q, %q or %q", m.Fallback, FallbackNone, FallbackIdentity, FallbackStop)
	case t.has("fallback") && m.Estimator == nil:
		t.fail("fallback", "there is no estimator whose verdict could be bad")
	case m.Estimator != nil && m.StructureFile != "":
		t.fail("structure_file", "the structure comes either from a file or from an estimator, not from both")
	case m.Structure != "" && m.Structure != UseNoise && m.Structure != UseCoordinates:
		t.fail("structure", "%q is not possible, must be %q or %q", m.Structure, UseNoise, UseCoordinates)
	case !known && m.Structure != "":
		t.fail("structure", "there is no estimator to find one: add for example estimator = { plugin = \"joint\" }, or structure_file = \"W.csv\"")
	case m.Estimator == nil && m.Hessian != nil:
		t.fail("hessian", "there is no estimator that asks for Hessians")
	case m.Estimator != nil && m.Hessian == nil:
		t.missing("hessian", "the estimator needs one, for example hessian = { plugin = \"shared\" }")
	case m.Solver == nil && m.Estimator == nil:
		t.missing("solver", "name one, for example solver = { plugin = \"cbo\" }")
	case m.Solver == nil && (m.Noise != nil || m.Structure != "" || t.has("fallback")):
		t.missing("solver", "without one, a method is just an estimator and a hessian")
	case m.Solver == nil:
	case known && m.Structure == "":
		t.missing("structure", "say how the structure is used, %q or %q", UseNoise, UseCoordinates)
	case m.Structure == UseNoise && m.Noise == nil:
		t.missing("noise", "structure = \"noise\" hands the structure to a noise model")
	}
	t.finish()
	return m
}

// component reads a component's table, nil if there is none.
func component(t *table, kind core.Kind, lookup Lookup) *Ref {
	c := t.sub(string(kind))
	if c == nil {
		return nil
	}
	return reference(c, kind, lookup)
}

func reference(c *table, kind core.Kind, lookup Lookup) *Ref {
	ref := &Ref{Kind: kind, Name: c.str("plugin", "")}
	if ref.Name == "" {
		c.missing("plugin", "name the %s, for example plugin = \"...\" (unbraid plugins lists them)", kind)
		return ref
	}
	desc, err := lookup(kind, ref.Name)
	if err != nil {
		c.fail("plugin", "%v", err)
		return ref
	}
	ref.Name = desc.Name
	ref.Timeout = timeout(c)
	ref.Params = c.params(desc, "plugin", "timeout")
	for _, p := range desc.Params {
		if values, ok := ref.Params[p.Name].(map[string]any); ok && p.Type == core.TypeSolver {
			inner := &table{d: c.d, path: join(c.path, p.Name), values: values}
			ref.Inner = reference(inner, core.KindSolver, lookup)
			// All parameters of the inner solver, for the record.
			resolved := maps.Clone(ref.Inner.Params)
			if resolved != nil {
				resolved["plugin"] = ref.Inner.Name
				ref.Params[p.Name] = resolved
			}
		}
	}
	return ref
}

// timeout reads a duration: "90s", "10m", or a number of seconds.
func timeout(t *table) time.Duration {
	v, ok := t.get("timeout")
	if !ok {
		return 0
	}
	d, err := time.Duration(0), error(nil)
	if s, isString := v.(string); isString {
		d, err = time.ParseDuration(s)
	} else if x, isNumber := number(v); isNumber && x < math.MaxInt64/1e9 {
		d = time.Duration(x * float64(time.Second))
	}
	if err != nil || d <= 0 {
		t.fail("timeout", "want a time such as \"30s\" or \"10m\", got %s", show(v))
	}
	return d
}
