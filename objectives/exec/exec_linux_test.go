package program

import (
	"os"
	"os/exec"
	"testing"
)

// TestProgramDiesWithItsStarter kills the process that has started the program
// without giving it a chance to clean up.
func TestProgramDiesWithItsStarter(t *testing.T) {
	listener := listen(t)
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), programVariable+"=host")
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	conns := accept(t, listener, 1)
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitDeath(conns["child"])
	host.Wait()
}
