// Package launch knows every component there is, built in or in an executable
// of somebody else's, and starts them: in this process, in a process of this
// same program, or in a plugin's. Its callers cannot tell which they have.
package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/runner/internal/experiment"
	"github.com/unbraid/unbraid/sdk"
)

// Entry is a component that can be used.
type Entry struct {
	core.Description
	Origin     string          // "built-in", or the executable that carries it
	builtin    *core.Component // nil for an external one
	executable *sdk.Executable
	plugin     string // the name under which the executable was given
}

// Catalogue holds all components that can be used.
type Catalogue struct {
	entries []*Entry
	// Warnings tell about executables that were found but could not be used.
	Warnings []string
}

// NewCatalogue returns a catalogue of the built-in components.
func NewCatalogue(builtins []core.Component) *Catalogue {
	c := &Catalogue{}
	for i := range builtins {
		c.entries = append(c.entries, &Entry{Description: builtins[i].Description, Origin: "built-in", builtin: &builtins[i]})
	}
	return c
}

// Add asks an executable what it carries and adds it. A component that exists
// already is an error.
func (c *Catalogue) Add(ctx context.Context, e sdk.Executable) error {
	found, err := sdk.Describe(ctx, &e)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("plugin %q (%s) carries no components", e.Name, strings.Join(e.Command, " "))
	}
	for _, d := range found {
		if other := c.find(d.Kind, d.Name); other != nil {
			return fmt.Errorf("plugin %q (%s) carries %s, which exists already (%s); give one of them another name", e.Name, strings.Join(e.Command, " "), d.ID(), other.Origin)
		}
	}
	for _, d := range found {
		c.entries = append(c.entries, &Entry{Description: d, Origin: strings.Join(e.Command, " "), executable: &e, plugin: e.Name})
	}
	return nil
}

// PathVariable names the environment variable with the folders in which
// plugins are looked for.
const PathVariable = "UNBRAID_PLUGIN_PATH"

const executablePrefix = "unbraid-plugin-"

// Discover adds the executables called unbraid-plugin-* in the folders of
// UNBRAID_PLUGIN_PATH, then in the user's configuration folder. One that
// cannot be used becomes a warning.
func (c *Catalogue) Discover(ctx context.Context) {
	folders := filepath.SplitList(os.Getenv(PathVariable))
	if config, err := os.UserConfigDir(); err == nil {
		folders = append(folders, filepath.Join(config, "unbraid", "plugins"))
	}
	for _, folder := range folders {
		matches, _ := filepath.Glob(filepath.Join(folder, executablePrefix+"*"))
		for _, path := range matches {
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() || (info.Mode()&0o111 == 0 && filepath.Ext(path) != ".exe") {
				continue
			}
			name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), executablePrefix), ".exe")
			if path, err = filepath.Abs(path); err == nil {
				err = c.Add(ctx, sdk.Executable{Name: name, Command: []string{path}})
			}
			if err != nil {
				c.Warnings = append(c.Warnings, err.Error())
			}
		}
	}
}

func (c *Catalogue) find(kind core.Kind, name string) *Entry {
	for _, e := range c.entries {
		if e.Kind == kind && e.Name == name {
			return e
		}
	}
	return nil
}

// Get returns a component by kind and name. A plugin's own name stands for its
// component if it carries only one of the kind.
func (c *Catalogue) Get(kind core.Kind, name string) (*Entry, error) {
	if e := c.find(kind, name); e != nil {
		return e, nil
	}
	var carried []*Entry
	var names []string
	for _, e := range c.entries {
		if e.Kind != kind {
			continue
		}
		names = append(names, e.Name)
		if e.plugin == name {
			carried = append(carried, e)
		}
	}
	if len(carried) == 1 {
		return carried[0], nil
	}
	if nearest := experiment.Nearest(name, names); nearest != "" {
		return nil, fmt.Errorf("there is no %s %q; did you mean %q?", kind, name, nearest)
	}
	for _, e := range c.entries {
		if e.Name == name {
			return nil, fmt.Errorf("there is no %s %q, but there is %s", kind, name, e.ID())
		}
	}
	slices.Sort(names)
	return nil, fmt.Errorf("there is no %s %q; there are: %s", kind, name, strings.Join(names, ", "))
}

// Identify notes in a reference which executable its component is in.
func (c *Catalogue) Identify(ref *experiment.Ref) error {
	e, err := c.Get(ref.Kind, ref.Name)
	if err == nil && e.executable != nil {
		ref.Executable, err = e.executable.Identity()
	}
	if err == nil && ref.Inner != nil {
		err = c.Identify(ref.Inner)
	}
	return err
}

// External reports whether a component, or the solver that it runs, is in
// somebody else's executable.
func (c *Catalogue) External(ref *experiment.Ref) bool {
	e, err := c.Get(ref.Kind, ref.Name)
	return err == nil && e.executable != nil || ref.Inner != nil && c.External(ref.Inner)
}

// Lookup is Get for reading experiment files.
func (c *Catalogue) Lookup(kind core.Kind, name string) (*core.Description, error) {
	e, err := c.Get(kind, name)
	if err != nil {
		return nil, err
	}
	return &e.Description, nil
}

// Entries returns all components of a kind by name.
func (c *Catalogue) Entries(kind core.Kind) []*Entry {
	var out []*Entry
	for _, e := range c.entries {
		if e.Kind == kind {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b *Entry) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ParseID splits "solver/cbo".
func ParseID(id string) (core.Kind, string, error) {
	kind, name, ok := strings.Cut(id, "/")
	if !ok || name == "" {
		return "", "", fmt.Errorf("want KIND/NAME such as solver/cbo, got %q", id)
	}
	if !slices.Contains(core.Kinds, core.Kind(kind)) {
		kinds := make([]string, len(core.Kinds))
		for i, k := range core.Kinds {
			kinds[i] = string(k)
		}
		return "", "", fmt.Errorf("there is no kind %q; the kinds are %s", kind, strings.Join(kinds, ", "))
	}
	return core.Kind(kind), name, nil
}
