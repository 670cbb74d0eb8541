package experiment

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

func TestLocate(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want map[string]int
	}{
		"plain": {"a = 1\n\n  # remark\n  b = 'x' # b = 2\nc=3", map[string]int{"a": 1, "b": 4, "c": 5}},
		"tables": {"[a]\nx = 1\n[ a . b ] # remark\nx = 2\n[c.d]\ny = 1\n", map[string]int{
			"a": 1, "a.x": 2, "a.b": 3, "a.b.x": 4, "c": 5, "c.d": 5, "c.d.y": 6}},
		"arrays of tables": {"[[p]]\nn = 1\n[p.o]\nx = 1\n[[p.q]]\n[[p.q]]\ny = 1\n\n[[p]]\nn = 2\n[[p.q]]\ny = 2\n[r]\n", map[string]int{
			"p": 1, "p[0]": 1, "p[0].n": 2, "p[0].o": 3, "p[0].o.x": 4, "p[0].q": 5, "p[0].q[0]": 5, "p[0].q[1]": 6, "p[0].q[1].y": 7,
			"p[1]": 9, "p[1].n": 10, "p[1].q": 11, "p[1].q[0]": 11, "p[1].q[0].y": 12, "r": 13}},
		"dotted keys": {"a.b = 1\na.c.d = 2\n'a' . \"e\" = 3\n", map[string]int{"a": 1, "a.b": 1, "a.c": 2, "a.c.d": 2, "a.e": 3}},
		"inline tables": {"a = { b = 1, c = { d = 'x,}', e = [1, 2] }, f.g = 3 }\nh = {}\n", map[string]int{
			"a": 1, "a.b": 1, "a.c": 1, "a.c.d": 1, "a.c.e": 1, "a.c.e[0]": 1, "a.c.e[1]": 1, "a.f": 1, "a.f.g": 1, "h": 2}},
		"arrays over lines": {"a = [ # remark ]\n  1,\n  [2, 3], # ,\n]\nb = 1\n", map[string]int{
			"a": 1, "a[0]": 2, "a[1]": 3, "a[1][0]": 3, "a[1][1]": 3, "b": 5}},
		"tables in an array": {"p = [\n  { n = 1 },\n  {\n    n = 2, # new line\n    o = 3,\n  },\n]\nq = 1", map[string]int{
			"p": 1, "p[0]": 2, "p[0].n": 2, "p[1]": 3, "p[1].n": 4, "p[1].o": 5, "q": 8}},
		"quoted keys": {"\"a b\" = 1\n'c.d' = 2\n\"\" = 3\n\"e\\\"f\" = 4\n\"\\u00e9\" = 5\n'g\\h' = 6\n\"it's\" = 7\n[\"p q\".'r']\nx = 1", map[string]int{
			"a b": 1, "c.d": 2, "": 3, "e\"f": 4, "é": 5, "g\\h": 6, "it's": 7, "p q": 8, "p q.r": 8, "p q.r.x": 9}},
		"strings with what looks like keys": {"a = \"x = 1 # \\\" \\\\\"\nb = 'y = \\'\nc = 1", map[string]int{"a": 1, "b": 2, "c": 3}},
		"strings over lines":                {"a = \"\"\"\nx = 1\n\\\"\"\" \"\" [y]\n\"\"\"\nb = '''\nz = 1 ''\n'''\nc = 1", map[string]int{"a": 1, "b": 5, "c": 8}},
		"strings over lines that end in quotes": {"a = \"\"\"say \"x\"\"\"\"\nb = '''''y'''''\nc = \"\"\"\"\"\"\nd = 1\ne = \"\"\"\"\"\"\"\"\nf = '2'", map[string]int{
			"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}},
		"windows":         {"a = 1\r\n[b]\r\nc = \"\"\"x\r\ny\"\"\"\r\nd = 2\r\n", map[string]int{"a": 1, "b": 2, "b.c": 3, "b.d": 5}},
		"byte order mark": {"\ufeffa = 1\nb = 2", map[string]int{"a": 1, "b": 2}},
		"dates":           {"a = 1979-05-27 07:32:00Z\nb = [1979-05-27, 07:32:00]\nc = 1", map[string]int{"a": 1, "b": 2, "b[0]": 2, "b[1]": 2, "c": 3}},
		"nothing":         {"# nothing\n\n", map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := toml.Unmarshal([]byte(test.text), &map[string]any{}); err != nil {
				t.Fatalf("the example is wrong: %v", err)
			}
			got := locate(test.text)
			for _, path := range slices.Sorted(maps.Keys(test.want)) {
				if got[path] != test.want[path] {
					t.Errorf("%q is on line %d, want %d", path, got[path], test.want[path])
				}
			}
			for path, line := range got {
				if _, ok := test.want[path]; !ok {
					t.Errorf("%q on line %d does not exist", path, line)
				}
			}
		})
	}
}

// paths calls f with the path of every key of a document.
func paths(prefix string, v any, f func(path string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, w := range v {
			f(join(prefix, key))
			paths(join(prefix, key), w, f)
		}
	case []map[string]any:
		for i, w := range v {
			f(element(prefix, i))
			paths(element(prefix, i), w, f)
		}
	case []any:
		for i, w := range v {
			f(element(prefix, i))
			paths(element(prefix, i), w, f)
		}
	}
}

// FuzzLocate checks that locate ends whatever it is given, and that it finds
// every key of what is TOML.
func FuzzLocate(f *testing.F) {
	for _, text := range []string{
		base, several, "", "a", "a =", "=", "[", "[[", "[[a", "[a.b]\n[a]\n", "a = [[1, [2]], {b = 'c'}]", "a = {", "a = [", "a = \"", "a = '''", "a = \"\\",
		"a.\"b.c\".d = {e.f = 1, g = [{}, {h = 2}]}", "[[a]]\n[[a.b]]\n[a.b.c]\nd = 1\n[[a]]\n", "a = \"\"\"\"\"x\"\"\"\"\"\nb = 1", "\ufeffa=1", "\xff\xfea=1", "a\x00 = 1", "..=.", "]]]]", "a = }", "é = 'ü'",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := locate(text)
		last := 1 + strings.Count(text, "\n")
		for path, line := range lines {
			if line < 1 || line > last {
				t.Errorf("%q is on line %d of %d", path, line, last)
			}
		}
		var values map[string]any
		if _, err := toml.Decode(text, &values); err != nil {
			return
		}
		paths("", values, func(path string) {
			if lines[path] == 0 {
				t.Errorf("%q is not found", path)
			}
		})
	})
}

// FuzzParse checks that a file may be anything without taking the program down.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		base, several, "", "name = 1", "[problem]", "problem = [1]", "method = [{}, {}]", "plugins = { a = { path = 'x' }, b = { command = ['y'] } }",
		strings.Replace(base, "dim = 5", "dim = 9_000_000_000_000_000_000", 1),
		strings.Replace(base, "\n\n[[method]]", "\nmix = { kind = 'file', file = 'x', rank = -1 }\ndomain = [nan, inf]\n[[method]]", 1),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := resolve("fuzz.toml", text)
		if err == nil && (e.Budget < 1 || len(e.Seeds) == 0 || len(e.Problems) == 0 || len(e.Methods) == 0 || e.Problems[0].Dim < 1) {
			t.Errorf("accepted as %+v", e)
		}
	})
}
