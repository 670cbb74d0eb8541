package cmaes

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// limits are the thresholds of the stopping criteria.
type limits struct {
	generations  int     // "maxiter"
	tolFun       float64 // "tolfun": range of the values of this generation and of the recent best ones
	tolFunHist   float64 // "tolfunhist": range of the recent best values alone
	tolX         float64 // "tolx": spread in units of unit
	tolFacUpX    float64 // "tolfacupx": growth of a standard deviation over the start of the run
	tolCondition float64 // "conditioncov"
	stagnation   float64 // "stagnation": the time T_s in generations
	unit         float64 // step size of the first run
}

// The criteria that are not worth a parameter, as in pycma but with lengths in
// units of the first step size.
const (
	tolUpSigma     = 1e20  // "tolupsigma": growth of sigma that is not C's
	tolXStagnation = 1e-10 // "tolxstagnation": the mean has moved less
	flatShare      = 0.75  // "flatfitness": this share of a generation has the same value
	maxRecords     = 20000 // memory of "stagnation"
)

// stagnationTime is T_s = 100 + 100 n^1.5 / lambda, rounded down.
func stagnationTime(n int, lambda float64) float64 {
	return math.Floor(100 + 100*math.Pow(float64(n), 1.5)/lambda)
}

// defaultGenerations is 100 + 150 (n+3)^2 / sqrt(lambda), rounded down.
func defaultGenerations(n int, lambda float64) int {
	return 100 + int(150*float64((n+3)*(n+3))/math.Sqrt(lambda))
}

// stopping is the memory of the stopping criteria of one run.
type stopping struct {
	limits
	stop       string // the criterion that was met
	startSigma float64

	recent []float64 // ring of the best values of the last generations
	flat   int       // generations in a row that were flat

	bestEver       float64
	bestGeneration int
	// Best and median value of every fifth generation, oldest first.
	bests, medians []float64
	sorted         []float64

	anchor           []float64 // where the mean was
	anchorGeneration int
}

func newStopping(lim limits, n, lambda int, start []float64, sigma float64) stopping {
	return stopping{
		limits: lim, startSigma: sigma,
		recent:   make([]float64, 0, 10+30*n/lambda),
		bestEver: math.Inf(1), anchor: slices.Clone(start),
	}
}

// criterion notes the generation that e has just completed and returns the
// name of a criterion that it meets, "" for none. Infinite values meet none of
// the ranges, because Inf - Inf is not below any tolerance.
func (s *stopping) criterion(e *evolution, f []float64) string {
	n, lambda := len(e.mean), len(f)
	best, median, worst := f[e.order[0]], f[e.order[lambda/2]], f[e.order[lambda-1]]

	if len(s.recent) < cap(s.recent) {
		s.recent = append(s.recent, best)
	} else {
		s.recent[(e.generation-1)%len(s.recent)] = best
	}
	if best < s.bestEver {
		s.bestEver, s.bestGeneration = best, e.generation
	}
	if best == f[e.order[int(flatShare*float64(lambda))]] {
		s.flat++
	} else {
		s.flat = 0
	}

	history := floats.Max(s.recent) - floats.Min(s.recent)
	switch {
	case worst-best < s.tolFun && history < s.tolFun:
		return "tolfun"
	case len(s.recent) > 9 && history < s.tolFunHist:
		return "tolfunhist"
	case s.flat > 1:
		return "flatfitness"
	}

	widest, small := 0.0, true
	for j := range n {
		spread := e.sigma * math.Sqrt(e.cov[j*n+j])
		widest = max(widest, spread)
		small = small && spread < s.tolX*s.unit && e.sigma*math.Abs(e.pathC[j]) < s.tolX*s.unit
		if m := e.mean[j]; m == m+0.2*spread*e.scale[j] {
			return "noeffectcoord"
		}
	}
	switch {
	case small:
		return "tolx"
	case widest > s.tolFacUpX*s.startSigma:
		return "tolfacupx"
	case e.sigma > tolUpSigma*s.startSigma*floats.Max(e.axis):
		return "tolupsigma"
	case e.axisHasNoEffect(e.generation % n):
		return "noeffectaxis"
	case s.stuck(e):
		return "tolxstagnation"
	case s.stagnates(e, best, median):
		return "stagnation"
	case e.generation >= s.generations:
		return "maxiter"
	}
	return ""
}

// axisHasNoEffect reports whether the mean stays the same number when a tenth
// of a standard deviation along axis i of C is added.
func (e *evolution) axisHasNoEffect(i int) bool {
	n := len(e.mean)
	for j, m := range e.mean {
		if m != m+0.1*e.sigma*e.axis[i]*e.scale[j]*e.basis[j*n+i] {
			return false
		}
	}
	return true
}

// stuck reports whether the mean has stayed where it was for more than
// 20 + generation/10 generations.
func (s *stopping) stuck(e *evolution) bool {
	var moved float64
	for j, m := range e.mean {
		d := (m - s.anchor[j]) / e.scale[j]
		moved += d * d
	}
	if limit := tolXStagnation * s.unit; moved > limit*limit {
		copy(s.anchor, e.mean)
		s.anchorGeneration = e.generation
		return false
	}
	return float64(e.generation-s.anchorGeneration) > 20+0.1*float64(e.generation)
}

// stagnates reports whether neither the best nor the median values of the
// generations are getting better, over a window that grows with the run.
func (s *stopping) stagnates(e *evolution, best, median float64) bool {
	if e.generation%5 != 0 {
		return false
	}
	if len(s.bests) == maxRecords {
		s.bests, s.medians = slices.Delete(s.bests, 0, 1), slices.Delete(s.medians, 0, 1)
	}
	s.bests, s.medians = append(s.bests, best), append(s.medians, median)
	records := len(s.bests)
	window := int(max(s.stagnation, float64(records)) / 10)
	if float64(e.generation) <= float64(len(e.mean))*(5+100/float64(e.lambda)) ||
		float64(e.generation-s.bestGeneration) <= s.stagnation/2 ||
		records <= 100 || records <= 2*window {
		return false
	}
	return s.noBetter(s.medians, window) && s.noBetter(s.bests, window)
}

// noBetter reports whether the median of the last window values is at least
// that of the window before.
func (s *stopping) noBetter(values []float64, window int) bool {
	end := len(values)
	return s.median(values[end-window:]) >= s.median(values[end-2*window:end-window])
}

func (s *stopping) median(values []float64) float64 {
	s.sorted = append(s.sorted[:0], values...)
	slices.Sort(s.sorted)
	half := len(s.sorted) / 2
	if len(s.sorted)%2 == 1 {
		return s.sorted[half]
	}
	return (s.sorted[half-1] + s.sorted[half]) / 2
}
