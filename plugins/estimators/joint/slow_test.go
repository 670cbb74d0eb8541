package joint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/estimators/internal/testbed"
	"github.com/unbraid/unbraid/plugins/hessians/shared"
	"gonum.org/v1/gonum/mat"
)

// TestTable prints queries, rows recovered and time for the functions of the
// paper, and checks the limits that are promised for d = 100. UNBRAID_DIM
// selects one dimension.
func TestTable(t *testing.T) {
	if os.Getenv("UNBRAID_SLOW") == "" {
		t.Skip("takes minutes: set UNBRAID_SLOW=1")
	}
	dims := []int{20, 50, 100, 200}
	if s := os.Getenv("UNBRAID_DIM"); s != "" {
		d, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		dims = []int{d}
	}
	limit := map[string]int{"rastrigin": 70_000, "rastrigin-like": 70_000, "different-powers": 130_000, "squared-norm": 45_000, "rank 10": 70_000}
	for _, d := range dims {
		seeds, shifts := 10, []float64{2, 0}
		if d > 100 {
			seeds, shifts = 2, shifts[:1]
		}
		for _, name := range append([]string{"rank 10"}, testbed.Paper...) {
			for _, shift := range shifts {
				var queries, least, worst, seconds float64
				most := 0
				least = 1
				for seed := range uint64(seeds) {
					rng := rand.New(rand.NewPCG(seed, 7))
					m, function := d, name
					if name == "rank 10" {
						m, function = 10, "rastrigin"
					}
					w := testbed.Mix(m, d, rng)
					f := testbed.PaperFunction(function, m, shift, rng)
					start := time.Now()
					s, n, err := testbed.Run(core.NewLinear(f, w), d, 100_000_000, seed, shared.Component(), Component(), nil, nil)
					if err != nil {
						t.Errorf("%s d %d seed %d: %v", name, d, seed, err)
						continue
					}
					seconds += time.Since(start).Seconds() / float64(seeds)
					queries += float64(n) / float64(seeds)
					most = max(most, n)
					within, far := testbed.Score(w, s.W)
					verdict := core.Separable
					if name == "squared-norm" {
						verdict = core.Quadratic
						within, far = 1, offIdentity(w, s.Inverse)
					}
					if s.Certificate.Verdict != verdict {
						t.Errorf("%s d %d seed %d: verdict %s, want %s; %v", name, d, seed, s.Certificate.Verdict, verdict, s.Certificate)
					}
					least, worst = min(least, within), max(worst, far)
				}
				fmt.Printf("d %3d  %-16s shift %g: %7.0f queries, at most %7d, rows at least %3.0f %%, worst %.1e, %.2f s\n",
					d, name, shift, queries, most, 100*least, worst, seconds)
				if d == 100 && (most > limit[name] || least < 0.98 || name == "squared-norm" && worst > 1e-3 || name != "different-powers" && name != "squared-norm" && worst > 1e-5) {
					t.Errorf("%s at d = 100 misses its limits", name)
				}
			}
		}
	}
}

// offIdentity is the largest entry of VᵀHV - I for H = WᵀW, the columns of V
// scaled so that its diagonal is 1.
func offIdentity(w, v *mat.Dense) float64 {
	wv := product(w, v)
	_, m := wv.Dims()
	for j := range m {
		column := mat.Col(nil, j, wv)
		testbed.Normalise(column)
		wv.SetCol(j, column)
	}
	h := product(wv.T(), wv)
	var worst float64
	for i := range m {
		for j := range m {
			if i != j {
				worst = max(worst, math.Abs(h.At(i, j)))
			}
		}
	}
	return worst
}
