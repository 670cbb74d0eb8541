package results

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/unbraid/unbraid/runner/internal/trial"
)

// Summary is a folder's results, summed up by problem and method.
type Summary struct {
	Experiment string   `json:"experiment"`
	Problems   []string `json:"problems"`
	Methods    []string `json:"methods"`
	Cells      []Cell   `json:"cells"` // method by method
	Failed     int      `json:"failed"`
	// Success says in words what counts as one.
	Success string `json:"success"`
}

// Cell sums up the trials of a method on a problem.
type Cell struct {
	Problem string `json:"problem"`
	Method  string `json:"method"`
	Dim     int    `json:"dim"`
	Trials  int    `json:"trials"` // that ran to an end
	Failed  int    `json:"failed"` // that could not be run
	// Judged is the number of trials of which success can be said.
	Judged    int `json:"judged"`
	Successes int `json:"successes"`
	// MedianGap and so on are over the trials that have the figure; null if
	// none has. Queries to the target count as infinite where it was not
	// reached, so the median is null unless more than half reached it.
	MedianGap             *float64 `json:"median_gap"`
	LowestGap             *float64 `json:"lowest_gap"` // below 0: the minimum is wrong
	MedianBest            *float64 `json:"median_best"`
	MedianQueriesToTarget *float64 `json:"median_queries_to_target"`
	MedianQueries         *float64 `json:"median_queries"`
	Recovered             *float64 `json:"recovered"` // mean share of rows of W
	WorstRow              *float64 `json:"worst_row"` // the worst of all trials
	// Verdicts counts what the estimators' certificates say.
	Verdicts map[string]int `json:"verdicts,omitempty"`
}

// verdict sums up the certificates.
func (c *Cell) verdict() string {
	if len(c.Verdicts) == 0 {
		return "-"
	}
	var parts []string
	for _, v := range slices.Sorted(maps.Keys(c.Verdicts)) {
		text := v
		if len(c.Verdicts) > 1 {
			text = fmt.Sprintf("%s %d", v, c.Verdicts[v])
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// Summarise reads a folder.
func Summarise(dir string) (*Summary, error) {
	s, err := readSettings(dir)
	if err != nil {
		return nil, err
	}
	records, _, err := read(dir)
	if err != nil {
		return nil, err
	}
	if s == nil {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no folder %s; unbraid run makes one", dir)
		}
		return nil, fmt.Errorf("%s is not a results folder: it has no %s", dir, settingsFile)
	}
	// The last record of a trial counts: one that failed may have been run again.
	last := map[trial.Key]*trial.Record{}
	for _, r := range records {
		last[r.Key()] = r
	}
	sum := &Summary{Experiment: s.Name, Success: successWords(s.Experiment)}
	for _, p := range s.Problems {
		sum.Problems = append(sum.Problems, p.Name)
	}
	for _, m := range s.Methods {
		sum.Methods = append(sum.Methods, m.Name)
		for _, p := range s.Problems {
			cell := summarise(p.Name, m.Name, last)
			sum.Failed += cell.Failed
			sum.Cells = append(sum.Cells, cell)
		}
	}
	return sum, nil
}

func successWords(values map[string]string) string {
	if v := values["success.value"]; v != "none" {
		return "best value at most " + v
	}
	return "best value within " + values["success.gap"] + " of the minimum"
}

func summarise(problem, method string, last map[trial.Key]*trial.Record) Cell {
	c := Cell{Problem: problem, Method: method}
	var gaps, bests, toTarget, queries, shares []float64
	for key, r := range last {
		if key.Problem != problem || key.Method != method {
			continue
		}
		if c.Dim == 0 || !r.Failed() { // one that failed early may not know it
			c.Dim = r.Dim
		}
		if r.Failed() {
			c.Failed++
			continue
		}
		c.Trials++
		queries = append(queries, float64(r.Queries))
		if r.Gap != nil {
			if c.LowestGap == nil || *r.Gap < *c.LowestGap {
				c.LowestGap = r.Gap
			}
			gaps = append(gaps, *r.Gap)
		}
		if r.Best != nil {
			bests = append(bests, *r.Best)
		}
		if r.Certificate != nil {
			if c.Verdicts == nil {
				c.Verdicts = map[string]int{}
			}
			c.Verdicts[string(r.Certificate.Verdict)]++
		}
		if r.WorstRow != nil && (c.WorstRow == nil || *r.WorstRow > *c.WorstRow) {
			c.WorstRow = r.WorstRow
		}
		if r.Recovered != nil {
			shares = append(shares, *r.Recovered)
		}
		if r.Success != nil {
			c.Judged++
			n := math.Inf(1)
			if *r.Success {
				c.Successes++
				n = float64(*r.QueriesToTarget)
			}
			toTarget = append(toTarget, n)
		}
	}
	c.MedianGap, c.MedianBest, c.MedianQueriesToTarget, c.MedianQueries = median(gaps), median(bests), median(toTarget), median(queries)
	if len(shares) > 0 {
		slices.Sort(shares) // a fixed order makes a fixed sum
		mean := 0.0
		for _, s := range shares {
			mean += s / float64(len(shares))
		}
		c.Recovered = &mean
	}
	return c
}

// median returns nil for no values and where it is not finite.
func median(v []float64) *float64 {
	if len(v) == 0 {
		return nil
	}
	slices.Sort(v)
	m := (v[(len(v)-1)/2] + v[len(v)/2]) / 2
	if math.IsInf(m, 0) || math.IsNaN(m) {
		return nil
	}
	return &m
}

// Formats are the forms in which a table can be written.
var Formats = []string{"text", "markdown", "latex", "csv", "json"}

// Write writes the table in one of the Formats.
func (s *Summary) Write(w io.Writer, format string) error {
	switch format {
	case "text":
		return s.text(w)
	case "markdown":
		return s.markdown(w)
	case "latex":
		return s.latex(w)
	case "csv":
		return s.csv(w)
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(s)
	}
	return fmt.Errorf("there is no format %q; there are %s", format, strings.Join(Formats, ", "))
}

func (s *Summary) cell(method, problem int) *Cell {
	return &s.Cells[method*len(s.Problems)+problem]
}

// successRate is the share of successes, nil if none can be judged.
func (c *Cell) successRate() *float64 {
	if c.Judged == 0 {
		return nil
	}
	rate := float64(c.Successes) / float64(c.Judged)
	return &rate
}

func percent(share *float64, unit string) string {
	if share == nil {
		return "-"
	}
	text := fmt.Sprintf("%.0f", 100**share)
	if *share < 1 && text == "100" { // nearly all is not all
		text = fmt.Sprintf("%.1f", math.Floor(1000**share)/10)
	}
	return text + unit
}

// rate is the success rate with, in brackets, the share of rows found.
func (c *Cell) rate(unit string) string {
	text := percent(c.successRate(), unit)
	if c.Recovered != nil {
		text += " (" + percent(c.Recovered, unit) + ")"
	}
	return text
}

func (c *Cell) count() string {
	if c.Judged == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", c.Successes, c.Judged)
}

func short(x *float64) string {
	if x == nil {
		return "-"
	}
	return strconv.FormatFloat(*x, 'g', 3, 64)
}

func thousands(x *float64) string {
	if x == nil {
		return "-"
	}
	digits := strconv.FormatFloat(math.Round(*x), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// text writes a line for each method and problem, with the columns that have
// something to say.
func (s *Summary) text(w io.Writer) error {
	any := func(has func(c *Cell) bool) bool {
		return slices.ContainsFunc(s.Cells, func(c Cell) bool { return has(&c) })
	}
	judged := any(func(c *Cell) bool { return c.Judged > 0 })
	certified := any(func(c *Cell) bool { return c.Verdicts != nil })
	columns := []struct {
		shown bool
		head  string
		text  func(c *Cell) string
	}{
		{true, "problem", func(c *Cell) string { return c.Problem }},
		{true, "method", func(c *Cell) string { return c.Method }},
		{judged, "success", func(c *Cell) string { return percent(c.successRate(), " %") }},
		{judged, "", func(c *Cell) string { return c.count() }},
		{judged, "median gap", func(c *Cell) string { return short(c.MedianGap) }},
		{judged, "queries to success", func(c *Cell) string { return thousands(c.MedianQueriesToTarget) }},
		{!judged, "trials", func(c *Cell) string { return fmt.Sprint(c.Trials) }},
		{!judged && !certified, "median best", func(c *Cell) string { return short(c.MedianBest) }},
		{!judged, "queries", func(c *Cell) string { return thousands(c.MedianQueries) }},
		{any(func(c *Cell) bool { return c.Recovered != nil }), "rows of W found", func(c *Cell) string { return percent(c.Recovered, " %") }},
		{!judged && any(func(c *Cell) bool { return c.WorstRow != nil }), "worst row", func(c *Cell) string { return short(c.WorstRow) }},
		{certified, "verdict", (*Cell).verdict},
		{s.Failed > 0, "failed", func(c *Cell) string { return fmt.Sprint(c.Failed) }},
	}
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	line := func(text func(i int) string) {
		var parts []string
		for i, c := range columns {
			if c.shown {
				parts = append(parts, text(i))
			}
		}
		fmt.Fprintln(t, strings.Join(parts, "\t"))
	}
	if !any(func(c *Cell) bool { return c.Trials+c.Failed > 0 }) {
		_, err := fmt.Fprintln(w, "no trials yet")
		return err
	}
	line(func(i int) string { return columns[i].head })
	for p := range s.Problems {
		for m := range s.Methods {
			if c := s.cell(m, p); c.Trials+c.Failed > 0 {
				line(func(i int) string { return columns[i].text(c) })
			}
		}
	}
	if err := t.Flush(); err != nil || !judged {
		return err
	}
	_, err := fmt.Fprintf(w, "\nsuccess: %s\n", s.Success)
	for i := range s.Cells {
		if c := &s.Cells[i]; err == nil && c.LowestGap != nil && *c.LowestGap < -1e-6 {
			_, err = fmt.Fprintf(w, "warning: %s has values %.3g below its stated minimum, so its successes are not to be trusted\n", c.Problem, -*c.LowestGap)
		}
	}
	return err
}

// grid returns the success rates as in the paper, methods by problems.
func (s *Summary) grid(unit string) [][]string {
	rows := [][]string{append([]string{"Method"}, s.Problems...)}
	for m, method := range s.Methods {
		row := []string{method}
		for p := range s.Problems {
			row = append(row, s.cell(m, p).rate(unit))
		}
		rows = append(rows, row)
	}
	return rows
}

func (s *Summary) markdown(w io.Writer) error {
	var b strings.Builder
	escape := strings.NewReplacer("|", "\\|")
	for i, row := range s.grid(" %") {
		for _, text := range row {
			b.WriteString("| " + escape.Replace(text) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString("| --- " + strings.Repeat("| ---: ", len(row)-1) + "|\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Summary) latex(w io.Writer) error {
	var b strings.Builder
	escape := strings.NewReplacer("&", `\&`, "%", `\%`, "_", `\_`, "#", `\#`, "$", `\$`, "{", `\{`, "}", `\}`, "~", `\textasciitilde{}`, "^", `\textasciicircum{}`, `\`, `\textbackslash{}`)
	fmt.Fprintf(&b, "\\begin{tabular}{l%s}\n\\toprule\n", strings.Repeat("c", len(s.Problems)))
	for i, row := range s.grid("%") {
		for j := range row {
			row[j] = escape.Replace(row[j])
		}
		b.WriteString(strings.Join(row, " & ") + ` \\` + "\n")
		if i == 0 {
			b.WriteString("\\midrule\n")
		}
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Summary) csv(w io.Writer) error {
	out := csv.NewWriter(w)
	number := func(x *float64) string {
		if x == nil {
			return ""
		}
		return strconv.FormatFloat(*x, 'g', -1, 64)
	}
	_ = out.Write([]string{"problem", "method", "dim", "trials", "failed", "judged", "successes", "median_gap", "median_best", "median_queries_to_target", "median_queries", "recovered", "worst_row", "verdict"})
	for i := range s.Cells {
		c := &s.Cells[i]
		_ = out.Write([]string{c.Problem, c.Method, fmt.Sprint(c.Dim), fmt.Sprint(c.Trials), fmt.Sprint(c.Failed), fmt.Sprint(c.Judged), fmt.Sprint(c.Successes),
			number(c.MedianGap), number(c.MedianBest), number(c.MedianQueriesToTarget), number(c.MedianQueries), number(c.Recovered), number(c.WorstRow), strings.TrimPrefix(c.verdict(), "-")})
	}
	out.Flush()
	return out.Error()
}
