package experiment

import (
	"strings"

	"github.com/BurntSushi/toml"
)

// locate returns the line of every key of a valid TOML document, by path:
// "budget", "problem[0].objective.shift". The TOML library knows lines only
// where it fails itself, and we want to name them for errors of our own.
func locate(source string) map[string]int {
	for _, mark := range []string{"\ufeff", "\xff\xfe", "\xfe\xff"} { // byte order marks, as the library skips them
		if rest, ok := strings.CutPrefix(source, mark); ok {
			source = rest
			break
		}
	}
	l := locator{source: source, lines: map[string]int{}, count: map[string]int{}}
	l.document()
	return l.lines
}

type locator struct {
	source string
	at     int
	line   int // zero-based, of position at
	seen   int // newlines counted up to here
	lines  map[string]int
	count  map[string]int // elements so far of each array of tables
}

func (l *locator) peek() byte {
	if l.at < len(l.source) {
		return l.source[l.at]
	}
	return 0
}

func (l *locator) done() bool { return l.at >= len(l.source) }

func (l *locator) lineNumber() int {
	l.line += strings.Count(l.source[l.seen:l.at], "\n")
	l.seen = l.at
	return l.line + 1
}

// note keeps the line on which a path is first seen.
func (l *locator) note(path string, line int) {
	if _, known := l.lines[path]; !known {
		l.lines[path] = line
	}
}

func (l *locator) document() {
	prefix := ""
	for l.skipBlank(); !l.done(); l.skipBlank() {
		before := l.at
		if l.peek() == '[' {
			prefix = l.header()
		} else {
			l.pair(prefix)
		}
		if l.at == before { // not TOML after all
			l.at++
		}
	}
}

// header reads [a.b] or [[a.b]] and returns the path of the table it opens.
func (l *locator) header() string {
	line := l.lineNumber()
	array := strings.HasPrefix(l.source[l.at:], "[[")
	for l.peek() == '[' {
		l.at++
	}
	path := ""
	keys := l.keys()
	for i, key := range keys {
		path = join(path, key)
		l.note(path, line)
		if array && i == len(keys)-1 {
			l.count[path]++
		}
		if n := l.count[path]; n > 0 {
			path = element(path, n-1)
		}
	}
	for l.peek() == ']' {
		l.at++
	}
	l.lines[path] = line
	return path
}

// pair reads key = value.
func (l *locator) pair(prefix string) {
	line := l.lineNumber()
	path := prefix
	for _, key := range l.keys() {
		path = join(path, key)
		l.note(path, line)
	}
	l.skipBlank()
	if l.peek() == '=' {
		l.at++
		l.skipBlank()
		l.value(path)
	}
}

// keys reads a dotted key.
func (l *locator) keys() []string {
	var keys []string
	for {
		l.skipSpace()
		start := l.at
		switch l.peek() {
		case '"', '\'':
			l.quoted()
			keys = append(keys, unquote(l.source[start:l.at]))
		default:
			for !l.done() && !strings.ContainsRune(" \t\r\n.=[]{},#\"'", rune(l.peek())) {
				l.at++
			}
			if l.at > start {
				keys = append(keys, l.source[start:l.at])
			}
		}
		l.skipSpace()
		if l.peek() != '.' {
			return keys
		}
		l.at++
	}
}

func (l *locator) value(path string) {
	switch l.peek() {
	case '"', '\'':
		l.quoted()
	case '{':
		l.at++
		l.list('}', func(int) { l.pair(path) })
	case '[':
		l.at++
		l.list(']', func(i int) {
			l.note(element(path, i), l.lineNumber())
			l.value(element(path, i))
		})
	default:
		for !l.done() && !strings.ContainsRune(",]}\n#", rune(l.peek())) {
			l.at++
		}
	}
}

// list reads comma-separated items up to the closing bracket.
func (l *locator) list(closing byte, item func(i int)) {
	for i := 0; ; i++ {
		l.skipBlank()
		if l.done() || l.peek() == closing {
			l.at = min(l.at+1, len(l.source))
			return
		}
		before := l.at
		item(i)
		l.skipBlank()
		if l.peek() == ',' {
			l.at++
		}
		if l.at == before {
			l.at++
		}
	}
}

// quoted skips a string of any of the four forms.
func (l *locator) quoted() {
	quote := l.source[l.at : l.at+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(l.source[l.at:], triple) {
		quote = triple
	}
	for l.at += len(quote); !l.done(); l.at++ {
		if quote[0] == '"' && l.peek() == '\\' {
			l.at++
		} else if strings.HasPrefix(l.source[l.at:], quote) {
			l.at += len(quote)
			// A string of several lines may end in one or two quotes of its own.
			for range len(quote) - 1 {
				if l.peek() == quote[0] {
					l.at++
				}
			}
			return
		}
	}
	l.at = len(l.source)
}

// unquote returns the key that a quoted one stands for.
func unquote(quoted string) string {
	var parsed struct{ Key string }
	if _, err := toml.Decode("Key = "+quoted, &parsed); err != nil {
		return quoted // not TOML after all
	}
	return parsed.Key
}

func (l *locator) skipSpace() {
	for l.peek() == ' ' || l.peek() == '\t' {
		l.at++
	}
}

func (l *locator) skipBlank() {
	for !l.done() {
		switch l.peek() {
		case ' ', '\t', '\r', '\n':
			l.at++
		case '#':
			for !l.done() && l.peek() != '\n' {
				l.at++
			}
		default:
			return
		}
	}
}
