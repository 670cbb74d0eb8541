package program

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"strings"
)

// encoder appends a point as text, without a line break.
type encoder func(dst []byte, x []float64) []byte

// appendCSV appends 1.5,2,3, each number in the fewest digits that give the
// same float64 again.
func appendCSV(dst []byte, x []float64) []byte {
	for i, v := range x {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
	}
	return dst
}

// appendJSON appends [1.5,2,3]. JSON has no word for numbers that are not
// finite; NaN and Infinity are those of JavaScript and Python.
func appendJSON(dst []byte, x []float64) []byte {
	dst = append(dst, '[')
	for i, v := range x {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case math.IsInf(v, 1):
			dst = append(dst, "Infinity"...)
		case math.IsInf(v, -1):
			dst = append(dst, "-Infinity"...)
		default:
			dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
		}
	}
	return append(dst, ']')
}

// maxLine is the length in bytes above which a line cannot be an answer.
const maxLine = 4096

// answer is one line of the program's output.
type answer struct {
	value   float64
	problem string // what is wrong with the line, "" if it is a number
}

// parseAnswer reads a number, which may have space around it. A number too
// large for a float64 is infinite.
func parseAnswer(line []byte) answer {
	text := string(bytes.TrimSpace(line))
	value, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || len(line) > maxLine {
		const shown = 60
		if len(text) > shown {
			text = text[:shown] + "..."
		}
		return answer{problem: strconv.Quote(text) + " is not a number"}
	}
	return answer{value: value}
}

// splitter is a writer that passes on what it is given line by line. A line is
// only lent to emit. One that grows beyond maxLine is passed on in pieces, the
// first of which is longer than maxLine.
type splitter struct {
	emit    func(line []byte)
	partial []byte
}

// Write implements io.Writer. It never fails.
func (s *splitter) Write(data []byte) (int, error) {
	n := len(data)
	for {
		line, rest, found := bytes.Cut(data, []byte{'\n'})
		s.partial = append(s.partial, line...)
		if found || len(s.partial) > maxLine {
			s.emit(s.partial)
			s.partial = s.partial[:0]
		}
		if !found {
			return n, nil
		}
		data = rest
	}
}

// flush passes on a last line without a line break.
func (s *splitter) flush() {
	if len(s.partial) > 0 {
		s.emit(s.partial)
		s.partial = nil
	}
}

// tail is a writer that keeps the end of what it is given.
type tail struct{ data []byte }

// How much of the end is kept.
const (
	tailBytes = 2000
	tailLines = 10
)

// Write implements io.Writer. It never fails.
func (t *tail) Write(data []byte) (int, error) {
	t.data = append(t.data, data...)
	if excess := len(t.data) - tailBytes; excess > 0 {
		t.data = append(t.data[:0], t.data[excess:]...)
	}
	return len(data), nil
}

// String returns the last lines, indented.
func (t *tail) String() string {
	text := strings.TrimSpace(strings.ToValidUTF8(string(t.data), "?"))
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	return "  " + strings.Join(lines, "\n  ")
}
