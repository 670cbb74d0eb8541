package sdk

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// sockets is the folder with the sockets of this process's plugins. It exists
// while there are plugins; what a killed process could not remove, the next one
// does.
var sockets socketFolder

type socketFolder struct {
	mu    sync.Mutex
	users int
	swept bool
}

const socketPrefix = "unbraid-"

func (f *socketFolder) path() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("%s%d", socketPrefix, os.Getpid()))
}

// enter makes the folder for one more plugin.
func (f *socketFolder) enter() (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.swept {
		f.swept = true
		sweep()
	}
	if err := os.MkdirAll(f.path(), 0o700); err != nil {
		return "", fmt.Errorf("the folder for the plugins' sockets cannot be made: %w", err)
	}
	f.users++
	return f.path(), nil
}

// leave removes the folder after the last plugin.
func (f *socketFolder) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users--; f.users == 0 {
		_ = os.RemoveAll(f.path())
	}
}

// sweep removes the folders of processes that have ended.
func sweep() {
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), socketPrefix+"*"))
	for _, folder := range folders {
		var pid int
		name := filepath.Base(folder)
		if _, err := fmt.Sscanf(name, socketPrefix+"%d", &pid); err != nil || name != fmt.Sprintf("%s%d", socketPrefix, pid) {
			continue
		}
		// Signal 0 only asks; a process of somebody else's may not be asked and
		// so lives.
		if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.Signal(0)) == os.ErrProcessDone {
			_ = os.RemoveAll(folder)
		}
	}
}
