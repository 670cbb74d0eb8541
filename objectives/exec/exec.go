// Package program makes an objective of any program that reads points and
// writes values, one a line. The component is called "exec".
//
// The program is started with the first batch, not when the objective is made:
// an objective that is only asked for its facts, or that belongs to a trial
// which never starts, then leaves nothing behind that must be stopped. That
// there is such a program is checked at once.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"time"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

type params struct {
	Command []string  `param:"command" doc:"the program and its arguments, such as [\"python3\", \"sim.py\"]; required"`
	Format  string    `param:"format" doc:"how a point is written: csv is 1.5,2,3 and json is [1.5,2,3]" oneof:"csv,json"`
	Lower   []float64 `param:"lower" doc:"lower end of the domain: one number for all coordinates or one for each; empty if unknown"`
	Upper   []float64 `param:"upper" doc:"upper end of the domain, like lower"`
	Minimum []float64 `param:"minimum" doc:"the smallest value, as a list of one number; empty if unknown"`
}

// Component is the objective that asks a program.
func Component() core.Component {
	return core.NewObjective("exec", `Any program that reads points and writes values, one a line.

The program is started once, with the first batch. It gets each point as one
line on its standard input and answers with one number on a line of its
standard output (inf and nan are numbers); it must flush after each line. Its
input ends when no more points will come. It runs in the folder in which unbraid
was started, so paths in its command start from there. The environment variable UNBRAID_DIM
holds the number of coordinates. What it writes to its standard error is shown
if it fails. In Python:

    import sys
    for line in sys.stdin:
        x = [float(t) for t in line.split(",")]
        print(sum(t * t for t in x), flush=True)

Coordinates that are not finite are written as NaN, +Inf and -Inf in csv and as
NaN, Infinity and -Infinity in json. A run can be repeated only if the values
depend on nothing but the points.`,
		params{Format: "csv"},
		func(p params, env *core.Env) (core.Objective, error) {
			return newObjective(p, env.Dim)
		})
}

// patience is how long a program may take to end after its input has ended,
// and how long its descendants may hold on to its output after it has ended.
const patience = 2 * time.Second

// objective asks a program. It is not safe for concurrent use.
type objective struct {
	command  []string
	encode   encoder
	dim      int
	facts    core.Facts
	patience time.Duration

	process *process // nil before the first batch
	failed  error    // why there can be no further batch
}

var (
	_ core.Known = (*objective)(nil)
	_ io.Closer  = (*objective)(nil)
)

func newObjective(p params, dim int) (*objective, error) {
	if len(p.Command) == 0 {
		return nil, core.BadParam("command", `missing: give the program and its arguments, for example command = ["python3", "sim.py"]`)
	}
	if _, err := exec.LookPath(p.Command[0]); err != nil {
		return nil, core.BadParam("command", "%v", err)
	}
	facts, err := knownFacts(p, dim)
	if err != nil {
		return nil, err
	}
	encode := appendCSV
	if p.Format == "json" {
		encode = appendJSON
	}
	return &objective{command: p.Command, encode: encode, dim: dim, facts: facts, patience: patience}, nil
}

func knownFacts(p params, dim int) (core.Facts, error) {
	var facts core.Facts
	if len(p.Lower) > 0 || len(p.Upper) > 0 {
		var err error
		if facts.Lower, err = spread("lower", p.Lower, dim); err != nil {
			return facts, err
		}
		if facts.Upper, err = spread("upper", p.Upper, dim); err != nil {
			return facts, err
		}
		for i, upper := range facts.Upper {
			if lower := facts.Lower[i]; !(lower < upper) {
				return facts, core.BadParam("lower", "%v is not below upper, %v, in coordinate %d", lower, upper, i+1)
			}
		}
	}
	switch len(p.Minimum) {
	case 0:
	case 1:
		facts.Minimum = &p.Minimum[0]
		if !finite(*facts.Minimum) {
			return facts, core.BadParam("minimum", "%v is not a finite number", *facts.Minimum)
		}
	default:
		return facts, core.BadParam("minimum", "want at most one number, got %d", len(p.Minimum))
	}
	return facts, nil
}

// spread returns one bound for each coordinate.
func spread(key string, bounds []float64, dim int) ([]float64, error) {
	if len(bounds) != 1 && len(bounds) != dim {
		return nil, core.BadParam(key, "want one number, or one for each of the %d coordinates, got %d; a domain needs both lower and upper", dim, len(bounds))
	}
	all := make([]float64, dim)
	for i := range all {
		all[i] = bounds[i%len(bounds)]
		if !finite(all[i]) {
			return nil, core.BadParam(key, "%v is not a finite number", all[i])
		}
	}
	return all, nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Facts implements core.Known. The slices belong to the objective.
func (o *objective) Facts() core.Facts { return o.facts }

// Evaluate implements core.Objective. All points are on their way before the
// first answer is awaited, so a program may work on several at once. When ctx
// is cancelled, the program is killed. After that, as after any error, the
// objective cannot be used again.
func (o *objective) Evaluate(ctx context.Context, dst []float64, x *mat.Dense) error {
	rows, cols := x.Dims()
	if rows != len(dst) || rows > 0 && cols != o.dim {
		return fmt.Errorf("%w: %d points in %d dimensions and room for %d values, the program takes %d dimensions", core.ErrShape, rows, cols, len(dst), o.dim)
	}
	if o.failed != nil {
		return o.failed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if rows == 0 {
		return nil
	}
	if o.process == nil {
		if o.process, o.failed = start(o.command, o.encode, o.dim, o.patience); o.failed != nil {
			return o.failed
		}
	}
	err := o.process.evaluate(ctx, dst, x)
	if err != nil && err == ctx.Err() {
		o.failed = fmt.Errorf("%s was stopped when a batch was cancelled", o.process.name)
		return err
	}
	o.failed = err
	return err
}

// Close ends the program: its input ends, and if it does not end by itself
// soon after, it is killed. Close must not be called during Evaluate.
func (o *objective) Close() error {
	if o.process != nil {
		o.process.close()
	}
	o.failed = errClosed
	return nil
}

var errClosed = errors.New("the program's objective has been closed")
