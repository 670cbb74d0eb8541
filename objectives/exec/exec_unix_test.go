//go:build unix

package program

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// TestCancel checks that the program dies at once, and its child with it.
func TestCancel(t *testing.T) {
	listener := listen(t)
	o := newProgram(t, "family", 2, nil)
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error)
	go func() { result <- o.Evaluate(ctx, make([]float64, manyPoints), mat.NewDense(manyPoints, 2, nil)) }()
	conns := accept(t, listener, 2)
	cancel()
	if err := <-result; err != context.Canceled {
		t.Errorf("error %v", err)
	}
	awaitDeath(conns["family"])
	awaitDeath(conns["child"])
	if _, err := evaluate(o, mat.NewDense(1, 2, nil)); err == nil || !strings.Contains(err.Error(), "stopped when a batch was cancelled") {
		t.Errorf("the next batch has the error %v", err)
	}
}

// TestOrphans checks that a program's end is noticed though a child of it
// keeps its output open, and that the child is ended.
func TestOrphans(t *testing.T) {
	listener := listen(t)
	o := newProgram(t, "orphan", 1, nil)
	o.patience = impatient
	result := make(chan error)
	go func() {
		_, err := evaluate(o, mat.NewDense(1, 1, nil))
		result <- err
	}()
	conns := accept(t, listener, 2)
	conns["orphan"].Close()
	if err := <-result; !errors.Is(err, core.ErrCrash) {
		t.Errorf("error %v", err)
	}
	awaitDeath(conns["child"])
}
