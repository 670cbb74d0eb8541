package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
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
	x, err := readPoints(in, name, o.dim)
	if err != nil || x == nil {
		return err
	}
	_, dim := x.Dims()
	problem, err := experiment.Single(objective, dim, o.set, c.Lookup)
	if err != nil {
		return err
	}
	l, err := launch.New(c, o.isolation, launch.PluginLog(log))
	if err != nil {
		return err
	}
	defer l.Close()
	values, err := trial.Evaluate(ctx, l, problem, o.seed, x)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	for _, v := range values {
		fmt.Fprintf(out, "%.17g\n", v)
	}
	return out.Flush()
}

// readPoints reads comma-separated rows; blank lines and lines that start with
// # do not count. It returns nil if there are none.
func readPoints(r io.Reader, name string, dim int) (*mat.Dense, error) {
	var data []float64
	rows := 0
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, 64<<20)
	for line := 1; scanner.Scan(); line++ {
		text := strings.TrimSpace(scanner.Text())
		if line == 1 {
			text = strings.TrimPrefix(text, "\ufeff") // spreadsheets put a byte order mark there
		}
		if text == "" || text[0] == '#' {
			continue
		}
		fields := strings.Split(text, ",")
		if dim == 0 {
			dim = len(fields)
		}
		if len(fields) != dim {
			return nil, fmt.Errorf("%s:%d: %d coordinates instead of %d", name, line, len(fields), dim)
		}
		for _, field := range fields {
			v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %q is not a number", name, line, strings.TrimSpace(field))
			}
			data = append(data, v)
		}
		rows++
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if rows == 0 {
		return nil, nil
	}
	return mat.NewDense(rows, dim, data), nil
}
