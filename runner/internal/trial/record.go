package trial

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/unbraid/unbraid/core"
)

// Record is the result of a trial: one line of trials.jsonl.
type Record struct {
	Experiment      string   `json:"experiment"`
	Problem         string   `json:"problem"`
	Method          string   `json:"method"`
	Seed            uint64   `json:"seed"`
	Dim             int      `json:"dim"`
	Budget          int      `json:"budget"`
	Queries         int      `json:"queries"` // all, estimation included
	QueriesToTarget *int     `json:"queries_to_target"`
	Best            *float64 `json:"best"`    // null if no value was finite
	Gap             *float64 `json:"gap"`     // null if the minimum is not known
	Success         *bool    `json:"success"` // null if it cannot be judged
	// X is the best point, in the coordinates the method was given.
	X []float64 `json:"x"`
	// Recovered is the share of rows of W that the estimate has within 1e-4,
	// null without an estimator.
	Recovered *float64 `json:"recovered"`
	// WorstRow is the largest distance of a row of W from its estimate.
	WorstRow *float64 `json:"worst_row,omitempty"`
	Stages   []Stage  `json:"stages"`
	Seconds  float64  `json:"seconds"`
	// Status is "done", "budget", "target" or the solver's own reason for a
	// trial that went well; see Failed for the others.
	Status string `json:"status"`
	Error  string `json:"error,omitempty"`
	// Invalid counts values that were NaN or -Inf.
	Invalid     int               `json:"invalid"`
	Certificate *core.Certificate `json:"certificate,omitempty"`
	// Fallback is set where the estimate was not used because its verdict was
	// bad: "identity" or "stop".
	Fallback string `json:"fallback,omitempty"`
	// Trace has the improvements as [query, value], thinned out.
	Trace [][2]float64 `json:"trace,omitempty"`
}

// Stage is a part of a trial.
type Stage struct {
	Name    string  `json:"name"` // "estimate" or "solve"
	Queries int     `json:"queries"`
	Seconds float64 `json:"seconds"`
}

// The statuses of trials that could not be run to an end.
const (
	StatusError       = "error"
	StatusCrash       = "crash"
	StatusPanic       = "panic"
	StatusTimeout     = "timeout"
	StatusShape       = "wrong shape"
	StatusNaN         = "nan"
	StatusInterrupted = "interrupted"
)

// Failed reports whether the trial could not be run to an end.
func (r *Record) Failed() bool { return r.Error != "" }

// Key identifies a trial within an experiment.
type Key struct {
	Problem, Method string
	Seed            uint64
}

// Key returns the trial's key.
func (r *Record) Key() Key { return Key{r.Problem, r.Method, r.Seed} }

// writable returns the record or, where it holds numbers that JSON does not
// have, such as the coordinates of a point that is not finite, one that says so:
// it must not keep the other trials from being written.
func (r *Record) writable() *Record {
	_, err := json.Marshal(r)
	if err == nil {
		return r
	}
	return &Record{
		Experiment: r.Experiment, Problem: r.Problem, Method: r.Method, Seed: r.Seed, Dim: r.Dim, Budget: r.Budget,
		Queries: r.Queries, Stages: r.Stages, Seconds: r.Seconds, Invalid: r.Invalid,
		Status: StatusNaN, Error: strings.TrimSpace(fmt.Sprintf("the result is not finite: %v\n%s", err, r.Error)),
	}
}

// thin keeps of the improvements the first, the last, and one each time the
// gap to the reference falls by a hundredth of a decade or the number of
// queries has grown by a twentieth of one: what a plot can show.
func thin(trace []core.Improvement, reference float64) [][2]float64 {
	var out [][2]float64
	lastGap, lastQuery := math.Inf(1), 0.0
	for i, p := range trace {
		gap := math.Log10(math.Max(p.Value-reference, 1e-300))
		query := math.Log10(float64(p.Query))
		if i > 0 && i < len(trace)-1 && gap > lastGap-0.01 && query < lastQuery+0.05 {
			continue
		}
		lastGap, lastQuery = gap, query
		out = append(out, [2]float64{float64(p.Query), p.Value})
	}
	return out
}
