package results

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/runner/internal/trial"
)

// WriteCertificates writes what is known of every estimate in a folder.
func WriteCertificates(w io.Writer, dir string) error {
	records, _, err := read(dir)
	if err != nil {
		return err
	}
	slices.SortStableFunc(records, func(a, b *trial.Record) int {
		return cmp.Or(strings.Compare(a.Problem, b.Problem), strings.Compare(a.Method, b.Method), cmp.Compare(a.Seed, b.Seed))
	})
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "problem\tmethod\tseed\tverdict\trank\tresidual\tcondition\tsingular values\tremarks")
	n := 0
	for _, r := range records {
		if c := r.Certificate; c != nil {
			n++
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%d\t%.2g\t%.3g\t%s\t%s\n", r.Problem, r.Method, r.Seed, c.Verdict, c.Rank, c.Residual, c.Condition, spectrum(c.SingularValues), remarks(c))
		}
	}
	if n == 0 {
		return fmt.Errorf("no trial in %s has an estimate", dir)
	}
	return t.Flush()
}

// spectrum shows both ends of a list of singular values.
func spectrum(s []float64) string {
	if len(s) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g to %.3g", s[0], s[len(s)-1])
}

func remarks(c *core.Certificate) string {
	var parts []string
	if len(c.Unidentified) > 0 {
		parts = append(parts, fmt.Sprintf("%d rows are not determined", len(c.Unidentified)))
	}
	if len(c.Blocks) > 0 {
		parts = append(parts, fmt.Sprintf("rows that hang together: %v", c.Blocks))
	}
	return strings.Join(append(parts, c.Notes...), "; ")
}
