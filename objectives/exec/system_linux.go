package program

import (
	"os"
	"syscall"
)

// attributes puts the program into a process group of its own and lets the
// kernel kill it when the thread that started it ends, however that happens.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killer returns a function that kills the process group of p, or what is left
// of it when p has ended.
func killer(p *os.Process) func() {
	group := p.Pid
	return func() { _ = syscall.Kill(-group, syscall.SIGKILL) }
}
