package results

import (
	"errors"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/runner/internal/experiment"
	"github.com/unbraid/unbraid/runner/internal/trial"
)

var update = flag.Bool("update", false, "write the golden files in testdata anew")

// outcome returns the record of a trial with a gap; toTarget is 0 if it did not
// reach the target.
func outcome(problem, method string, seed uint64, gap float64, toTarget int) *trial.Record {
	r := newRecord(problem, method, seed)
	r.Gap, r.Best, r.Success = new(gap), new(10+gap), new(toTarget > 0)
	if toTarget > 0 {
		r.QueriesToTarget, r.Queries = new(toTarget), toTarget+1
	}
	return r
}

func summary(t *testing.T, e *experiment.Experiment, records ...*trial.Record) *Summary {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "first")
	s := open(t, dir, e)
	appendAll(t, s, records...)
	closeStore(t, s)
	sum, err := Summarise(dir)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestPercent(t *testing.T) {
	for share, want := range map[float64]string{0: "0 %", 0.254: "25 %", 0.997: "99.7 %", 0.9999: "99.9 %", 1: "100 %"} {
		if got := percent(&share, " %"); got != want {
			t.Errorf("%v is %s, want %s", share, got, want)
		}
	}
	if got := percent(nil, " %"); got != "-" {
		t.Error(got)
	}
}

// A gap below 0 says that the stated minimum is wrong, and the table warns.
func TestWrongMinimum(t *testing.T) {
	s := summary(t, newExperiment(), outcome("P", "A", 0, 1, 100), outcome("P", "A", 1, -3, 100))
	if low := s.Cells[0].LowestGap; low == nil || *low != -3 {
		t.Errorf("lowest gap %v", low)
	}
	var out strings.Builder
	if err := s.Write(&out, "text"); err != nil || !strings.Contains(out.String(), "warning: P has values 3 below its stated minimum") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestFigures(t *testing.T) {
	for name, test := range map[string]struct {
		records []*trial.Record
		want    Cell
	}{
		"none": {nil, Cell{}},
		"one": {
			[]*trial.Record{outcome("P", "A", 0, 0.5, 300)},
			Cell{Dim: 5, Trials: 1, Judged: 1, Successes: 1, MedianGap: new(0.5), MedianBest: new(10.5), MedianQueriesToTarget: new(300.0), MedianQueries: new(301.0)},
		},
		"more than half reached the target": {
			[]*trial.Record{outcome("P", "A", 0, 1, 300), outcome("P", "A", 1, 4, 0), outcome("P", "A", 2, 2, 500)},
			Cell{Dim: 5, Trials: 3, Judged: 3, Successes: 2, MedianGap: new(2.0), MedianBest: new(12.0), MedianQueriesToTarget: new(500.0), MedianQueries: new(501.0)},
		},
		"half reached it: the median lies between a number and infinity": {
			[]*trial.Record{outcome("P", "A", 0, 1, 300), outcome("P", "A", 1, 4, 0)},
			Cell{Dim: 5, Trials: 2, Judged: 2, Successes: 1, MedianGap: new(2.5), MedianBest: new(12.5), MedianQueries: new(650.5)},
		},
		"an even number": {
			[]*trial.Record{outcome("P", "A", 0, 1, 100), outcome("P", "A", 1, 2, 200), outcome("P", "A", 2, 5, 400), outcome("P", "A", 3, 9, 0)},
			Cell{Dim: 5, Trials: 4, Judged: 4, Successes: 3, MedianGap: new(3.5), MedianBest: new(13.5), MedianQueriesToTarget: new(300.0), MedianQueries: new(301.0)},
		},
		"nothing to judge by": {
			[]*trial.Record{newRecord("P", "A", 0)},
			Cell{Dim: 5, Trials: 1, MedianBest: new(0.25), MedianQueries: new(1000.0)},
		},
		"no finite value": {
			[]*trial.Record{{Problem: "P", Method: "A", Dim: 5, Queries: 10, Status: "budget", Success: new(false)}},
			Cell{Dim: 5, Trials: 1, Judged: 1, MedianQueries: new(10.0)},
		},
		"a failed trial counts only as such": {
			[]*trial.Record{outcome("P", "A", 0, 1, 100), failedRecord("P", "A", 1)},
			Cell{Dim: 5, Trials: 1, Failed: 1, Judged: 1, Successes: 1, MedianGap: new(1.0), MedianBest: new(11.0), MedianQueriesToTarget: new(100.0), MedianQueries: new(101.0)},
		},
		"the later record of a trial counts": {
			[]*trial.Record{failedRecord("P", "A", 0), outcome("P", "A", 0, 1, 100)},
			Cell{Dim: 5, Trials: 1, Judged: 1, Successes: 1, MedianGap: new(1.0), MedianBest: new(11.0), MedianQueriesToTarget: new(100.0), MedianQueries: new(101.0)},
		},
		"others do not count": {
			[]*trial.Record{outcome("Q", "A", 0, 1, 100), outcome("P", "B", 0, 1, 100)},
			Cell{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.want.Problem, test.want.Method = "P", "A"
			got := summary(t, newExperiment(), test.records...).Cells[0]
			got.LowestGap = nil // has a test of its own
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// estimated adds to a record what an estimator found.
func estimated(r *trial.Record, share, worst float64, verdict core.Verdict) *trial.Record {
	r.Recovered, r.WorstRow, r.Certificate = &share, &worst, &core.Certificate{Verdict: verdict}
	return r
}

func TestFiguresOfEstimates(t *testing.T) {
	s := summary(t, newExperiment(),
		estimated(newRecord("P", "A", 0), 1, 1e-6, core.Separable),
		estimated(newRecord("P", "A", 1), 0.25, 0.5, core.NotSeparable),
		estimated(newRecord("P", "A", 2), 1, 1e-7, core.Separable),
		newRecord("P", "A", 3))
	c := s.Cells[0]
	if c.Recovered == nil || math.Abs(*c.Recovered-0.75) > 1e-15 {
		t.Errorf("recovered %v", c.Recovered)
	}
	if c.WorstRow == nil || *c.WorstRow != 0.5 {
		t.Errorf("worst row %v", c.WorstRow)
	}
	if want := map[string]int{"separable": 2, "not separable": 1}; !reflect.DeepEqual(c.Verdicts, want) {
		t.Errorf("verdicts %v", c.Verdicts)
	}
}

// A trial that failed before its dimension was known does not decide on it.
func TestDimensionOfFailedTrials(t *testing.T) {
	records := []*trial.Record{newRecord("P", "A", 0)}
	records[0].Dim = 2
	for seed := range uint64(20) {
		records = append(records, failedRecord("P", "A", 1+seed))
	}
	if c := summary(t, newExperiment(), records...).Cells[0]; c.Dim != 2 || c.Failed != 20 {
		t.Errorf("%+v", c)
	}
}

func TestMedian(t *testing.T) {
	inf := math.Inf(1)
	for _, test := range []struct {
		values []float64
		want   *float64
	}{
		{nil, nil},
		{[]float64{3}, new(3.0)},
		{[]float64{4, 1}, new(2.5)},
		{[]float64{9, 1, 2}, new(2.0)},
		{[]float64{inf, 1, 2}, new(2.0)},
		{[]float64{inf, 1}, nil},
		{[]float64{inf, 1, inf}, nil},
		{[]float64{inf, 3, 1, 2}, new(2.5)},
	} {
		if got := median(test.values); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v: got %v", test.values, got)
		}
	}
}

func TestThousands(t *testing.T) {
	for want, x := range map[string]float64{"0": 0, "999": 999, "1,000": 999.5, "12,345": 12345, "999,999": 999999, "1,234,567": 1234567} {
		if got := thousands(&x); got != want {
			t.Errorf("%g: %q, want %q", x, got, want)
		}
	}
}

func TestSummariseRefuses(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{dir: "is not a results folder", filepath.Join(dir, "none"): "there is no folder"} {
		if _, err := Summarise(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := (&Summary{}).Write(&strings.Builder{}, "pdf"); err == nil || !strings.Contains(err.Error(), `no format "pdf"; there are text, markdown`) {
		t.Errorf("format pdf: %v", err)
	}
}

// judged is a comparison with all that a table can show, and names that every
// format has to escape.
func judged(t *testing.T) *Summary {
	e := newExperiment()
	e.Problems[1].Name = "Q_2 | {x}^2"
	e.Methods[1].Name = `B, "50 %" & more ~ \`
	q, b := e.Problems[1].Name, e.Methods[1].Name
	return summary(t, e,
		outcome("P", "A", 0, 0.00123, 1234567), outcome("P", "A", 1, 0.004, 2345678), outcome("P", "A", 2, 0.5, 0),
		outcome(q, "A", 0, 113, 0), outcome(q, "A", 1, 97, 0), failedRecord(q, "A", 2),
		estimated(outcome("P", b, 0, 1e-9, 5000), 1, 1.5e-7, core.Separable), estimated(outcome("P", b, 1, 2e-9, 7000), 0.5, 0.25, core.NotSeparable),
		failedRecord(q, b, 0))
}

func TestGolden(t *testing.T) {
	all := judged(t)
	valuesOnly := summary(t, newExperiment(), newRecord("P", "A", 0), newRecord("P", "B", 0), newRecord("Q", "A", 1))
	estimates := summary(t, newExperiment(), estimated(newRecord("P", "A", 0), 1, 1e-6, core.Separable), estimated(newRecord("Q", "A", 0), 0.5, 0.25, core.NotSeparable))
	for _, test := range []struct {
		file, format string
		s            *Summary
	}{
		{"judged.txt", "text", all},
		{"judged.md", "markdown", all},
		{"judged.tex", "latex", all},
		{"judged.csv", "csv", all},
		{"judged.json", "json", all},
		{"values-only.txt", "text", valuesOnly},
		{"estimates.txt", "text", estimates},
		{"nothing.txt", "text", summary(t, newExperiment())},
	} {
		var b strings.Builder
		if err := test.s.Write(&b, test.format); err != nil {
			t.Errorf("%s: %v", test.file, err)
			continue
		}
		path := filepath.Join("testdata", test.file)
		if *update {
			if err := errors.Join(os.MkdirAll("testdata", 0o777), os.WriteFile(path, []byte(b.String()), 0o666)); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := b.String(); got != string(want) {
			t.Errorf("%s (go test -update writes it anew): got\n%s\nwant\n%s", test.file, got, want)
		}
	}
}

// failing is a writer that has no room.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestWriteErrors(t *testing.T) {
	s := judged(t)
	for _, format := range Formats {
		if err := s.Write(failing{}, format); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", format, err)
		}
	}
}
