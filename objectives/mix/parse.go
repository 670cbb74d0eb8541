package mix

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// Parse reads a matrix: one row a line, numbers separated by commas. Blank
// lines are skipped, and so is everything after a '#'. Errors name the line
// and the column, that is which number of the line, both counted from one;
// those about the content answer errors.Is(core.ErrParam). The matrix belongs
// to the caller.
func Parse(r io.Reader) (*mat.Dense, error) {
	var data []float64
	rows, cols := 0, 0
	lines := bufio.NewReader(r)
	for number, more := 1, true; more; number++ {
		line, err := lines.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		more = err == nil
		if number == 1 {
			line = strings.TrimPrefix(line, "\ufeff") // spreadsheets put a byte order mark there
		}
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		fields := strings.Split(line, ",")
		if rows == 0 {
			cols = len(fields)
		}
		if len(fields) != cols {
			return nil, core.BadParam("", "line %d: %d numbers, the first row has %d", number, len(fields), cols)
		}
		for column, field := range fields {
			v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, core.BadParam("", "line %d, column %d: %q is not a finite number", number, column+1, strings.TrimSpace(field))
			}
			data = append(data, v)
		}
		rows++
	}
	if rows == 0 {
		return nil, core.BadParam("", "there is no matrix: every line is blank or a comment")
	}
	return mat.NewDense(rows, cols, data), nil
}
