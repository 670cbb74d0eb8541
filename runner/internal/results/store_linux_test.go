package results

import (
	"maps"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A write that fails half-way, here at a limit on the size of files as it would
// on a full disk, leaves the records as they were.
func TestWriteErrorHalfWay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "first")
	s := open(t, dir, newExperiment())
	appendAll(t, s, newRecord("P", "A", 0))
	before := contents(t, dir)

	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Skip("no limit on the size of files: ", err)
	}
	low := limit
	low.Cur = uint64(len(before[trialsFile]) + 50)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low); err != nil {
		t.Skip("no limit on the size of files: ", err)
	}
	err := s.Append(newRecord("P", "A", 1))
	if restore := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); restore != nil {
		t.Fatal(restore)
	}
	if err == nil || !strings.Contains(err.Error(), "the trials before it are safe") || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v", err)
	}
	if s.Done(key("P", "A", 1)) {
		t.Error("done without a record")
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("the folder was changed from %v to %v", before, after)
	}
	appendAll(t, s, newRecord("P", "A", 1)) // there is room again
	if text := contents(t, dir)[trialsFile]; !strings.HasPrefix(text, before[trialsFile]) || strings.Count(text, "\n") != 2 {
		t.Errorf("records %q", text)
	}
}
