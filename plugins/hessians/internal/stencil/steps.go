package stencil

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// steps chooses the step of every direction.
//
// Write f4 for the fourth derivative along a direction. A second difference
// with step s is wrong by about |f4| s^2 / 12, because f is not a parabola, and
// by 3 e / s^2, because values of f are only known to within e. The best step is s = (36 e / |f4|)^(1/4). Both quantities are
// observed: e from a table of differences of closely spaced values (Hamming;
// Moré and Wild, Estimating computational noise, 2011), f4 from second
// differences with steps h and 2h. The fourth root forgives rough estimates.
type steps struct {
	h        []float64 // steps, in units of the directions' lengths
	stretch  float64   // factor on the best step
	length   float64   // the length scale of x
	rounding float64   // e
	noise    [noisePoints]float64
	trial    []float64 // values at +h, -h, +2h, -2h of every direction
	round    int
	fresh    bool // no sample has had its steps chosen yet
}

const (
	noisePoints = 9 // points of the table of differences, x among them
	maxRounds   = 4 // trials of a direction at the most

	noiseSpacing = 1e-6    // of the table, in units of the length scale
	firstStep    = 1e-2    // of the first trial, in the same units
	growth       = 16      // of a step that drowns in rounding errors
	shrink       = 1. / 64 // of a step at once, at the most
	maxMove      = 5       // the longest step, in units of sqrt(d) times the length scale
)

func (s *steps) reset(m int, stretch float64) {
	s.stretch = stretch
	if stretch == 0 {
		s.stretch = 1
	}
	s.h = make([]float64, m)
	s.trial = make([]float64, 4*m)
	s.fresh = true
}

// noisePhase asks for x and points on both sides of it on a line oblique to
// all axes.
func (a *Approximator) noisePhase() phase {
	s := &a.steps
	s.length = a.scale
	if s.length == 0 {
		s.length = mat.Norm(a.x.RowView(a.sample), 2) / math.Sqrt(float64(a.dim))
	}
	if s.length == 0 {
		s.length = 1
	}
	return phase{
		total: noisePoints,
		place: func(row []float64, n int) {
			t := float64(n-noisePoints/2) * noiseSpacing * s.length
			for i := range row {
				row[i] += t * (1 + float64(i%7)/7) * side(i*(i+1)/2)
			}
		},
		take: func(n int, f float64) {
			s.noise[n] = f
			if n == noisePoints/2 {
				a.centre = a.use(f)
			}
		},
		done: func() {
			s.rounding = roundingError(s.noise[:])
			s.round = 0
			if s.fresh {
				s.fresh = false
				for i := range s.h {
					s.h[i] = a.firstTrial(i)
				}
			}
			a.todo = a.todo[:0]
			for i := range a.m {
				a.todo = append(a.todo, i)
			}
			a.start(a.trialPhase())
		},
	}
}

// norm is the length of direction i, 1 if that is zero.
func (a *Approximator) norm(i int) float64 {
	if a.v == nil {
		return 1
	}
	if n := mat.Norm(a.v.RowView(i), 2); n > 0 {
		return n
	}
	return 1
}

// firstTrial is the first step to try along direction i: in units of the length
// scale along an axis. Given directions are supposed to have lengths that suit
// f, unless they are shorter than the length scale.
func (a *Approximator) firstTrial(i int) float64 {
	if a.v == nil {
		return firstStep * a.steps.length
	}
	return firstStep * max(1, a.steps.length/a.norm(i))
}

// roundingError estimates the error of the values f of closely spaced points.
// Differences of order k of independent errors with variance e^2 have variance
// e^2 (2k)! / (k!)^2, while those of a smooth function vanish. The smallest of
// three orders is taken, as anything else in the values makes them larger, and
// twice that, but at least half a unit in the last place of the values.
func roundingError(f []float64) float64 {
	var largest float64
	for _, v := range f {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			largest = max(largest, math.Abs(v))
		}
	}
	floor := max(largest*0x1p-53, 0x1p-1000)
	least, variance := math.Inf(1), 1.0
	table := make([]float64, len(f))
	for i, v := range f {
		table[i] = v / floor // so that squares stay in range
	}
	for k := 1; k <= 6; k++ {
		variance *= float64(2*k*(2*k-1)) / float64(k*k)
		var sum float64
		for i := range len(table) - 1 {
			table[i] = table[i+1] - table[i]
			sum += table[i] * table[i]
		}
		table = table[:len(table)-1]
		if e := math.Sqrt(sum / variance / float64(len(table))); k >= 4 && e < least {
			least = e
		}
	}
	if math.IsInf(least, 1) {
		return floor
	}
	return floor * max(2*least, 1)
}

// trialPhase asks along the directions in todo with steps h and 2h.
func (a *Approximator) trialPhase() phase {
	s := &a.steps
	return phase{
		total: 4 * len(a.todo),
		place: func(row []float64, n int) {
			i := a.todo[n/4]
			a.move(row, i, side(n)*float64(1+n%4/2)*s.h[i])
		},
		take: func(n int, f float64) { s.trial[4*a.todo[n/4]+n%4] = f },
		done: func() {
			s.round++
			again := a.todo[:0]
			for _, i := range a.todo {
				f := s.trial[4*i : 4*i+4]
				limit := maxMove * s.length * math.Sqrt(float64(a.dim)) / a.norm(i)
				h, settled := nextStep(s.h[i], a.centre, f, s.rounding, s.stretch, s.round == maxRounds)
				if h > limit {
					h, settled = max(limit, s.h[i]), true
				}
				if h == s.h[i] {
					// The trial's points are the stencil's.
					from := 2 * (int(a.rule.Reach) - 1)
					a.axis[2*i], a.axis[2*i+1] = f[from], f[from+1]
					a.known[i] = true
				}
				s.h[i] = h
				if !settled {
					a.known[i] = false
					again = append(again, i)
				}
			}
			a.todo = again
			if len(again) > 0 {
				a.start(a.trialPhase())
				return
			}
			a.start(a.axisPhase())
		},
	}
}

// nextStep judges the step h from the values at x (centre) and at +h, -h, +2h,
// -2h (f), which have errors of size e. It returns the step to use, or, when
// that is not settled yet, the step to try next. The last trial always settles
// on a step.
func nextStep(h, centre float64, f []float64, e, stretch float64, last bool) (next float64, settled bool) {
	near := ((f[0] - centre) + (f[1] - centre)) / (h * h)
	far := ((f[2] - centre) + (f[3] - centre)) / (4 * h * h)
	change := math.Abs(far - near) // |f4| h^2 / 4
	rounding := 3 * e / (h * h)
	switch {
	case math.IsNaN(change) || math.IsInf(change, 0):
		return h / 8, last
	case change <= 3*rounding:
		// The change cannot be told from rounding errors: a longer step is
		// better unless the errors are negligible as they are.
		if last || rounding <= 1e-10*math.Abs(near) {
			return h, true
		}
		return growth * h, false
	}
	best := stretch * math.Sqrt(math.Sqrt(9*e/change*h*h))
	switch {
	case best > 3*h:
		return best, true
	case best > h/3:
		return h, true
	case best >= shrink*h && change < math.Abs(near)/3:
		return best, true // f4 is constant enough to trust the formula
	case last:
		return best, true
	}
	return max(best, shrink*h), false
}
