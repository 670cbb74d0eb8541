package program

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func FuzzParseAnswer(f *testing.F) {
	for _, s := range spellings {
		f.Add([]byte(s.text))
	}
	for _, text := range []string{"", " ", "hello", "1 2", "1,5", "--1", "0x1p-2", "1e", "\xff", strings.Repeat("1", maxLine+1)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got := parseAnswer(line)
		if got.problem != "" {
			if !strings.HasSuffix(got.problem, " is not a number") || len(got.problem) > 400 {
				t.Errorf("%q: problem %s", line, got.problem)
			}
			if v, err := strconv.ParseFloat(string(line), 64); err == nil && len(line) <= maxLine {
				t.Errorf("%q is the number %v: %s", line, v, got.problem)
			}
			return
		}
		if again := parseAnswer([]byte(" " + formatFloat(got.value) + "\r")); again.problem != "" || math.Float64bits(again.value) != math.Float64bits(got.value) {
			t.Errorf("%q is %v and then %+v", line, got.value, again)
		}
	})
}

// FuzzSplitter checks that lines do not depend on how the text arrives.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("1\n2\n\n3"), 2)
	f.Add([]byte("\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, piece int) {
		if piece < 1 || len(text) > maxLine {
			return
		}
		var got []string
		s := &splitter{emit: func(line []byte) { got = append(got, string(line)) }}
		for part := range slices.Chunk(text, piece) {
			if n, err := s.Write(part); n != len(part) || err != nil {
				t.Fatalf("Write returned %d, %v", n, err)
			}
		}
		s.flush()
		var want []string
		for line := range strings.Lines(string(text)) {
			want = append(want, strings.TrimSuffix(line, "\n"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q in pieces of %d gives %q", text, piece, got)
		}
	})
}

func TestSplitterLongLine(t *testing.T) {
	longest := 0
	s := &splitter{emit: func(line []byte) { longest = max(longest, len(line)) }}
	for range 10 {
		s.Write(bytes.Repeat([]byte{'1'}, 1000))
	}
	if longest <= maxLine || longest > maxLine+1000 {
		t.Errorf("a line without end was passed on after %d bytes", longest)
	}
}

func TestTail(t *testing.T) {
	var short tail
	if short.String() != "" {
		t.Errorf("empty: %q", short.String())
	}
	short.Write([]byte("one\ntwo\n"))
	if got, want := short.String(), "  one\n  two"; got != want {
		t.Errorf("%q instead of %q", got, want)
	}
	var long tail
	for i := range 100 {
		fmt.Fprintf(&long, "%d %s\n", i, strings.Repeat("x", 500))
	}
	got := long.String()
	if len(got) > tailBytes+100 || !strings.Contains(got, "\n  99 xxx") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
