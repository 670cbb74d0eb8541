package experiment

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/unbraid/unbraid/core"
)

// Error is a mistake in an experiment file or on the command line.
type Error struct {
	File    string // "" for the command line
	Line    int    // 0 if it concerns the file as a whole
	Key     string // the path of the key, "" if there is none
	Problem string // what is wrong and what to do
}

func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where += ":" + strconv.Itoa(e.Line)
	}
	parts := slices.DeleteFunc([]string{where, e.Key, e.Problem}, func(s string) bool { return s == "" })
	return strings.Join(parts, ": ")
}

// show writes a value as it stood in the file, so that "5" is not taken for 5.
func show(v any) string {
	if s, ok := v.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(v)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// table reads a TOML table strictly: every key must be asked for by name, and
// values must have the right type. The first mistake is kept.
type table struct {
	d      *decoder
	path   string
	values map[string]any
	known  []string
}

// decoder is what all tables of a document share.
type decoder struct {
	file  string
	lines map[string]int
	set   map[string]bool // paths given by --set
	// broad has the paths that a --set for all problems or methods reached,
	// with that change; accepted has the changes that found a taker, and offered
	// the keys there are where they found none.
	broad    map[string]string
	accepted map[string]bool
	offered  map[string][]string
	err      error
}

func newDecoder(file string) *decoder {
	return &decoder{file: file, set: map[string]bool{}, broad: map[string]string{}, accepted: map[string]bool{}, offered: map[string][]string{}}
}

// resolve makes a path that is relative to the experiment file's folder an
// absolute one.
func (d *decoder) resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	abs, err := filepath.Abs(filepath.Join(filepath.Dir(d.file), path))
	if err != nil {
		return path
	}
	return abs
}

func (d *decoder) failAt(path, format string, args ...any) {
	if d.err != nil {
		return
	}
	e := &Error{File: d.file, Line: d.lines[path], Key: path, Problem: fmt.Sprintf(format, args...)}
	if d.set[path] {
		e.File, e.Line, e.Key = "", 0, "--set "+path
	}
	for at := path; e.Line == 0 && e.File != "" && strings.Contains(at, "."); {
		at = at[:strings.LastIndex(at, ".")] // a missing key: the line of its table
		e.Line = d.lines[at]
	}
	d.err = e
}

func (t *table) fail(key, format string, args ...any) {
	path := t.path
	if key != "" {
		path = join(path, key)
	}
	t.d.failAt(path, format, args...)
}

// missing reports a key that must be there; a key that looks like it, and that
// nobody asks for, is taken for a misspelling of it.
func (t *table) missing(key, format string, args ...any) {
	for _, given := range slices.Sorted(maps.Keys(t.values)) {
		if !slices.Contains(t.known, given) && levenshtein.ComputeDistance(given, key) <= len(key)/3 {
			t.fail(given, "unknown key; did you mean %q?", key)
		}
	}
	t.fail(key, "missing: "+format, args...)
}

func (t *table) has(key string) bool {
	_, ok := t.values[key]
	return ok
}

// get returns a value and notes the key as known.
func (t *table) get(key string) (any, bool) {
	t.known = append(t.known, key)
	v, ok := t.values[key]
	return v, ok
}

// finish reports keys that nobody asked for.
func (t *table) finish() {
	keys := make([]string, 0, len(t.values))
	for key := range t.values {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		if !slices.Contains(t.known, key) {
			t.fail(key, "unknown key%s", suggest(key, t.known))
		}
	}
}

func (t *table) str(key, fallback string) string {
	v, ok := t.get(key)
	if !ok {
		return fallback
	}
	s, ok := v.(string)
	if !ok {
		t.fail(key, "want a string, got %s", show(v))
	}
	return s
}

func (t *table) boolean(key string, fallback bool) bool {
	v, ok := t.get(key)
	if !ok {
		return fallback
	}
	b, ok := v.(bool)
	if !ok {
		t.fail(key, "want true or false, got %s", show(v))
	}
	return b
}

func (t *table) integer(key string, fallback, least int) int {
	v, ok := t.get(key)
	if !ok {
		return fallback
	}
	var n int64
	switch v := v.(type) {
	case int64:
		n = v
	case float64: // 5e6 reads well and is a whole number
		n = int64(v)
		if float64(n) != v {
			t.fail(key, "want a whole number, got %s", show(v))
			return fallback
		}
	default:
		t.fail(key, "want a whole number, got %s", show(v))
		return fallback
	}
	if n < int64(least) || n > math.MaxInt {
		t.fail(key, "%d is not possible, must be at least %d", n, least)
	}
	return int(n)
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return 0, false
}

func (t *table) float(key string) *float64 {
	v, ok := t.get(key)
	if !ok {
		return nil
	}
	x, ok := number(v)
	if !ok {
		t.fail(key, "want a number, got %s", show(v))
		return nil
	}
	return &x
}

// sub returns the table under a key, nil if there is none.
func (t *table) sub(key string) *table {
	v, ok := t.get(key)
	if !ok {
		return nil
	}
	values, ok := v.(map[string]any)
	if !ok {
		t.fail(key, "want a table such as { ... }, got %s", show(v))
		return nil
	}
	return &table{d: t.d, path: join(t.path, key), values: values}
}

// subs returns the tables of an array of tables such as [[problem]].
func (t *table) subs(key string) []*table {
	v, ok := t.get(key)
	if !ok {
		return nil
	}
	list := tables(v)
	if list == nil {
		t.fail(key, "want tables, each under [[%s]]", key)
		return nil
	}
	out := make([]*table, len(list))
	for i, values := range list {
		out[i] = &table{d: t.d, path: element(join(t.path, key), i), values: values}
	}
	return out
}

// tables returns an array of tables, however it is written; nil if v is
// something else.
func tables(v any) []map[string]any {
	switch v := v.(type) {
	case []map[string]any: // under headers
		return v
	case []any: // in brackets
		list := make([]map[string]any, len(v))
		for i, e := range v {
			m, ok := e.(map[string]any)
			if !ok {
				return nil
			}
			list[i] = m
		}
		return list
	}
	return nil
}

// params resolves the remaining keys of a component's table.
func (t *table) params(desc *core.Description, reserved ...string) map[string]any {
	values := map[string]any{}
	names := slices.Clone(reserved)
	for i := range desc.Params {
		names = append(names, desc.Params[i].Name)
	}
	for key, v := range t.values {
		change, broad := t.d.broad[join(t.path, key)]
		takes := slices.Contains(names, key)
		if broad && !takes {
			t.d.offered[change] = append(t.d.offered[change], names...)
			continue
		}
		t.d.accepted[change] = true
		if !slices.Contains(reserved, key) {
			values[key] = v
		}
	}
	resolved, err := desc.Resolve(values)
	var unknown *core.UnknownParamError
	var bad *core.ParamError
	switch {
	case errors.As(err, &unknown):
		t.fail(unknown.Key, "unknown key%s", suggest(unknown.Key, append(unknown.Known, reserved...)))
	case errors.As(err, &bad):
		t.fail(bad.Key, "%s", bad.Problem)
	case err != nil:
		t.fail("", "%v", err)
	}
	return resolved
}

// suggest names the nearest of the valid names, or all of them.
func suggest(name string, valid []string) string {
	if nearest := Nearest(name, valid); nearest != "" {
		return fmt.Sprintf("; did you mean %q?", nearest)
	}
	if len(valid) == 0 {
		return ""
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(valid)))
	return "; possible are " + strings.Join(sorted, ", ")
}

// Nearest returns the valid name that a misspelt one most likely meant, "" if
// none is near.
func Nearest(name string, valid []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, v := range valid {
		if n := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(v)); n < least {
			best, least = v, n
		}
	}
	return best
}
