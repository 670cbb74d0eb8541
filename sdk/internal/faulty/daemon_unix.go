//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// startDaemon starts a program that leaves the process group and keeps stdout
// and stderr.
func startDaemon() (pid int, err error) {
	cmd := exec.Command("sleep", "600")
	cmd.Stdout, cmd.Stderr = os.NewFile(1, "stdout"), os.NewFile(2, "stderr")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}
