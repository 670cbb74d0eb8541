package cmaes

import (
	"math"
	"testing"
)

// near compares to the number of digits that the tables give.
func near(t *testing.T, what string, n, lambda int, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Max(1e-12, math.Abs(want))) {
		t.Errorf("n = %d, lambda = %d: %s is %.8g, want %g", n, lambda, what, got, want)
	}
}

func negativeSum(s *strategy) (sum float64) {
	for _, w := range s.weights[s.mu:] {
		sum -= w
	}
	return sum
}

// The values were read from pycma 4.4.0.
func TestStrategyDefaults(t *testing.T) {
	for _, want := range []struct {
		n, lambda, mu                                     int
		muEff, negative, c1, cMu, cC, cSigma, dSigma, gap float64
	}{
		{2, 6, 3, 2.028611, 2.207324, 0.154815, 0.0855928, 0.624555, 0.573173, 1.57317, 0.2080},
		{5, 8, 4, 2.600179, 1.988158, 0.0472923, 0.047859, 0.4502, 0.433972, 1.43397, 0.2102},
		{10, 10, 5, 3.167299, 1.648946, 0.0152838, 0.0235518, 0.29499, 0.319614, 1.31961, 0.2575},
		{20, 12, 6, 3.729459, 1.474402, 0.00437235, 0.00921656, 0.171767, 0.21435, 1.21435, 0.3679},
		{40, 15, 7, 4.540915, 1.343424, 0.00116943, 0.00340522, 0.0930092, 0.137585, 1.13758, 0.5465},
		{100, 17, 8, 5.096189, 1.286206, 0.000194803, 0.000680638, 0.0389134, 0.065647, 1.06565, 1.1423},
		{200, 19, 9, 5.647567, 1.247130, 4.93494e-05, 0.00019969, 0.0197408, 0.036653, 1.03665, 2.0077},
	} {
		lambda := int(defaultPopulation(want.n))
		if lambda != want.lambda {
			t.Errorf("n = %d: lambda is %d, want %d", want.n, lambda, want.lambda)
		}
		s := newStrategy(want.n, lambda, true)
		if s.mu != want.mu {
			t.Errorf("n = %d: mu is %d, want %d", want.n, s.mu, want.mu)
		}
		near(t, "muEff", want.n, lambda, s.muEff, want.muEff, 1e-6)
		near(t, "sum of negative weights", want.n, lambda, negativeSum(s), want.negative, 1e-6)
		near(t, "c1", want.n, lambda, s.c1, want.c1, 1e-5)
		near(t, "cMu", want.n, lambda, s.cMu, want.cMu, 1e-5)
		near(t, "cC", want.n, lambda, s.cC, want.cC, 1e-5)
		near(t, "cSigma", want.n, lambda, s.cSigma, want.cSigma, 1e-5)
		near(t, "dSigma", want.n, lambda, s.dSigma, want.dSigma, 1e-5)
		near(t, "gap", want.n, lambda, s.gap, want.gap, 3e-4)
		root := math.Sqrt(float64(want.n))
		near(t, "chi", want.n, lambda, s.chi, root*(1-1/(4*float64(want.n))+1/(21*float64(want.n*want.n))), 1e-3)
	}
}

func TestStrategyLargePopulations(t *testing.T) {
	for _, want := range []struct {
		lambda                                       int
		muEff, c1, cMu, cSigma, dSigma, cC, negative float64
	}{
		{20, 5.939, 0.014967, 0.05812, 0.41918, 1.4192, 0.30247, 1.2575},
		{40, 11.309, 0.014389, 0.12424, 0.5475, 1.5475, 0.31552, 0.6933},
		{80, 21.788, 0.01338, 0.24228, 0.6838, 2.4332, 0.33658, 0.3072},
		{160, 42.384, 0.01176, 0.43627, 0.80139, 3.6806, 0.36653, 0.1265},
		{320, 83.103, 0.009488, 0.71655, 0.88554, 5.3496, 0.40203, 0.0382},
		{640, 163.952, 0.0068577, 0.99314, 0.93784, 7.6356, 0.43588, 0},
	} {
		s := newStrategy(10, want.lambda, true)
		near(t, "muEff", 10, want.lambda, s.muEff, want.muEff, 1e-4)
		near(t, "c1", 10, want.lambda, s.c1, want.c1, 1e-4)
		near(t, "cMu", 10, want.lambda, s.cMu, want.cMu, 1e-4)
		near(t, "cSigma", 10, want.lambda, s.cSigma, want.cSigma, 1e-4)
		near(t, "dSigma", 10, want.lambda, s.dSigma, want.dSigma, 1e-4)
		near(t, "cC", 10, want.lambda, s.cC, want.cC, 1e-4)
		near(t, "sum of negative weights", 10, want.lambda, negativeSum(s), want.negative, 2e-3)
	}
}

func TestStrategyWeights(t *testing.T) {
	want := []float64{0.456273, 0.270753, 0.162231, 0.085234, 0.025510, -0.080013, -0.221764, -0.344555, -0.452864, -0.549750}
	for i, w := range newStrategy(10, 10, true).weights {
		near(t, "a weight", 10, 10, w, want[i], 2e-5)
	}
	s := newStrategy(10, 10, false)
	if sum := negativeSum(s); sum != 0 {
		t.Errorf("inactive: the negative weights sum to %g", sum)
	}
	for _, lambda := range []int{2, 3, 4, 5, 7, 1000} {
		for _, n := range []int{1, 2, 30} {
			s := newStrategy(n, lambda, true)
			for _, v := range []float64{s.muEff, s.c1, s.cMu, s.cSigma, s.dSigma, s.cC, s.chi, s.gap, s.weightSum} {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("n = %d, lambda = %d: %+v", n, lambda, s)
				}
			}
			if s.weights[s.mu] > 0 {
				t.Errorf("n = %d, lambda = %d: weight %d is positive", n, lambda, s.mu)
			}
		}
	}
}

// The sizes that pycma's doubling gives, and its stagnation times.
func TestSchedules(t *testing.T) {
	for n, want := range map[int][]int{
		2:  {6, 12, 24, 48, 97},
		5:  {8, 17, 35, 70, 141, 282, 565, 1130, 2260},
		10: {10, 21, 43, 87, 174, 349},
	} {
		for k, size := range want {
			if got := largePopulation(defaultPopulation(n), k); got != size {
				t.Errorf("n = %d: large run %d has %d points, want %d", n, k, got, size)
			}
		}
	}
	for n, want := range map[int]float64{5: 226, 10: 389, 20: 788, 40: 1779} {
		if got := stagnationTime(n, defaultPopulation(n)); got != want {
			t.Errorf("n = %d: stagnation time %g, want %g", n, got, want)
		}
	}
	if lambda, sigma := smallRun(10.9, 2, 3, 1, 1); lambda != 87 || math.Abs(sigma-0.02) > 1e-15 {
		t.Errorf("the extreme small run has %d points and sigma %g, want 87 and 0.02", lambda, sigma)
	}
	if lambda, sigma := smallRun(10.9, 2, 3, 0, 0); lambda != 10 || sigma != 2 {
		t.Errorf("the plain small run has %d points and sigma %g, want 10 and 2", lambda, sigma)
	}
}
