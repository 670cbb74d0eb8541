package joint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/estimators/internal/testbed"
	"github.com/unbraid/unbraid/plugins/hessians/shared"
	"gonum.org/v1/gonum/mat"
)

func TestDbg(t *testing.T) {
	if os.Getenv("DBG") == "" {
		t.Skip()
	}
	for _, d := range []int{2, 3, 6, 12, 30} {
		for name, mk := range map[string]func(rng *rand.Rand) testbed.Function{
			"rastrigin":   func(rng *rand.Rand) testbed.Function { return testbed.PaperFunction("rastrigin", d, 2, rng) },
			"rl":          func(rng *rand.Rand) testbed.Function { return testbed.PaperFunction("rastrigin-like", d, 2, rng) },
			"dp":          func(rng *rand.Rand) testbed.Function { return testbed.PaperFunction("different-powers", d, 2, rng) },
			"sq":          func(rng *rand.Rand) testbed.Function { return testbed.PaperFunction("squared-norm", d, 2, rng) },
			"half":        func(rng *rand.Rand) testbed.Function {
				return testbed.Sum(d, 2, rng, func(j int, y float64) float64 {
					if j%2 == 0 {
						return float64(j+1) * y * y
					}
					return testbed.Rastrigin(j, y)
				})
			},
			"linear-one": func(rng *rand.Rand) testbed.Function {
				return testbed.Sum(d, 2, rng, func(j int, y float64) float64 {
					if j == 0 {
						return 3 * y
					}
					return testbed.Rastrigin(j, y)
				})
			},
			"scales": func(rng *rand.Rand) testbed.Function {
				return testbed.Sum(d, 2, rng, func(j int, y float64) float64 { return math.Pow(10, 6*float64(j)/float64(d)) * (y*y + math.Sin(3*y)) })
			},
			"logcosh": func(rng *rand.Rand) testbed.Function {
				return testbed.Sum(d, 2, rng, func(j int, y float64) float64 { return math.Log(math.Cosh(2 * y)) })
			},
			"rosenbrock": func(rng *rand.Rand) testbed.Function {
				return func(z []float64) float64 {
					var sum float64
					for j := range d - 1 {
						a, b := z[j], z[j+1]
						sum += 100*(b-a*a)*(b-a*a) + (1-a)*(1-a)
					}
					return sum
				}
			},
			"norm": func(rng *rand.Rand) testbed.Function {
				return func(z []float64) float64 { return mat.Norm(mat.NewVecDense(d, z), 2) }
			},
			"max":  func(rng *rand.Rand) testbed.Function { return func(z []float64) float64 { return mat.Norm(mat.NewVecDense(d, z), math.Inf(1)) } },
			"abs":  func(rng *rand.Rand) testbed.Function { return func(z []float64) float64 { return mat.Norm(mat.NewVecDense(d, z), 1) } },
			"step": func(rng *rand.Rand) testbed.Function { return func(z []float64) float64 { return math.Floor(z[0]) + math.Floor(3*z[1]) } },
			"noise": func(rng *rand.Rand) testbed.Function { return func(z []float64) float64 { return rng.NormFloat64() } },
			"noisy-rastrigin": func(rng *rand.Rand) testbed.Function {
				f := testbed.PaperFunction("rastrigin", d, 2, rng)
				return func(z []float64) float64 { return f(z) + 1e-6*rng.NormFloat64() }
			},
			"tiny": func(rng *rand.Rand) testbed.Function {
				f := testbed.PaperFunction("rastrigin", d, 2, rng)
				return func(z []float64) float64 { return 1e-200 * f(z) }
			},
			"huge": func(rng *rand.Rand) testbed.Function {
				f := testbed.PaperFunction("rastrigin", d, 2, rng)
				return func(z []float64) float64 { return 1e200 * f(z) }
			},
		} {
			count := map[string]int{}
			most := 0
			bad := 0
			for seed := range uint64(20) {
				rng := rand.New(rand.NewPCG(seed, 7))
				w := testbed.Mix(d, d, rng)
				s, n, err := testbed.Run(core.NewLinear(mk(rng), w), d, 10_000_000, seed, shared.Component(), Component(), nil, nil)
				most = max(most, n)
				if err != nil {
					count["error "+err.Error()[:40]]++
					continue
				}
				in, _ := testbed.Score(w, s.W)
				v := string(s.Certificate.Verdict)
				if v == "separable" && in < 1 {
					bad++
				}
				count[v]++
			}
			fmt.Println(d, name, count, "incomplete but separable:", bad, "most", most, "Hessians", most/(d*d+d+1))
		}
	}
}
