package core_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
)

// every is a parameter struct with every type there is.
type every struct {
	Int     int            `param:"int" doc:"d" min:"-5" max:"100"`
	Float   float64        `param:"float" doc:"d"`
	Rate    float64        `param:"rate" doc:"d" above:"0" max:"1"`
	Bool    bool           `param:"bool" doc:"d"`
	String  string         `param:"string" doc:"d"`
	Colour  string         `param:"colour" doc:"d" oneof:"red,green"`
	Ints    []int          `param:"ints" doc:"d" min:"0"`
	Floats  []float64      `param:"floats" doc:"d" max:"10"`
	Strings []string       `param:"strings" doc:"d"`
	Colours []string       `param:"colours" doc:"d" oneof:"red,green"`
	Table   map[string]any `param:"table" doc:"d"`
}

func defaults() every {
	return every{
		Int: 7, Float: 1.5, Rate: 0.25, Bool: true, String: "text", Colour: "red",
		Ints: []int{1, 2}, Floats: []float64{0.5}, Strings: []string{"a"}, Colours: []string{"green"},
		Table: map[string]any{"plugin": "cbo", "sigma": 2.5},
	}
}

// built is what a component made from every was given.
type built struct {
	core.Objective
	p every
}

func component() core.Component {
	return core.NewObjective("every", "Has every parameter.", defaults(),
		func(p every, _ *core.Env) (core.Objective, error) { return &built{p: p}, nil })
}

func makeEvery(t *testing.T, values map[string]any) every {
	t.Helper()
	c := component()
	made, err := c.Make(values, &core.Env{Dim: 1})
	if err != nil {
		t.Fatal(err)
	}
	return made.(*built).p
}

func TestDefaultsAndGivenValues(t *testing.T) {
	if got := makeEvery(t, nil); !reflect.DeepEqual(got, defaults()) {
		t.Errorf("without values: %+v", got)
	}
	want := defaults()
	want.Int, want.Ints, want.Table = -5, []int{3, 4, 5}, map[string]any{}
	got := makeEvery(t, map[string]any{"int": int64(-5), "ints": []any{int64(3), 4, 5.0}, "table": map[string]any{}})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := makeEvery(t, nil); !reflect.DeepEqual(got, defaults()) {
		t.Errorf("values of one instance are in the next: %+v", got)
	}
}

func TestZeroIsAValue(t *testing.T) {
	got := makeEvery(t, map[string]any{
		"int": 0, "float": 0.0, "bool": false, "string": "", "ints": []any{}, "floats": []any{}, "strings": []any{}, "colours": []any{}, "table": map[string]any{},
	})
	want := every{Rate: 0.25, Colour: "red", Ints: []int{}, Floats: []float64{}, Strings: []string{}, Colours: []string{}, Table: map[string]any{}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestResolveAccepts(t *testing.T) {
	c := component()
	for _, test := range []struct {
		key         string
		given, want any
	}{
		{"int", int64(3), int64(3)},
		{"int", 3, int64(3)},
		{"int", 1e2, int64(100)},
		{"int", json.Number("42"), int64(42)},
		{"int", -5.0, int64(-5)},
		{"float", 3, 3.0},
		{"float", int64(3), 3.0},
		{"float", json.Number("2.5"), 2.5},
		{"float", "inf", math.Inf(1)},
		{"float", "+Inf", math.Inf(1)},
		{"float", "-INF", math.Inf(-1)},
		{"rate", 1, 1.0},
		{"rate", 1e-300, 1e-300},
		{"bool", false, false},
		{"string", "", ""},
		{"string", "inf", "inf"},
		{"colour", "green", "green"},
		{"ints", []any{0, 2.0, int64(3)}, []int64{0, 2, 3}},
		{"ints", []int64{4}, []int64{4}},
		{"floats", []any{1, 2.5, "-inf"}, []float64{1, 2.5, math.Inf(-1)}},
		{"floats", []float64{10}, []float64{10}},
		{"strings", []any{"a", ""}, []string{"a", ""}},
		{"strings", []string{"b"}, []string{"b"}},
		{"colours", []any{"red", "green", "red"}, []string{"red", "green", "red"}},
		{"table", map[string]any{"any": []any{1, "x"}}, map[string]any{"any": []any{1, "x"}}},
	} {
		got, err := c.Resolve(map[string]any{test.key: test.given})
		if err != nil {
			t.Errorf("%s = %#v: %v", test.key, test.given, err)
		} else if !reflect.DeepEqual(got[test.key], test.want) {
			t.Errorf("%s = %#v became %#v, want %#v", test.key, test.given, got[test.key], test.want)
		}
	}
	got, err := c.Resolve(map[string]any{"float": "NaN"})
	if x, ok := got["float"].(float64); err != nil || !ok || !math.IsNaN(x) {
		t.Errorf("float = NaN became %v, %v", got["float"], err)
	}
}

func TestResolveRefuses(t *testing.T) {
	c := component()
	for _, test := range []struct {
		key   string
		given any
		want  string
	}{
		{"int", 2.5, "want a whole number, got 2.5"},
		{"int", math.NaN(), "want a whole number"},
		{"int", math.Inf(1), "want a whole number"},
		{"int", 1e300, "want a whole number"},
		{"int", "3", `want a whole number, got "3"`},
		{"int", true, "want a whole number, got true"},
		{"int", json.Number("2.5"), "want a whole number"},
		{"int", nil, "want a whole number"},
		{"int", -6, "-6 is not possible, must be at least -5 and at most 100"},
		{"int", 101, "101 is not possible"},
		{"float", "big", `want a number, got "big"`},
		{"float", "infinity", "want a number"},
		{"float", false, "want a number, got false"},
		{"float", []any{1.0}, "want a number"},
		{"rate", 0, "0 is not possible, must be greater than 0 and at most 1"},
		{"rate", 1.5, "1.5 is not possible"},
		{"rate", "inf", "+Inf is not possible"},
		{"rate", "nan", "NaN is not possible"},
		{"bool", 1, "want a bool, got 1"},
		{"bool", "true", `want a bool, got "true"`},
		{"string", 5, "want a string, got 5"},
		{"colour", "blue", `"blue" is not possible, must be one of "red", "green"`},
		{"ints", 3, "want a list of int, got 3"},
		{"ints", []any{1, 2.5}, "want a list of int, got 2.5 at position 2"},
		{"ints", []any{1, -1}, "-1 is not possible, must be at least 0"},
		{"floats", []any{"x"}, `want a list of float, got "x" at position 1`},
		{"floats", []any{1, 11}, "11 is not possible, must be at most 10"},
		{"floats", []any{"nan"}, "NaN is not possible"},
		{"strings", "a", `want a list of string, got "a"`},
		{"strings", []any{"a", 1}, "got 1 at position 2"},
		{"colours", []any{"red", "blue"}, `"blue" is not possible, must be one of "red", "green"`},
		{"table", 3, "want a table, got 3"},
	} {
		_, err := c.Resolve(map[string]any{test.key: test.given})
		var bad *core.ParamError
		if !errors.As(err, &bad) || !errors.Is(err, core.ErrParam) {
			t.Errorf("%s = %#v: %v", test.key, test.given, err)
			continue
		}
		if bad.Key != test.key || !strings.Contains(bad.Problem, test.want) || !strings.HasPrefix(err.Error(), test.key+": ") {
			t.Errorf("%s = %#v: key %q: %s, want %q", test.key, test.given, bad.Key, bad.Problem, test.want)
		}
	}
}

func TestUnknownKeys(t *testing.T) {
	c := component()
	for range 20 { // the same one of several every time
		_, err := c.Resolve(map[string]any{"zeta": 1, "flaot": 2, "omega": 3})
		var unknown *core.UnknownParamError
		if !errors.As(err, &unknown) || !errors.Is(err, core.ErrParam) || unknown.Key != "flaot" {
			t.Fatalf("error %v", err)
		}
		if len(unknown.Known) != len(c.Params) || !strings.Contains(err.Error(), "the parameters are int, float, rate") {
			t.Fatalf("error %v", err)
		}
	}
	none := core.DescribeParams("none", core.None{})
	if _, err := none.Resolve(map[string]any{"x": 1}); err == nil || err.Error() != "x: unknown key; there are no parameters" {
		t.Errorf("without parameters: %v", err)
	}
}

// What another process says of itself in JSON means the same.
func TestDescriptionThroughJSON(t *testing.T) {
	c := component()
	text, err := json.Marshal(c.Description)
	if err != nil {
		t.Fatal(err)
	}
	var d core.Description
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if d.ID() != "objective/every" || d.Doc != c.Doc {
		t.Errorf("%s: %s", d.ID(), d.Doc)
	}
	for _, values := range []map[string]any{
		nil,
		{"int": 0, "float": "inf", "ints": []any{1.0}, "floats": []any{}, "bool": false, "table": map[string]any{"x": 1.0}},
	} {
		want, err := c.Resolve(values)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Resolve(values)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: got %v, %v, want %v", values, got, err, want)
		}
		// The resolved values resolve to themselves.
		if again, err := c.Resolve(want); err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%v: resolved twice %v, %v", values, again, err)
		}
	}
	for i := range d.Params {
		if d.Params[i].Range() != c.Params[i].Range() {
			t.Errorf("%s: %q became %q", d.Params[i].Name, c.Params[i].Range(), d.Params[i].Range())
		}
	}
	if _, err := d.Resolve(map[string]any{"colour": "blue"}); !errors.Is(err, core.ErrParam) {
		t.Errorf("the choices were lost: %v", err)
	}
}

func TestRange(t *testing.T) {
	bound := func(x float64) *float64 { return &x }
	for want, p := range map[string]core.Param{
		"":                                 {},
		"at least 2":                       {Min: bound(2)},
		"greater than 0 and at most 1e+06": {Above: bound(0), Max: bound(1e6)},
		`one of "a", "b"`:                  {OneOf: []string{"a", "b"}},
		"at least -0.5 and at most 0.5":    {Min: bound(-0.5), Max: bound(0.5)},
	} {
		if got := p.Range(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDecodeParams(t *testing.T) {
	p, err := core.DecodeParams(defaults(), map[string]any{"int": 0})
	want := defaults()
	want.Int = 0
	if err != nil || !reflect.DeepEqual(p, want) {
		t.Errorf("got %+v, %v", p, err)
	}
	if p, err = core.DecodeParams(defaults(), map[string]any{"int": 1000}); !errors.Is(err, core.ErrParam) || !reflect.DeepEqual(p, defaults()) {
		t.Errorf("got %+v, %v", p, err)
	}
}

// A parameter struct that is put together wrongly shows at once.
func TestMalformedStructsPanic(t *testing.T) {
	for name, describe := range map[string]func(){
		"no name": func() {
			core.DescribeParams("", struct {
				A int `doc:"d"`
			}{})
		},
		"no doc": func() {
			core.DescribeParams("", struct {
				A int `param:"a"`
			}{})
		},
		"unsupported type": func() {
			core.DescribeParams("", struct {
				A uint8 `param:"a" doc:"d"`
			}{})
		},
		"bound that is no number": func() {
			core.DescribeParams("", struct {
				A int `param:"a" doc:"d" min:"low"`
			}{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			describe()
		})
	}
}

func TestMakeRefuses(t *testing.T) {
	c := component()
	if _, err := c.Make(nil, &core.Env{}); !errors.Is(err, core.ErrParam) || !strings.Contains(err.Error(), "dimension 0") {
		t.Errorf("without a dimension: %v", err)
	}
	if _, err := c.Make(map[string]any{"int": "x"}, &core.Env{Dim: 1}); !errors.Is(err, core.ErrParam) {
		t.Errorf("with a bad value: %v", err)
	}
	reason := errors.New("not today")
	c = core.NewSolver("lazy", "Refuses.", core.None{}, func(core.None, *core.Env) (core.Solver, error) { return nil, reason })
	if _, err := c.Make(nil, &core.Env{Dim: 1}); !errors.Is(err, reason) {
		t.Errorf("a component that refuses: %v", err)
	}
}

// A solver as a parameter is a table with its name, or just the name.
func TestSolverTable(t *testing.T) {
	type params struct {
		Inner core.SolverTable `param:"inner" doc:"d"`
	}
	preset := params{core.SolverTable{"plugin": "cbo", "sigma": 1.5}}
	for _, test := range []struct {
		given any
		name  string
		rest  map[string]any
	}{
		{nil, "cbo", map[string]any{"sigma": 1.5}},
		{"line", "line", map[string]any{}},
		{map[string]any{"plugin": "line", "steps": 3}, "line", map[string]any{"steps": 3}},
	} {
		var values map[string]any
		if test.given != nil {
			values = map[string]any{"inner": test.given}
		}
		d := core.DescribeParams("", preset)
		resolved, err := d.Resolve(values)
		if err != nil {
			t.Errorf("%v: %v", test.given, err)
			continue
		}
		if name, rest := d.InnerSolver(resolved); name != test.name || !reflect.DeepEqual(rest, test.rest) {
			t.Errorf("%v: %s with %v", test.given, name, rest)
		}
		if p, err := core.DecodeParams(preset, values); err != nil || p.Inner["plugin"] != test.name {
			t.Errorf("%v became %v, %v", test.given, p.Inner, err)
		}
	}
	for _, given := range []any{3, map[string]any{"sigma": 1}, map[string]any{"plugin": 3}, []any{"cbo"}} {
		d := core.DescribeParams("", preset)
		if _, err := d.Resolve(map[string]any{"inner": given}); !errors.Is(err, core.ErrParam) || !strings.Contains(err.Error(), "want a solver such as") {
			t.Errorf("%v: %v", given, err)
		}
	}
	d := component()
	if name, _ := d.InnerSolver(nil); name != "" {
		t.Errorf("a component that runs no solver runs %q", name)
	}
}
