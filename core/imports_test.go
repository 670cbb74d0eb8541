package core_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/unbraid/unbraid/"

// rooms says which folders of the module a folder may import, besides itself;
// the longest match counts. External packages are named where they are limited.
var rooms = map[string][]string{
	"core":       {"gonum.org/"},
	"objectives": {"core", "gonum.org/"},
	"noise":      {"core", "gonum.org/"},
	"plugins":    {"core", "gonum.org/"},
	"sdk":        {"core", "gonum.org/", "github.com/hashicorp/", "google.golang.org/", "golang.org/x/sys/"},
	"runner":     {""},
}

// The directions of imports are the architecture: components know only the
// core, and only the runner knows them all.
func TestImportDirections(t *testing.T) {
	seen := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return filepath.SkipDir
		}
		// Tests may bring parts together to try them.
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		path = filepath.ToSlash(path)
		room, _, _ := strings.Cut(strings.TrimPrefix(path, "../"), "/")
		allowed, ok := rooms[room]
		if !ok {
			t.Errorf("%s is in no agreed folder", path)
			return nil
		}
		seen++
		for _, spec := range file.Imports {
			imported, _ := strconv.Unquote(spec.Path.Value)
			if !mayImport(path, room, allowed, imported) {
				t.Errorf("%s must not import %s", path, imported)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Errorf("only %d files looked at", seen)
	}
}

func mayImport(path, room string, allowed []string, imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return true // the standard library
	}
	inside, own := strings.CutPrefix(imported, module)
	if own && (inside == room || strings.HasPrefix(inside, room+"/")) {
		return room != "plugins" || sameComponent(path, inside)
	}
	for _, prefix := range allowed {
		if own && (inside == prefix || strings.HasPrefix(inside, prefix+"/") || prefix == "") || !own && strings.HasPrefix(imported, prefix) {
			return true
		}
	}
	return false
}

// sameComponent reports whether a package below plugins may import another:
// helpers in an internal folder, yes; another component, no.
func sameComponent(path, inside string) bool {
	return strings.Contains(inside, "/internal/") || strings.HasPrefix(strings.TrimPrefix(path, "../"), inside+"/")
}
