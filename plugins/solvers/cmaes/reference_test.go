package cmaes

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
)

// The limits of the comparison with pycma: medians of evaluations of single
// runs, expected running times with restarts, which scatter far more.
const (
	medianLimit = 1.15
	timeLimit   = 2.0
)

// problem is a function with its start: x0 uniform in [-radius, radius]^n.
type problem struct {
	f              function
	radius, sigma0 float64
}

var problems = map[string]problem{
	"sphere":     {sphere, 4, 2},
	"ellipsoid":  {ellipsoid, 4, 2},
	"cigar":      {cigar, 4, 2},
	"discus":     {discus, 4, 2},
	"rosenbrock": {rosenbrock, 4, 2},
	"diffpowers": {differentPowers, 4, 2},
	"ackley":     {ackley, 4, 2},
	"ackley32":   {ackley, 32, 12.8},
	"rastrigin":  {rastrigin, 5, 2},
	"griewank":   {griewank, 5, 2},
	"schaffer7":  {schaffer7, 100, 40},
}

// runs are the runs of one algorithm on one function and dimension.
type runs struct {
	function  string
	dim       int
	successes []int // evaluations of the runs that reached the target
	total     int   // runs
	spent     int   // evaluations of all runs
}

func (r *runs) add(success bool, evaluations int) {
	r.total++
	r.spent += evaluations
	if success {
		r.successes = append(r.successes, evaluations)
	}
}

func (r *runs) rate() float64 { return float64(len(r.successes)) / float64(r.total) }

// expectedTime is the evaluations of all runs for each success.
func (r *runs) expectedTime() float64 { return float64(r.spent) / float64(len(r.successes)) }

// median is that of the successful runs.
func (r *runs) median() float64 {
	s := slices.Sorted(slices.Values(r.successes))
	return float64(s[(len(s)-1)/2]+s[len(s)/2]) / 2
}

// readReference returns pycma's runs of one algorithm in the order of the file.
func readReference(t *testing.T, algorithm string) []*runs {
	t.Helper()
	file, err := os.Open("testdata/cmaes_reference.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.Comment = '#'
	rows, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var all []*runs
	for _, row := range rows[1:] {
		if row[3] != algorithm {
			continue
		}
		dim, errDim := strconv.Atoi(row[1])
		evaluations, errEvaluations := strconv.Atoi(row[5])
		if errDim != nil || errEvaluations != nil {
			t.Fatalf("bad row %q", row)
		}
		if len(all) == 0 || all[len(all)-1].function != row[0] || all[len(all)-1].dim != dim {
			all = append(all, &runs{function: row[0], dim: dim})
		}
		all[len(all)-1].add(row[4] == "1", evaluations)
	}
	return all
}

// repeat makes the runs of a component that belong to reference, one a seed.
func repeat(t *testing.T, c core.Component, reference *runs, seeds, budget int) *runs {
	p := problems[reference.function]
	own := &runs{function: reference.function, dim: reference.dim}
	for seed := range uint64(seeds) {
		meter := solve(t, c, map[string]any{"sigma0": p.sigma0}, p.f, own.dim, p.radius, budget, seed).meter
		if q := meter.QueriesToTarget(); q > 0 {
			own.add(true, q)
		} else {
			own.add(false, meter.Queries())
		}
	}
	return own
}

// compareSingle compares single runs up to a dimension with pycma's.
func compareSingle(t *testing.T, maxDim, seeds int) {
	var table strings.Builder
	fmt.Fprintf(&table, "%-11s %3s  %9s %9s  %8s %8s  %5s\n", "function", "dim", "ours", "pycma", "success", "pycma", "ratio")
	for _, reference := range readReference(t, "cma") {
		if reference.dim > maxDim {
			continue
		}
		own := repeat(t, Component(), reference, seeds, 1_000_000)
		if len(own.successes) == 0 {
			t.Errorf("%s in %d dimensions: no success", own.function, own.dim)
			continue
		}
		ratio := own.median() / reference.median()
		fmt.Fprintf(&table, "%-11s %3d  %9.0f %9.0f  %8.2f %8.2f  %5.2f\n", own.function, own.dim,
			own.median(), reference.median(), own.rate(), reference.rate(), ratio)
		if ratio > medianLimit {
			t.Errorf("%s in %d dimensions: median %.0f, more than %g times pycma's %.0f", own.function, own.dim, own.median(), medianLimit, reference.median())
		}
		// Rosenbrock and Ackley have local minima: three failures more of 15
		// than pycma's are still likely by chance.
		if own.rate() < reference.rate()-0.2 {
			t.Errorf("%s in %d dimensions: success rate %.2f, pycma's is %.2f", own.function, own.dim, own.rate(), reference.rate())
		}
	}
	t.Log("median evaluations to 1e-8\n" + table.String())
}

// compareRestarts compares bipop-cmaes with those of pycma's runs to include.
func compareRestarts(t *testing.T, seeds int, include func(*runs) bool) {
	var table strings.Builder
	fmt.Fprintf(&table, "%-11s %3s  %9s %9s  %8s %8s  %5s\n", "function", "dim", "ours", "pycma", "success", "pycma", "ratio")
	for _, reference := range readReference(t, "bipop") {
		if !include(reference) {
			continue
		}
		own := repeat(t, BIPOP(), reference, seeds, 200_000*reference.dim)
		ratio := own.expectedTime() / reference.expectedTime()
		fmt.Fprintf(&table, "%-11s %3d  %9.0f %9.0f  %8.2f %8.2f  %5.2f\n", own.function, own.dim,
			own.expectedTime(), reference.expectedTime(), own.rate(), reference.rate(), ratio)
		// Griewank's function in 5 dimensions has a long tail: over 990 seeds
		// the mean was three times the median and 5 runs failed. So one block
		// of 45 seeds is too small a sample there, and 15 of pycma's too.
		if own.rate() < reference.rate()-0.02 {
			t.Errorf("%s in %d dimensions: success rate %.2f, pycma's is %.2f", own.function, own.dim, own.rate(), reference.rate())
		}
		if !(ratio <= timeLimit) {
			t.Errorf("%s in %d dimensions: expected running time %.0f, more than %g times pycma's %.0f", own.function, own.dim, own.expectedTime(), timeLimit, reference.expectedTime())
		}
	}
	t.Log("expected evaluations to 1e-8 with restarts\n" + table.String())
}

func TestReferenceSmall(t *testing.T) {
	compareSingle(t, 10, 15)
	compareRestarts(t, 45, func(r *runs) bool {
		return r.function == "rastrigin" && r.dim == 2 || r.function == "griewank" && r.dim == 10
	})
}

func TestReferenceComplete(t *testing.T) {
	if os.Getenv("UNBRAID_SLOW") == "" {
		t.Skip("takes minutes: set UNBRAID_SLOW=1 to compare every function and dimension")
	}
	compareSingle(t, 40, 15)
	compareRestarts(t, 135, func(*runs) bool { return true })
}
