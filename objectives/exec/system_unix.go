//go:build unix && !linux

package program

import (
	"os"
	"syscall"
)

// attributes puts the program into a process group of its own. When its
// starter is killed, it notices by the end of its input.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killer returns a function that kills the process group of p, or what is left
// of it when p has ended.
func killer(p *os.Process) func() {
	group := p.Pid
	return func() { _ = syscall.Kill(-group, syscall.SIGKILL) }
}
