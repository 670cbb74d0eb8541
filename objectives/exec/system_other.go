//go:build !unix

package program

import (
	"os"
	"syscall"
)

// attributes asks for nothing special. When its starter is killed, the program
// notices by the end of its input.
func attributes() *syscall.SysProcAttr { return nil }

// killer returns a function that kills p, but not what p has started.
func killer(p *os.Process) func() {
	return func() { _ = p.Kill() }
}
