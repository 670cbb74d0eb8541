package experiment

import (
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/unbraid/unbraid/core"
)

// change applies one --set to the document. A path that starts with a kind of
// component ("solver.sigma") changes it in every problem or method that has
// one; "method.NAME.solver.sigma" changes one of them.
func (d *decoder) change(values map[string]any, change string) error {
	path, text, ok := strings.Cut(change, "=")
	path = strings.TrimSpace(path)
	if !ok || path == "" {
		return &Error{Key: "--set " + change, Problem: "want path.to.key=value, for example --set budget=200000 or --set solver.sigma=5"}
	}
	value := parseValue(text)
	first, rest, nested := strings.Cut(path, ".")
	list := first
	switch {
	case (first == "problem" || first == "method") && nested:
		return d.changeNamed(values, change, first, rest, value)
	case nested && (first == string(core.KindObjective) || first == "mix"):
		list = "problem"
	case nested && isKind(first):
		list = "method"
	default:
		d.assign(values, "", path, value)
		return nil
	}
	found := false
	for i, t := range tables(values[list]) {
		if _, has := t[first]; has {
			found = true
			d.assign(t, element(list, i), path, value)
			d.broad[join(element(list, i), path)] = change
		}
	}
	if !found {
		return &Error{Key: "--set " + change, Problem: fmt.Sprintf("no %s of the experiment has a %s", list, first)}
	}
	return nil
}

// parseValue reads a TOML value; a plain word is a string.
func parseValue(text string) any {
	var parsed map[string]any
	if _, err := toml.Decode("value = "+text, &parsed); err != nil || len(parsed) != 1 {
		return strings.TrimSpace(text)
	}
	return parsed["value"]
}

func isKind(s string) bool {
	for _, k := range core.Kinds {
		if s == string(k) {
			return true
		}
	}
	return false
}

func (d *decoder) changeNamed(values map[string]any, change, list, rest string, value any) error {
	var names []string
	best, longest := -1, -1 // a name may hold a dot itself
	all := tables(values[list])
	for i, t := range all {
		name, _ := t["name"].(string)
		names = append(names, name)
		if strings.HasPrefix(rest, name+".") && len(name) > longest {
			best, longest = i, len(name)
		}
	}
	if best < 0 {
		return &Error{Key: "--set " + change, Problem: fmt.Sprintf("there is no %s of that name; there are %s", list, strings.Join(names, ", "))}
	}
	d.assign(all[best], element(list, best), rest[longest+1:], value)
	return nil
}

// assign sets a dotted key below a table and notes that the command line did.
func (d *decoder) assign(t map[string]any, prefix, path string, value any) {
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		prefix = join(prefix, key)
		sub, ok := t[key].(map[string]any)
		if !ok {
			sub = map[string]any{}
			t[key] = sub
			d.set[prefix] = true
		}
		t = sub
	}
	last := keys[len(keys)-1]
	t[last] = value
	d.set[join(prefix, last)] = true
}
