package main

import (
	"bufio"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/unbraid/unbraid/runner/internal/experiment"
	"gonum.org/v1/gonum/mat"
)

func TestParseSeeds(t *testing.T) {
	for text, want := range map[string][]uint64{
		"0:3":                  {0, 1, 2},
		"5:6":                  {5},
		"7":                    {7},
		"3,5,8":                {3, 5, 8},
		" 3 , 1 ":              {3, 1},
		"0":                    {0},
		"18446744073709551615": {math.MaxUint64},
		"18446744073709551613:18446744073709551615": {math.MaxUint64 - 2, math.MaxUint64 - 1},
	} {
		if got, err := parseSeeds(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"3:3", "5:2", "0:", ":5", "0:99999999999", "-1", "-1:3", "1.5", "a", "a:b", "1,,2", "1,", ",", "4,2,4", "0:2:4", "18446744073709551616"} {
		if got, err := parseSeeds(text); err == nil || !strings.Contains(err.Error(), "--seeds "+text+" is not possible") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestSelection(t *testing.T) {
	e := &experiment.Experiment{}
	for _, name := range []string{"Ackley", "Rastrigin", "Rastrigin, wide"} {
		e.Problems = append(e.Problems, experiment.Problem{Name: name})
	}
	for _, name := range []string{"CBO on g", "CBO on f = g(Wx)"} {
		e.Methods = append(e.Methods, experiment.Method{Name: name})
	}
	all, both := []string{"Ackley", "Rastrigin", "Rastrigin, wide"}, []string{"CBO on g", "CBO on f = g(Wx)"}
	for _, test := range []struct {
		only              []string
		problems, methods []string
	}{
		{nil, all, both},
		{[]string{"problem=Ackley"}, []string{"Ackley"}, both},
		{[]string{"problem=Rastrigin,Ackley"}, []string{"Rastrigin", "Ackley"}, both},
		{[]string{"problem=Rastrigin, wide"}, []string{"Rastrigin, wide"}, both},
		{[]string{"problem=Rastrigin, wide,Rastrigin"}, []string{"Rastrigin, wide", "Rastrigin"}, both},
		{[]string{"problem=Ackley,"}, []string{"Ackley"}, both},
		{[]string{"method=CBO on f = g(Wx)"}, all, []string{"CBO on f = g(Wx)"}},
		{[]string{"method=CBO on g", "problem=Ackley"}, []string{"Ackley"}, []string{"CBO on g"}},
		{[]string{"problem=Ackley", "problem=Rastrigin"}, []string{"Ackley", "Rastrigin"}, both},
	} {
		o := &runOptions{only: test.only}
		problems, methods, err := o.selection(e)
		if err != nil || !slices.Equal(problems, test.problems) || !slices.Equal(methods, test.methods) {
			t.Errorf("%q: %q, %q, %v", test.only, problems, methods, err)
		}
	}
	for only, want := range map[string]string{
		"Ackley":           "want problem=A,B or method=C",
		"solver=cbo":       "want problem=A,B or method=C",
		"problem":          "want problem=A,B or method=C",
		"problem=":         "want problem=A,B or method=C",
		"problem=Akley":    `there is no problem "Akley"; did you mean "Ackley"?`,
		"problem=Ackley,x": `there is no problem "x"`,
		"method=Ackley":    `there is no method "Ackley"`,
	} {
		o := &runOptions{only: []string{only}}
		if _, _, err := o.selection(e); err == nil || !strings.Contains(err.Error(), "--only "+only) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", only, err)
		}
	}
}

// readPoints reads all points.
func readPoints(r io.Reader, name string, dim int) (all *mat.Dense, err error) {
	p := &pointReader{in: bufio.NewReader(r), name: name, dim: dim}
	for {
		x, err := p.next()
		if err != nil || x == nil {
			return all, err
		}
		if all == nil {
			all = x
			continue
		}
		var both mat.Dense
		both.Stack(all, x)
		all = &both
	}
}

func TestReadPoints(t *testing.T) {
	for text, want := range map[string]*mat.Dense{
		"1,2\n3,4\n":                         mat.NewDense(2, 2, []float64{1, 2, 3, 4}),
		"# points\n\n 1 , -2.5e-1\r\n\t3,4":  mat.NewDense(2, 2, []float64{1, -0.25, 3, 4}),
		"\ufeff1,2\n":                        mat.NewDense(1, 2, []float64{1, 2}),
		"inf,-Inf":                           mat.NewDense(1, 2, []float64{math.Inf(1), math.Inf(-1)}),
		"0.1,1e308":                          mat.NewDense(1, 2, []float64{0.1, 1e308}),
		strings.Repeat("1,", 99_999) + "1\n": mat.NewDense(1, 100_000, slices.Repeat([]float64{1}, 100_000)),
	} {
		if got, err := readPoints(strings.NewReader(text), "points.csv", 0); err != nil || got == nil || !mat.Equal(got, want) {
			t.Errorf("%.40q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "\n# nothing\n\n"} {
		if got, err := readPoints(strings.NewReader(text), "points.csv", 3); got != nil || err != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, test := range []struct {
		in   io.Reader
		dim  int
		want string
	}{
		{strings.NewReader("1,2"), 3, "points.csv:1: 2 coordinates instead of 3"},
		{strings.NewReader("# two\n1,2\n\n3\n"), 0, "points.csv:4: 1 coordinates instead of 2"},
		{strings.NewReader("1,2\n1,two"), 0, `points.csv:2: "two" is not a number`},
		{strings.NewReader("1,2,"), 0, `points.csv:1: "" is not a number`},
		{strings.NewReader("1;2"), 0, `points.csv:1: "1;2" is not a number`},
		{strings.NewReader("1e999"), 0, `points.csv:1: "1e999" is not a number`},
		{iotest.ErrReader(io.ErrUnexpectedEOF), 0, "points.csv: unexpected EOF"},
	} {
		if _, err := readPoints(test.in, "points.csv", test.dim); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}
