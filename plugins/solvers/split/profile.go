package split

import (
	"cmp"
	"math"
	"slices"
)

// bins is the number of parts into which a profile divides the domain.
const bins = 256

// profile remembers what a component has seen of its coordinate: the best point
// in each part of the domain, the outermost parts being open.
type profile struct {
	lower, width float64 // of the domain and of a part
	value, at    [bins]float64
}

func newProfile(lower, upper float64) *profile {
	p := &profile{lower: lower, width: (upper - lower) / bins}
	for i := range p.value {
		p.value[i] = math.Inf(1)
	}
	return p
}

func (p *profile) note(s, v float64) {
	i := 0
	if t := (s - p.lower) / p.width; t > 0 { // not so where the width is 0
		i = int(min(bins-1, t))
	}
	if v < p.value[i] {
		p.value[i], p.at[i] = v, s
	}
}

// best returns the best value and where it is, +Inf if there is none.
func (p *profile) best() (v, s float64) {
	i := 0
	for k, v := range p.value {
		if v < p.value[i] {
			i = k
		}
	}
	return p.value[i], p.at[i]
}

// others returns up to n local minima with values of at most limit that are not
// near s, the lowest first.
func (p *profile) others(s, limit float64, n int) []float64 {
	var seen, found []int
	for i, v := range p.value {
		if !math.IsInf(v, 1) {
			seen = append(seen, i)
		}
	}
	for k, i := range seen {
		v := p.value[i]
		low := (k == 0 || v <= p.value[seen[k-1]]) && (k == len(seen)-1 || v < p.value[seen[k+1]])
		if low && v <= limit && math.Abs(p.at[i]-s) > 2*p.width {
			found = append(found, i)
		}
	}
	slices.SortStableFunc(found, func(a, b int) int { return cmp.Compare(p.value[a], p.value[b]) })
	var out []float64
	for _, i := range found[:min(n, len(found))] {
		out = append(out, p.at[i])
	}
	return out
}
