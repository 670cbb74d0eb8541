package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/runner/internal/experiment"
	"github.com/unbraid/unbraid/runner/internal/launch"
	"github.com/unbraid/unbraid/runner/internal/trial"
	"golang.org/x/term"
	"gonum.org/v1/gonum/mat"
)

type evalOptions struct {
	dim       int
	seed      uint64
	set       []string
	points    string
	isolation string
	plugins   []string
}

func newEvalCommand() *cobra.Command {
	o := &evalOptions{}
	cmd := &cobra.Command{
		Use:   "eval OBJECTIVE",
		Short: "Evaluate an objective at given points",
		Long: `Evaluate an objective at points, one a line, coordinates separated by commas, and
print the values, one a line, to the last digit. The objective is the very one
that a trial with the same seed and parameters sees.

--set changes a parameter of the objective; --set mix.KEY=VALUE puts a mix in
front of it, as in an experiment file.`,
		Example: `  echo 1,2,3 | unbraid eval rastrigin --set shift=0
  unbraid eval rastrigin --seed 7 --set mix.kind=orthogonal --points points.csv`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.IntVar(&o.dim, "dim", 0, "dimension (default: that of the first point)")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the trial")
	f.StringArrayVar(&o.set, "set", nil, "key=value, may be repeated")
	f.StringVar(&o.points, "points", "-", "file with the points, - for standard input")
	f.StringVar(&o.isolation, "isolation", launch.InProc, "process or inproc")
	addPluginFlag(cmd, &o.plugins)
	return cmd
}

func (o *evalOptions) run(cmd *cobra.Command, objective string) error {
	log, err := newLog(consoleLog(os.Stderr))
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	c, err := newCatalogue(ctx, cmd.ErrOrStderr(), o.plugins)
	if err != nil {
		return err
	}
	if _, err := c.Get(core.KindObjective, objective); err != nil {
		return err
	}
	in, name := io.Reader(os.Stdin), "standard input"
	if o.points != "-" {
		file, err := os.Open(o.points)
		if err != nil {
			return err
		}
		defer file.Close()
		in, name = file, o.points
	} else if term.IsTerminal(int(os.Stdin.Fd())) {
		fmt.Fprintln(cmd.ErrOrStderr(), "type points, one a line, coordinates separated by commas; Ctrl-D ends")
	}
	l, err := launch.New(c, o.isolation, launch.PluginLog(log))
	if err != nil {
		return err
	}
	defer l.Close()
	points := &pointReader{in: bufio.NewReaderSize(in, 1<<20), name: name, dim: o.dim}
	out := bufio.NewWriter(cmd.OutOrStdout())
	var f core.Objective
	for {
		x, err := points.next()
		if err != nil || x == nil {
			return errors.Join(err, out.Flush())
		}
		if f == nil {
			problem, err := experiment.Single(objective, points.dim, o.set, c.Lookup)
			if err != nil {
				return err
			}
			var release launch.Release
			if f, release, err = trial.Objective(ctx, l, problem, o.seed); err != nil {
				return err
			}
			defer release(false)
		}
		rows, _ := x.Dims()
		values := make([]float64, rows)
		if err := f.Evaluate(ctx, values, x); err != nil {
			return err
		}
		for _, v := range values {
			fmt.Fprintf(out, "%.17g\n", v)
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

// pointReader reads comma-separated rows; blank lines and lines that start with
// # do not count.
type pointReader struct {
	in   *bufio.Reader
	name string
	dim  int // 0 until the first point tells
	line int
}

// batchRows is the number of points that are evaluated at once at the most.
const batchRows = 1000

// next returns the points that can be had without waiting for more input, at
// least one; nil at the end.
func (p *pointReader) next() (*mat.Dense, error) {
	var data []float64
	rows := 0
	for rows < batchRows && (rows == 0 || p.in.Buffered() > 0) {
		text, err := p.in.ReadString('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		if err == io.EOF && text == "" {
			break
		}
		p.line++
		if p.line == 1 {
			text = strings.TrimPrefix(text, "\ufeff") // spreadsheets put a byte order mark there
		}
		if text = strings.TrimSpace(text); text == "" || text[0] == '#' {
			continue
		}
		if data, err = p.parse(data, text); err != nil {
			return nil, err
		}
		rows++
	}
	if rows == 0 {
		return nil, nil
	}
	return mat.NewDense(rows, p.dim, data), nil
}

// parse appends the coordinates of a point.
func (p *pointReader) parse(data []float64, text string) ([]float64, error) {
	fields := strings.Split(text, ",")
	if p.dim == 0 {
		p.dim = len(fields)
	}
	if len(fields) != p.dim {
		return nil, fmt.Errorf("%s:%d: %d coordinates instead of %d", p.name, p.line, len(fields), p.dim)
	}
	for _, field := range fields {
		v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %q is not a number", p.name, p.line, strings.TrimSpace(field))
		}
		data = append(data, v)
	}
	return data, nil
}
