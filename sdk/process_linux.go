package sdk

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// isolate puts a process into a group of its own, so that a Ctrl-C in the
// terminal reaches only the runner and the whole group can be ended at once,
// and has the kernel end it when the runner dies: even a plugin that hangs.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}

// launches are carried out on one thread that never ends: the kernel takes the
// end of the thread that started a process for the death of its parent.
var launches = sync.OnceValue(func() chan<- func() {
	queue := make(chan func())
	go func() {
		runtime.LockOSThread()
		for launch := range queue {
			launch()
		}
	}()
	return queue
})

func startOnLauncher(cmd *exec.Cmd) error {
	done := make(chan error)
	launches() <- func() { done <- cmd.Start() }
	return <-done
}
