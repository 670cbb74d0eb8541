package objectives

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/objectives/mix"
	"gonum.org/v1/gonum/mat"
)

// cases are all objectives of this package, each with its formula as one would
// write it down, of y = x - shift, and values that are not possible.
var cases = []struct {
	component core.Component
	least     int // smallest dimension
	formula   func(y []float64) float64
	bad       []map[string]any
}{
	{Rastrigin(), 1, func(y []float64) float64 {
		return sum(y, func(_ int, v float64) float64 { return v*v + 10 - 10*math.Cos(2*math.Pi*v) })
	}, []map[string]any{{"A": -1}, {"A": "inf"}, {"a": 10}}},
	{RastriginLike(), 1, nil, []map[string]any{{"b": -1}, {"b": 1e9}, {"h": -1}, {"h": "nan"}, {"k": -1}, {"k": 1e9}, {"bias": -1}, {"bias": "inf"}}},
	{SquaredNorm(), 1, func(y []float64) float64 {
		return sum(y, func(_ int, v float64) float64 { return v * v })
	}, nil},
	{DifferentPowers(), 1, func(y []float64) float64 {
		return sum(y, func(j int, v float64) float64 { return math.Pow(math.Abs(v), 2+4*ramp(len(y))[j]) })
	}, nil},
	{Microring(), 1, nil, []map[string]any{{"a": 0}, {"a": 1.1}, {"r": 0}, {"r": "nan"}, {"a": 1, "r": 1}, {"shift": 1}}},
	{Ellipsoid(), 1, func(y []float64) float64 {
		return sum(y, func(j int, v float64) float64 { return math.Pow(10, 6*ramp(len(y))[j]) * v * v })
	}, nil},
	{Cigar(), 1, func(y []float64) float64 {
		return sum(y, func(j int, v float64) float64 { return []float64{1, 1e6}[min(j, 1)] * v * v })
	}, nil},
	{Discus(), 1, func(y []float64) float64 {
		return sum(y, func(j int, v float64) float64 { return []float64{1e6, 1}[min(j, 1)] * v * v })
	}, nil},
	{Rosenbrock(), 2, func(y []float64) float64 {
		return sum(y[1:], func(j int, v float64) float64 {
			return 100*math.Pow(v-y[j]*y[j], 2) + math.Pow(1-y[j], 2)
		})
	}, nil},
	{Ackley(), 1, func(y []float64) float64 {
		d := float64(len(y))
		squares := sum(y, func(_ int, v float64) float64 { return v * v })
		cosines := sum(y, func(_ int, v float64) float64 { return math.Cos(2 * math.Pi * v) })
		return 20 + math.E - 20*math.Exp(-0.2*math.Sqrt(squares/d)) - math.Exp(cosines/d)
	}, nil},
	{Griewank(), 1, func(y []float64) float64 {
		product := 1.0
		squares := sum(y, func(j int, v float64) float64 { product *= math.Cos(v / math.Sqrt(float64(j+1))); return v * v })
		return 1 + squares/4000 - product
	}, nil},
	{Schaffer7(), 2, func(y []float64) float64 {
		mean := sum(y[1:], func(j int, v float64) float64 {
			s := math.Hypot(y[j], v)
			return math.Sqrt(s) * (1 + math.Pow(math.Sin(50*math.Pow(s, 0.2)), 2))
		}) / float64(len(y)-1)
		return mean * mean
	}, nil},
	{Blocks(), 1, nil, []map[string]any{{"A": -1}, {"sizes": []any{0}}, {"sizes": []any{2, 2}}, {"sizes": []any{9, 9}}, {"sizes": "pairs"}}},
	{Nearly(), 1, func(y []float64) float64 {
		return sum(y, func(j int, v float64) float64 {
			own := v*v + 10 - 10*math.Cos(2*math.Pi*v)
			if j == 0 {
				return own
			}
			return own + 0.1*(1-math.Cos(2*math.Pi*(v-y[j-1])))
		})
	}, []map[string]any{{"A": -1}, {"weight": -1}, {"weight": "nan"}}},
}

func sum(y []float64, term func(j int, v float64) float64) float64 {
	var total float64
	for j, v := range y {
		total += term(j, v)
	}
	return total
}

func env(d int, seed uint64) *core.Env {
	return &core.Env{Dim: d, Stream: core.NewStream(seed)}
}

func build(t testing.TB, c core.Component, values map[string]any, env *core.Env) core.Known {
	t.Helper()
	made, err := c.Make(values, env)
	if err != nil {
		t.Fatal(err)
	}
	return made.(core.Known)
}

func at(t testing.TB, f core.Objective, x ...float64) float64 {
	t.Helper()
	var dst [1]float64
	if err := f.Evaluate(t.Context(), dst[:], mat.NewDense(1, len(x), x)); err != nil {
		t.Fatal(err)
	}
	return dst[0]
}

// withShift are the values that move the minimiser, if the component can.
func withShift(c core.Component) map[string]any {
	if slices.ContainsFunc(c.Params, func(p core.Param) bool { return p.Name == "shift" }) {
		return map[string]any{"shift": 1.5}
	}
	return nil
}

func uniform(rng *rand.Rand, lower, upper []float64) []float64 {
	x := make([]float64, len(lower))
	for j := range x {
		x[j] = lower[j] + (upper[j]-lower[j])*rng.Float64()
	}
	return x
}

func TestFacts(t *testing.T) {
	for _, c := range cases {
		t.Run(c.component.Name, func(t *testing.T) {
			for _, d := range []int{1, 2, 7} {
				if d < c.least {
					if _, err := c.component.Make(nil, env(d, 1)); !errors.Is(err, core.ErrParam) {
						t.Errorf("d = %d: %v", d, err)
					}
					continue
				}
				for _, values := range []map[string]any{nil, withShift(c.component)} {
					f := build(t, c.component, values, env(d, 3))
					facts := f.Facts()
					if len(facts.Lower) != d || len(facts.Upper) != d || len(facts.Minimiser) != d || facts.Minimum == nil {
						t.Fatalf("d = %d: facts %+v", d, facts)
					}
					tolerance := 1e-12 * (1 + math.Abs(*facts.Minimum))
					if got := at(t, f, facts.Minimiser...); math.Abs(got-*facts.Minimum) > tolerance {
						t.Errorf("d = %d: value %g at the minimiser, minimum %g", d, got, *facts.Minimum)
					}
					rng := core.NewStream(5).Rand()
					for i := range 2000 {
						x := uniform(rng, facts.Lower, facts.Upper)
						if i%2 == 0 {
							size := math.Pow(10, -8*rng.Float64())
							for j, m := range facts.Minimiser {
								x[j] = m + size*rng.NormFloat64()
							}
						}
						if got := at(t, f, x...); got < *facts.Minimum-tolerance {
							t.Fatalf("d = %d: %.17g at %v, minimum %.17g", d, got, x, *facts.Minimum)
						}
					}
					for j, m := range facts.Minimiser {
						if m < facts.Lower[j] || m > facts.Upper[j] {
							t.Errorf("d = %d: minimiser %v outside of the domain", d, facts.Minimiser)
						}
					}
				}
			}
		})
	}
}

func TestFormulas(t *testing.T) {
	for _, c := range cases {
		if c.formula == nil {
			continue
		}
		rng := core.NewStream(7).Rand()
		for _, d := range []int{2, 3, 10} {
			f := build(t, c.component, map[string]any{"shift": 0}, env(d, 1))
			g := build(t, c.component, map[string]any{"shift": 2}, env(d, 1))
			facts := f.Facts()
			y := uniform(rng, facts.Lower, facts.Upper)
			x := slices.Clone(y)
			for j, m := range g.Facts().Minimiser {
				x[j] += m - facts.Minimiser[j]
			}
			want := c.formula(y)
			if got := at(t, f, y...); math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
				t.Errorf("%s: %.17g, want %.17g", c.component.Name, got, want)
			}
			if got := at(t, g, x...); math.Abs(got-want) > 1e-10*(1+math.Abs(want)) {
				t.Errorf("%s, shifted: %.17g, want %.17g", c.component.Name, got, want)
			}
		}
	}
}

func TestSeed(t *testing.T) {
	for _, c := range cases {
		of := func(seed uint64) core.Known { return build(t, c.component, withShift(c.component), env(7, seed)) }
		a, again, other := of(1), of(1), of(2)
		x := uniform(core.NewStream(1).Rand(), a.Facts().Lower, a.Facts().Upper)
		if at(t, a, x...) != at(t, again, x...) || !slices.Equal(a.Facts().Minimiser, again.Facts().Minimiser) {
			t.Errorf("%s: one seed, two functions", c.component.Name)
		}
		if at(t, a, x...) == at(t, other, x...) || slices.Equal(a.Facts().Minimiser, other.Facts().Minimiser) {
			t.Errorf("%s: two seeds, one function", c.component.Name)
		}
	}
}

func TestBadParameters(t *testing.T) {
	for _, c := range cases {
		bad := append([]map[string]any{{"no-such-key": 1}}, c.bad...)
		if withShift(c.component) != nil {
			bad = append(bad, map[string]any{"shift": -1}, map[string]any{"shift": "inf"}, map[string]any{"shift": "nan"}, map[string]any{"shift": true})
		}
		for _, values := range bad {
			if _, err := c.component.Make(values, env(7, 1)); !errors.Is(err, core.ErrParam) {
				t.Errorf("%s with %v: %v", c.component.Name, values, err)
			}
		}
	}
}

// What is not finite must not panic, and must not look like a good value.
func TestNotFinite(t *testing.T) {
	for _, c := range cases {
		f := build(t, c.component, nil, env(4, 1))
		for _, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, -math.MaxFloat64} {
			for j := range 4 {
				x := slices.Clone(f.Facts().Minimiser)
				x[j] = v
				if got := at(t, f, x...); got < *f.Facts().Minimum {
					t.Errorf("%s: value %g at %v", c.component.Name, got, x)
				}
			}
		}
	}
}

func TestEvaluateRefuses(t *testing.T) {
	for _, c := range cases {
		f := build(t, c.component, nil, env(4, 1))
		if err := f.Evaluate(t.Context(), make([]float64, 2), mat.NewDense(2, 3, nil)); !errors.Is(err, core.ErrShape) {
			t.Errorf("%s, too few coordinates: %v", c.component.Name, err)
		}
		if err := f.Evaluate(t.Context(), make([]float64, 1), mat.NewDense(2, 4, nil)); !errors.Is(err, core.ErrShape) {
			t.Errorf("%s, too few values: %v", c.component.Name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.Evaluate(ctx, make([]float64, 300), mat.NewDense(300, 4, nil)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled: %v", c.component.Name, err)
		}
	}
}

func TestDescriptions(t *testing.T) {
	for _, c := range cases {
		first, rest, _ := strings.Cut(c.component.Doc, "\n\n")
		if !strings.HasSuffix(first, ".") || strings.Contains(first, "\n") {
			t.Errorf("%s: the first line is no sentence: %q", c.component.Name, first)
		}
		for _, word := range []string{"f(", "Domain", "inimum"} {
			if !strings.Contains(rest, word) {
				t.Errorf("%s: the text lacks %q", c.component.Name, word)
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	for _, c := range cases {
		f := build(t, c.component, nil, env(10, 1))
		dst, x := make([]float64, 20), mat.NewDense(20, 10, nil)
		if allocs := testing.AllocsPerRun(10, func() { _ = f.Evaluate(context.Background(), dst, x) }); allocs != 0 {
			t.Errorf("%s: %g allocations a call", c.component.Name, allocs)
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	const rows, d = 50, 100
	w, err := mix.New(mix.Defaults(), d, nil, core.NewStream(1))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range cases {
		f := build(b, c.component, nil, env(d, 1))
		x := mat.NewDense(rows, d, nil)
		rng := core.NewStream(2).Rand()
		for i := range rows {
			x.SetRow(i, uniform(rng, f.Facts().Lower, f.Facts().Upper))
		}
		for _, view := range []struct {
			name string
			core.Objective
		}{{"plain", f}, {"mixed", core.NewLinear(f, w)}} {
			b.Run(c.component.Name+"/"+view.name, func(b *testing.B) {
				dst := make([]float64, rows)
				evaluate := func() {
					if err := view.Evaluate(context.Background(), dst, x); err != nil {
						b.Fatal(err)
					}
				}
				evaluate() // makes the buffers
				b.ReportAllocs()
				for b.Loop() {
					evaluate()
				}
			})
		}
	}
}
