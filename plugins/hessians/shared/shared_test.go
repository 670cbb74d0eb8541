package shared

import (
	"testing"

	"github.com/unbraid/unbraid/core"
)

func TestCost(t *testing.T) {
	c := Component()
	for step, want := range map[float64]int{1e-3: 10*10 + 10 + 1, 0: 10*10 + 10 + 1 + 8 + 16*10} {
		h, err := c.Make(map[string]any{"step": step}, &core.Env{Dim: 10})
		if err != nil {
			t.Fatal(err)
		}
		if got := h.(core.Hessian).Cost(10); got != want {
			t.Errorf("step %g: cost %d, want %d", step, got, want)
		}
	}
}
