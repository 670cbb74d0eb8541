package cmaes

import "math"

// strategy holds the strategy parameters that follow from the dimension n and
// the population size lambda: Hansen, The CMA Evolution Strategy: A Tutorial
// (arXiv 1604.00772), Table 1, with the constants of pycma 4.4 where the two
// differ (cSigma, c1 for lambda < 6).
type strategy struct {
	lambda int
	// weights are the recombination weights by rank: the first mu are positive
	// and sum to 1, the others are at most 0 (active covariance update).
	weights   []float64
	mu        int
	weightSum float64 // of all weights
	muEff     float64 // variance effective selection mass of the positive ones

	cSigma, dSigma float64 // decay of the step-size path, damping
	cC             float64 // decay of the rank-one path
	c1, cMu        float64 // learning rates of the covariance
	chi            float64 // E||N(0, I)||
	gap            float64 // a decomposition serves at least this many updates
}

// defaultPopulation is 4 + 3 ln n before it is rounded down.
func defaultPopulation(n int) float64 { return 4 + 3*math.Log(float64(n)) }

// newStrategy returns the parameters for dimension n and at least two points a
// generation; without active the negative weights are 0.
func newStrategy(n, lambda int, active bool) *strategy {
	d := float64(n)
	s := &strategy{lambda: lambda, mu: lambda / 2, weights: make([]float64, lambda)}
	for i := range s.weights {
		s.weights[i] = math.Log(float64(lambda+1)/2) - math.Log(float64(i+1))
	}
	better, worse := s.weights[:s.mu], s.weights[s.mu:]
	var sumBetter, sumWorse float64
	sumBetter, s.muEff = selectionMass(better)
	sumWorse, muEffWorse := selectionMass(worse)

	s.c1 = min(1, float64(lambda)/6) * 2 / ((d+1.3)*(d+1.3) + s.muEff)
	s.cMu = min(1-s.c1, 2*(0.25+s.muEff+1/s.muEff-2)/((d+2)*(d+2)+s.muEff))

	// The negative weights sum to the smallest of: what makes the decay of C
	// vanish, what their own selection mass allows, and what keeps C positive
	// definite.
	negative := max(0, min(
		1+s.c1/s.cMu,
		1+2*muEffWorse/(s.muEff+2),
		(1-s.c1-s.cMu)/(d*s.cMu)))
	if !active {
		negative = 0
	}
	for i := range better {
		better[i] /= sumBetter
	}
	for i := range worse {
		worse[i] *= negative / -sumWorse
	}
	for _, w := range s.weights {
		s.weightSum += w
	}

	s.cSigma = (s.muEff + 2) / (d + s.muEff + 3)
	s.dSigma = 1 + 2*max(0, math.Sqrt((s.muEff-1)/(d+1))-1) + s.cSigma
	s.cC = (4 + s.muEff/d) / (d + 4 + 2*s.muEff/d)
	upper, _ := math.Lgamma((d + 1) / 2)
	lower, _ := math.Lgamma(d / 2)
	s.chi = math.Sqrt2 * math.Exp(upper-lower)
	s.gap = 1 / (10 * d * (s.c1 + s.cMu))
	return s
}

// selectionMass returns the sum of w and (sum w)^2 / sum w^2.
func selectionMass(w []float64) (sum, mass float64) {
	var squares float64
	for _, v := range w {
		sum += v
		squares += v * v
	}
	return sum, sum * sum / squares
}
