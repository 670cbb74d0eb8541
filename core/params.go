package core

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// The types of a parameter.
const (
	TypeInt     = "int"
	TypeFloat   = "float"
	TypeBool    = "bool"
	TypeString  = "string"
	TypeInts    = "list of int"
	TypeFloats  = "list of float"
	TypeStrings = "list of string"
	TypeTable   = "table"
	TypeSolver  = "solver" // a table that names a solver, see SolverTable
)

// SolverTable is a parameter that names another solver, with its parameters:
// {"plugin": "cbo", "sigma": 1.1}. The solver is made through Env.Inner.
type SolverTable map[string]any

// Param describes one parameter of a component.
type Param struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Default any      `json:"default"`
	Doc     string   `json:"doc"`
	Min     *float64 `json:"min,omitempty"`   // the value is at least Min
	Above   *float64 `json:"above,omitempty"` // the value is greater than Above
	Max     *float64 `json:"max,omitempty"`   // the value is at most Max
	OneOf   []string `json:"one_of,omitempty"`
}

// Range says in words which values are allowed, "" when any are.
func (p *Param) Range() string {
	var parts []string
	if p.Min != nil {
		parts = append(parts, "at least "+formatFloat(*p.Min))
	}
	if p.Above != nil {
		parts = append(parts, "greater than "+formatFloat(*p.Above))
	}
	if p.Max != nil {
		parts = append(parts, "at most "+formatFloat(*p.Max))
	}
	if p.OneOf != nil {
		quoted := make([]string, len(p.OneOf))
		for i, s := range p.OneOf {
			quoted[i] = strconv.Quote(s)
		}
		parts = append(parts, "one of "+strings.Join(quoted, ", "))
	}
	return strings.Join(parts, " and ")
}

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// UnknownParamError is a key that no parameter has. It answers to ErrParam.
type UnknownParamError struct {
	Key   string
	Known []string
}

func (e *UnknownParamError) Error() string {
	if len(e.Known) == 0 {
		return e.Key + ": unknown key; there are no parameters"
	}
	return e.Key + ": unknown key; the parameters are " + strings.Join(e.Known, ", ")
}

// Is makes an UnknownParamError answer to ErrParam.
func (e *UnknownParamError) Is(target error) bool { return target == ErrParam }

// Resolve checks values against the description and returns them with the
// defaults of all others, each as int64, float64, bool, string, or a slice of
// one of these. Whole numbers are accepted for floats, and so are the strings
// "inf", "-inf" and "nan", because JSON cannot carry those numbers.
func (d *Description) Resolve(values map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(d.Params))
	names := make([]string, len(d.Params))
	for i := range d.Params {
		p := &d.Params[i]
		names[i] = p.Name
		v, given := values[p.Name]
		if !given {
			v = p.Default
		}
		v, err := p.convert(v)
		if err == nil && given {
			err = p.check(v)
		}
		if err != nil {
			return nil, &ParamError{Key: p.Name, Problem: err.Error()}
		}
		out[p.Name] = v
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, key) {
			return nil, &UnknownParamError{Key: key, Known: names}
		}
	}
	return out, nil
}

func (p *Param) convert(v any) (any, error) {
	switch p.Type {
	case TypeInt:
		if n, ok := toInt(v); ok {
			return n, nil
		}
	case TypeFloat:
		if x, ok := toFloat(v); ok {
			return x, nil
		}
	case TypeBool:
		if b, ok := v.(bool); ok {
			return b, nil
		}
	case TypeString:
		if s, ok := v.(string); ok {
			return s, nil
		}
	case TypeInts:
		return toSlice(v, p.Type, toInt)
	case TypeFloats:
		return toSlice(v, p.Type, toFloat)
	case TypeStrings:
		return toSlice(v, p.Type, func(v any) (string, bool) { s, ok := v.(string); return s, ok })
	case TypeTable:
		if m, ok := v.(map[string]any); ok {
			return m, nil
		}
		if v == nil {
			return map[string]any{}, nil
		}
	case TypeSolver:
		switch v := v.(type) {
		case string: // the name alone
			return map[string]any{"plugin": v}, nil
		case SolverTable:
			return map[string]any(v), nil
		case map[string]any:
			if _, ok := v["plugin"].(string); ok {
				return v, nil
			}
		}
		return nil, fmt.Errorf("want a solver such as { plugin = \"cbo\" }, got %s", show(v))
	}
	return nil, fmt.Errorf("want %s, got %s", article(p.Type), show(v))
}

func article(typ string) string {
	if typ == TypeInt {
		return "a whole number"
	}
	if typ == TypeFloat {
		return "a number"
	}
	return "a " + typ
}

func show(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(v)
}

func toInt(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case float64: // JSON knows only floats; 1e6 in TOML is one too
		if v == math.Trunc(v) && math.Abs(v) < 1<<62 {
			return int64(v), true
		}
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	}
	return 0, false
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case json.Number:
		x, err := v.Float64()
		return x, err == nil
	case string:
		switch strings.ToLower(v) {
		case "inf", "+inf", "-inf", "nan":
			x, err := strconv.ParseFloat(v, 64)
			return x, err == nil
		}
	}
	return 0, false
}

func toSlice[T any](v any, typ string, one func(any) (T, bool)) ([]T, error) {
	out := []T{}
	switch v := v.(type) {
	case nil:
		return out, nil
	case []T:
		return append(out, v...), nil
	case []any:
		for i, e := range v {
			x, ok := one(e)
			if !ok {
				return nil, fmt.Errorf("want a %s, got %s at position %d", typ, show(e), i+1)
			}
			out = append(out, x)
		}
		return out, nil
	}
	return nil, fmt.Errorf("want a %s, got %s", typ, show(v))
}

// check tests a converted value against the range; of a list, each element.
func (p *Param) check(v any) error {
	var numbers []float64
	var words []string
	switch v := v.(type) {
	case int64:
		numbers = []float64{float64(v)}
	case float64:
		numbers = []float64{v}
	case []float64:
		numbers = v
	case []int64:
		for _, n := range v {
			numbers = append(numbers, float64(n))
		}
	case string:
		words = []string{v}
	case []string:
		words = v
	}
	for _, s := range words {
		if p.OneOf != nil && !slices.Contains(p.OneOf, s) {
			return fmt.Errorf("%q is not possible, must be %s", s, p.Range())
		}
	}
	for _, x := range numbers {
		// Written so that NaN fails every bound.
		if p.Min != nil && !(x >= *p.Min) || p.Above != nil && !(x > *p.Above) || p.Max != nil && !(x <= *p.Max) {
			return fmt.Errorf("%s is not possible, must be %s", formatFloat(x), p.Range())
		}
	}
	return nil
}

// DescribeParams describes the parameters of a struct with the tags that
// NewObjective explains, for settings that do not belong to a component.
func DescribeParams[P any](name string, defaults P) Description {
	return Description{Name: name, Params: describeParams(defaults)}
}

// DecodeParams returns defaults with the given values over them.
func DecodeParams[P any](defaults P, values map[string]any) (P, error) {
	d := DescribeParams("", defaults)
	resolved, err := d.Resolve(values)
	if err == nil {
		assignParams(&defaults, resolved)
	}
	return defaults, err
}

// describeParams reads the tags of a parameter struct. A malformed struct is a
// programming error and panics.
func describeParams(defaults any) []Param {
	v := reflect.ValueOf(defaults)
	t := v.Type()
	params := make([]Param, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("param")
		if name == "" {
			panic(fmt.Sprintf("core: field %s of %s lacks a param tag", f.Name, t))
		}
		p := Param{Name: name, Doc: f.Tag.Get("doc"), Type: paramType(f.Type)}
		if p.Type == "" || p.Doc == "" {
			panic(fmt.Sprintf("core: field %s of %s: type %s unsupported or doc missing", f.Name, t, f.Type))
		}
		p.Min, p.Above, p.Max = bound(f, "min"), bound(f, "above"), bound(f, "max")
		if s := f.Tag.Get("oneof"); s != "" {
			p.OneOf = strings.Split(s, ",")
		}
		var err error
		if p.Default, err = p.convert(plain(v.Field(i))); err != nil {
			panic(fmt.Sprintf("core: default of %s in %s: %v", name, t, err))
		}
		params = append(params, p)
	}
	return params
}

func bound(f reflect.StructField, tag string) *float64 {
	s, ok := f.Tag.Lookup(tag)
	if !ok {
		return nil
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(fmt.Sprintf("core: tag %s of field %s: %v", tag, f.Name, err))
	}
	return &x
}

func paramType(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[int]():
		return TypeInt
	case reflect.TypeFor[float64]():
		return TypeFloat
	case reflect.TypeFor[bool]():
		return TypeBool
	case reflect.TypeFor[string]():
		return TypeString
	case reflect.TypeFor[[]int]():
		return TypeInts
	case reflect.TypeFor[[]float64]():
		return TypeFloats
	case reflect.TypeFor[[]string]():
		return TypeStrings
	case reflect.TypeFor[map[string]any]():
		return TypeTable
	case reflect.TypeFor[SolverTable]():
		return TypeSolver
	}
	return ""
}

// plain turns a field into what convert understands.
func plain(v reflect.Value) any {
	if ints, ok := v.Interface().([]int); ok {
		wide := make([]int64, len(ints))
		for i, n := range ints {
			wide[i] = int64(n)
		}
		return wide
	}
	return v.Interface()
}

// assignParams copies resolved values into the parameter struct p points to.
func assignParams(p any, values map[string]any) {
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		switch value := values[v.Type().Field(i).Tag.Get("param")].(type) {
		case int64:
			field.SetInt(value)
		case []int64:
			ints := make([]int, len(value))
			for i, n := range value {
				ints[i] = int(n)
			}
			field.Set(reflect.ValueOf(ints))
		default:
			field.Set(reflect.ValueOf(value).Convert(field.Type()))
		}
	}
}
