// Package results keeps the records of an experiment in a folder and sums them
// up in tables.
//
// The folder holds experiment.json, the settings that the records were made
// with, and trials.jsonl, one record a line. Lines are only ever appended, each
// in one write followed by a sync, so that a kill at any moment loses at most
// the trials under way.
package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"
	"github.com/unbraid/unbraid/runner/internal/experiment"
	"github.com/unbraid/unbraid/runner/internal/trial"
)

const (
	trialsFile   = "trials.jsonl"
	settingsFile = "experiment.json"
	lockFile     = ".lock"
)

// Store is a results folder that is being written to.
type Store struct {
	dir  string
	lock *flock.Flock
	file *os.File
	size int64
	done map[trial.Key]*trial.Record
}

// ErrBusy says that another run is writing to the folder.
var ErrBusy = errors.New("another run is writing to this folder")

// ErrChanged says that the folder holds trials made with other settings.
var ErrChanged = errors.New("the folder holds trials made with other settings")

// Open prepares a folder for the trials of an experiment; an existing one is
// gone on with, if the settings are the same.
func Open(dir string, e *experiment.Experiment) (*Store, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("the results folder cannot be made: %w; choose another with --out", err)
	}
	s := &Store{dir: dir, lock: flock.New(filepath.Join(dir, lockFile))}
	locked, err := s.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("the results folder cannot be written to: %w; choose another with --out", err)
	}
	if !locked {
		return nil, fmt.Errorf("%w: %s; wait for it to end, or choose another with --out", ErrBusy, dir)
	}
	if err := s.load(e); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Store) load(e *experiment.Experiment) error {
	old, err := readSettings(s.dir)
	if err != nil {
		return err
	}
	records, end, err := read(s.dir)
	if err != nil {
		return err
	}
	s.done = map[trial.Key]*trial.Record{}
	for _, r := range records {
		s.done[r.Key()] = r
	}
	finished := maps.Clone(s.done)
	maps.DeleteFunc(finished, func(_ trial.Key, r *trial.Record) bool { return r.Failed() })
	merged, err := old.merge(settingsOf(e), finished)
	if err != nil {
		return fmt.Errorf("%w: %s\n%w\nGive what changed another name, or write to another folder with --out, or remove the folder to start afresh", ErrChanged, s.dir, err)
	}
	if err := writeFile(filepath.Join(s.dir, settingsFile), merged); err != nil {
		return fmt.Errorf("the results folder cannot be written to: %w; choose another with --out", err)
	}
	if s.file, err = os.OpenFile(filepath.Join(s.dir, trialsFile), os.O_RDWR|os.O_CREATE, 0o666); err != nil {
		return err
	}
	// A line that a kill has cut off is overwritten.
	s.size = end
	if err := s.file.Truncate(end); err != nil {
		return err
	}
	_, err = s.file.Seek(end, io.SeekStart)
	return err
}

// Done reports whether a trial has been run to an end.
func (s *Store) Done(key trial.Key) bool {
	r, ok := s.done[key]
	return ok && !r.Failed()
}

// Append adds a record. On an error the folder is as it was before.
func (s *Store) Append(r *trial.Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if _, err = s.file.Write(line); err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		_ = s.file.Truncate(s.size)
		_, _ = s.file.Seek(s.size, io.SeekStart)
		return fmt.Errorf("the record cannot be written to %s: %w; the trials before it are safe: make room and run again", s.dir, err)
	}
	s.size += int64(len(line))
	s.done[r.Key()] = r
	return nil
}

// Close lets others write to the folder.
func (s *Store) Close() error {
	var err error
	if s.file != nil {
		err = s.file.Close()
	}
	return errors.Join(err, s.lock.Unlock())
}

// read returns the records of a folder in the order in which they were
// written, and the length of the file up to the last whole line.
func read(dir string) (records []*trial.Record, end int64, err error) {
	path := filepath.Join(dir, trialsFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	for i, line := range bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		r := &trial.Record{}
		if err := json.Unmarshal(line, r); err != nil {
			return nil, 0, fmt.Errorf("%s:%d: not a record: %w; remove that line to go on without it", path, i+1, err)
		}
		records = append(records, r)
	}
	return records, int64(len(data)), nil
}

// settings are what the records of a folder were made with, as text: enough to
// tell whether and where they differ.
type settings struct {
	Name       string            `json:"name"`
	Experiment map[string]string `json:"experiment"`
	Problems   []part            `json:"problems"`
	Methods    []part            `json:"methods"`
}

// part is a problem or a method.
type part struct {
	Name   string            `json:"name"`
	Values map[string]string `json:"values"`
}

func settingsOf(e *experiment.Experiment) *settings {
	s := &settings{Name: e.Name, Experiment: map[string]string{
		"budget": fmt.Sprint(e.Budget), "nan": e.NaN,
		"success.gap": fmt.Sprint(e.Success.Gap), "success.value": optional(e.Success.Value), "success.stop": fmt.Sprint(e.Success.Stop),
	}}
	for i := range e.Problems {
		p := &e.Problems[i]
		values := map[string]string{"dim": fmt.Sprint(p.Dim), "domain": fmt.Sprint(p.Domain), "minimum": optional(p.Minimum), "mix": "none"}
		addRef(values, &p.Objective)
		switch {
		case p.Mix != nil:
			values["mix"] = fmt.Sprintf("%+v", *p.Mix)
			if p.MixMatrix != nil {
				values["mix matrix"] = fmt.Sprint(p.MixMatrix.RawMatrix().Data)
			}
		case !p.NoMix:
			values["mix"] = "the objective's own"
		}
		s.Problems = append(s.Problems, part{p.Name, values})
	}
	for i := range e.Methods {
		m := &e.Methods[i]
		values := map[string]string{"mix": fmt.Sprint(m.Mix), "structure": m.Structure, "fallback": m.Fallback}
		if m.StructureMatrix != nil {
			values["structure_file"] = fmt.Sprint(m.StructureMatrix.RawMatrix().Data)
		}
		for _, ref := range []*experiment.Ref{m.Solver, m.Noise, m.Estimator, m.Hessian} {
			if ref != nil {
				addRef(values, ref)
			}
		}
		s.Methods = append(s.Methods, part{m.Name, values})
	}
	return s
}

func optional(x *float64) string {
	if x == nil {
		return "none"
	}
	return fmt.Sprint(*x)
}

func addRef(values map[string]string, ref *experiment.Ref) {
	values[string(ref.Kind)+".plugin"] = ref.Name
	if ref.Executable != "" {
		values[string(ref.Kind)+".executable"] = ref.Executable
	}
	if ref.Inner != nil && ref.Inner.Executable != "" {
		values[string(ref.Kind)+".inner.executable"] = ref.Inner.Executable
	}
	for key, v := range ref.Params {
		text := fmt.Sprint(v)
		if words, ok := v.([]string); ok {
			text = fmt.Sprintf("%q", words) // "a b" is not "a", "b"
		}
		values[string(ref.Kind)+"."+key] = text
	}
}

// merge adds what is new. What exists and has finished trials must be equal:
// the error lists what is not.
func (s *settings) merge(next *settings, finished map[trial.Key]*trial.Record) (*settings, error) {
	if s == nil {
		return next, nil
	}
	var changed []string
	if len(finished) > 0 {
		changed = differences("experiment", s.Experiment, next.Experiment)
	}
	merged := &settings{Name: next.Name, Experiment: next.Experiment}
	mergeParts := func(label string, old, next []part, used func(trial.Key) string) []part {
		out := slices.Clone(next)
		for _, o := range old {
			i := slices.IndexFunc(next, func(p part) bool { return p.Name == o.Name })
			if i < 0 {
				out = append(out, o)
				continue
			}
			for key := range finished {
				if used(key) == o.Name {
					changed = append(changed, differences(fmt.Sprintf("%s %q", label, o.Name), o.Values, next[i].Values)...)
					break
				}
			}
		}
		return out
	}
	merged.Problems = mergeParts("problem", s.Problems, next.Problems, func(k trial.Key) string { return k.Problem })
	merged.Methods = mergeParts("method", s.Methods, next.Methods, func(k trial.Key) string { return k.Method })
	if changed != nil {
		return nil, errors.New(strings.Join(changed, "\n"))
	}
	return merged, nil
}

func differences(label string, old, next map[string]string) []string {
	var out []string
	for key, v := range next {
		if w, ok := old[key]; !ok {
			out = append(out, fmt.Sprintf("  %s: %s is new: %s", label, key, v))
		} else if v != w {
			out = append(out, fmt.Sprintf("  %s: %s was %s, now %s", label, key, w, v))
		}
	}
	for key, w := range old {
		if _, ok := next[key]; !ok {
			out = append(out, fmt.Sprintf("  %s: %s was %s, now not there", label, key, w))
		}
	}
	slices.Sort(out)
	return out
}

func readSettings(dir string) (*settings, error) {
	path := filepath.Join(dir, settingsFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &settings{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; remove the folder, or choose another with --out", path, err)
	}
	return s, nil
}

// writeFile replaces a file as a whole: readers see the old or the new one.
func writeFile(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err = f.Chmod(0o644); err == nil {
		_, err = f.Write(append(data, '\n'))
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
