package spm

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/estimators/internal/testbed"
	"github.com/unbraid/unbraid/plugins/hessians/central"
)

// TestPaperSettings prints what the paper's settings achieve at d = 100.
func TestPaperSettings(t *testing.T) {
	if os.Getenv("UNBRAID_SLOW") == "" {
		t.Skip("takes minutes: set UNBRAID_SLOW=1")
	}
	seeds := 10
	if n, err := strconv.Atoi(os.Getenv("UNBRAID_SEEDS")); err == nil {
		seeds = n
	}
	const d = 100
	for _, name := range testbed.Paper {
		for _, shift := range []float64{2, 0} {
			for seed := range uint64(seeds) {
				rng := rand.New(rand.NewPCG(seed, 7))
				w := testbed.Mix(d, d, rng)
				f := testbed.PaperFunction(name, d, shift, rng)
				start := time.Now()
				s, queries, err := testbed.Run(core.NewLinear(f, w), d, 5_000_000, seed, central.Component(), Component(),
					map[string]any{"step": 1e-3}, nil)
				if err != nil {
					t.Fatalf("%s seed %d: %v", name, seed, err)
				}
				within, worst := testbed.Score(w, s.W)
				fmt.Printf("%-16s shift %g seed %d: %d queries, %3.0f %% of rows, worst %.1e, verdict %s, residual %.1e, %.1f s; %v\n",
					name, shift, seed, queries, 100*within, worst, s.Certificate.Verdict, s.Certificate.Residual, time.Since(start).Seconds(), s.Certificate.Notes)
				least := 1.0
				if name == "different-powers" && shift > 0 {
					// Values are so large that a step of 1e-3 leaves errors of
					// about 1e-4 in the rows with exponents next to 2.
					least = 0.97
				}
				if name != "squared-norm" && within < least {
					t.Errorf("%s seed %d: only %.0f %% of the rows", name, seed, 100*within)
				}
			}
		}
	}
}
