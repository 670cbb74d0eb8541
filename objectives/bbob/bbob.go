// Package bbob holds the 24 noiseless functions of COCO's bbob suite as one
// objective.
//
// Each function is a pipeline of steps x -> z and a value of x and z. To find
// one, look at the table below and then at the file of its group:
// separable.go (f1 to f5), moderate.go (f6 to f9), ill_conditioned.go (f10 to
// f14), multimodal.go (f15 to f19) and weak_structure.go (f20 to f24). What
// they are made of is in transforms.go, what is random about them in random.go.
//
// Indices start at 0 and e_i = i/(d-1), which is why d = 1 is not possible.
// Reference: Hansen, Finck, Ros, Auger, Real-parameter black-box optimization
// benchmarking 2009: noiseless functions definitions, INRIA RR-6829. Where the
// report and COCO's program differ, the values are those of the program.
package bbob

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/core/kernel"
	"gonum.org/v1/gonum/mat"
)

// function is one of the 24 for one dimension and instance.
type function struct {
	// optimum is the minimiser.
	optimum []float64
	// steps lead from x to z.
	steps []step
	// value is f(x) - fopt, given x and the z that the steps made of it.
	value func(x, z []float64) float64
}

// catalogue lists the functions; f1 is at index 0. Two of them take their
// random numbers from another one's seed.
var catalogue = [24]struct {
	name  string
	seed  int64
	build func(v variant) function
}{
	{"sphere", 1, sphere},
	{"separable ellipsoid", 2, separableEllipsoid},
	{"separable Rastrigin", 3, separableRastrigin},
	{"Büche-Rastrigin", 3, bueche},
	{"linear slope", 5, linearSlope},

	{"attractive sector", 6, attractiveSector},
	{"step ellipsoid", 7, stepEllipsoid},
	{"Rosenbrock", 8, originalRosenbrock},
	{"rotated Rosenbrock", 9, rotatedRosenbrock},

	{"rotated ellipsoid", 10, rotatedEllipsoid},
	{"discus", 11, discus},
	{"bent cigar", 12, bentCigar},
	{"sharp ridge", 13, sharpRidge},
	{"different powers", 14, differentPowers},

	{"rotated Rastrigin", 15, rotatedRastrigin},
	{"Weierstrass", 16, weierstrass},
	{"Schaffer F7", 17, schaffer},
	{"ill-conditioned Schaffer F7", 17, illConditionedSchaffer},
	{"Griewank-Rosenbrock", 19, griewankRosenbrock},

	{"Schwefel", 20, schwefel},
	{"Gallagher, 101 peaks", 21, gallagher101},
	{"Gallagher, 21 peaks", 22, gallagher21},
	{"Katsuura", 23, katsuura},
	{"Lunacek bi-Rastrigin", 24, lunacek},
}

// The largest instance keeps all seeds below 2^31 - 1, the modulus of the
// suite's generator.
type params struct {
	Function int `param:"function" doc:"which of the 24 functions" min:"1" max:"24"`
	Instance int `param:"instance" doc:"which shift, rotation and offset of the function" min:"1" max:"214000"`
}

// Component is the bbob suite.
func Component() core.Component {
	return core.NewObjective("bbob", doc(), params{Function: 1, Instance: 1},
		func(p params, env *core.Env) (core.Objective, error) {
			if env.Dim < 2 {
				return nil, core.BadParam("", "dimension %d: the bbob functions need at least 2", env.Dim)
			}
			return newObjective(p, env.Dim), nil
		})
}

func doc() string {
	var b strings.Builder
	b.WriteString(`The 24 noiseless benchmark functions of COCO's bbob suite.

function picks one of those below. instance picks its minimiser, its rotations
and its minimum as COCO does, whatever the seed of the trial; customary are
1 to 15. The minimum is a number with two decimals, at most 1000 in size. Domain
[-5, 5]^d with d at least 2; the values are defined outside of it as well.
Hansen, Finck, Ros, Auger, Real-parameter black-box optimization benchmarking
2009: noiseless functions definitions, INRIA RR-6829.
`)
	for i, f := range catalogue {
		fmt.Fprintf(&b, "\n%2d  %s", i+1, f.name)
	}
	return b.String()
}

// objective evaluates one function. It keeps buffers and so is not safe for
// concurrent use.
type objective struct {
	function
	fopt        float64
	dim         int
	front, back core.Buffer
	facts       core.Facts
}

var _ core.Known = (*objective)(nil)

func newObjective(p params, dim int) *objective {
	entry := catalogue[p.Function-1]
	v := variant{dim: dim, seed: entry.seed + 10000*int64(p.Instance)}
	o := &objective{function: entry.build(v), fopt: optimalValue(v.seed), dim: dim}
	o.facts = core.Facts{
		Lower: constant(dim, -5), Upper: constant(dim, 5),
		Minimum: &o.fopt, Minimiser: o.optimum,
	}
	return o
}

// Facts implements core.Known. The slices belong to the objective.
func (o *objective) Facts() core.Facts { return o.facts }

// chunk is how many points go through the steps together: enough to make the
// matrix products fast, few enough to stay in the cache. It is also the size of
// gonum's blocks: up to there a row of a product is summed in the same order
// however many rows there are.
const chunk = 64

// Evaluate implements core.Objective. A point with an infinite coordinate has
// the value +Inf, any other with a NaN has the value NaN.
func (o *objective) Evaluate(ctx context.Context, dst []float64, x *mat.Dense) error {
	rows, cols := x.Dims()
	if rows != len(dst) || rows > 0 && cols != o.dim {
		return fmt.Errorf("%w: %d points in %d dimensions and room for %d values, the function has %d dimensions", core.ErrShape, rows, cols, len(dst), o.dim)
	}
	for first := 0; first < rows; first += chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		last := min(first+chunk, rows)
		z := o.transform(x, first, last)
		for i := first; i < last; i++ {
			point := x.RawRowView(i)
			if f, ok := valueOfNonFinite(point); ok {
				dst[i] = f
				continue
			}
			dst[i] = o.value(point, z.RawRowView(i-first)) + o.fopt
		}
	}
	return nil
}

// transform applies the steps to rows first to last-1 of x. The result is
// valid until the next call.
func (o *objective) transform(x *mat.Dense, first, last int) *mat.Dense {
	rows := last - first
	z, next := o.front.Dense(rows, o.dim), o.back.Dense(rows, o.dim)
	for i := range rows {
		copy(z.RawRowView(i), x.RawRowView(first+i))
	}
	for _, s := range o.steps {
		if s.matrix != nil {
			kernel.MulT(next, z, s.matrix)
			z, next = next, z
			continue
		}
		for i := range rows {
			s.point(z.RawRowView(i))
		}
	}
	return z
}

// valueOfNonFinite reports whether a coordinate is not finite and which value
// such a point has.
func valueOfNonFinite(x []float64) (f float64, ok bool) {
	for _, t := range x {
		if math.IsInf(t, 0) {
			return math.Inf(1), true
		}
		if math.IsNaN(t) {
			f, ok = t, true
		}
	}
	return f, ok
}
