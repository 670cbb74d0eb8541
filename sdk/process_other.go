//go:build !linux

package sdk

import "os/exec"

// On other systems a plugin ends when its standard input does.

func isolate(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func startOnLauncher(cmd *exec.Cmd) error { return cmd.Start() }
