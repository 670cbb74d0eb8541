package cbo

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// batch chooses the particles that make a step and keeps the values of all.
type batch struct {
	size   int
	rng    *rand.Rand
	order  []int // of all particles
	used   int   // how far it is used up
	chosen []int // part of order; nil at the start, when all are evaluated
	f      []float64
	of     []float64 // the values of the chosen
}

func newBatch(particles, size int, rng *rand.Rand) *batch {
	b := &batch{size: size, rng: rng, order: make([]int, particles), used: particles,
		f: make([]float64, particles), of: make([]float64, size)}
	for i := range b.order {
		b.order[i] = i
	}
	return b
}

// tell notes the values of the chosen, at the start those of all.
func (b *batch) tell(f []float64) {
	if b.chosen == nil {
		copy(b.f, f)
		return
	}
	for k, i := range b.chosen {
		b.f[i] = f[k]
	}
}

// choose takes the next particles of the order, or begins a new one.
func (b *batch) choose() {
	if b.used+b.size > len(b.order) {
		b.rng.Shuffle(len(b.order), func(i, j int) { b.order[i], b.order[j] = b.order[j], b.order[i] })
		b.used = 0
	}
	b.chosen = b.order[b.used : b.used+b.size]
	b.used += b.size
}

// gather copies the chosen rows of x to dst and returns their values, which
// belong to b.
func (b *batch) gather(dst, x *mat.Dense) []float64 {
	for k, i := range b.chosen {
		copy(dst.RawRowView(k), x.RawRowView(i))
		b.of[k] = b.f[i]
	}
	return b.of
}

// scatter copies the rows of moved back to their places in x.
func (b *batch) scatter(x, moved *mat.Dense) {
	for k, i := range b.chosen {
		copy(x.RawRowView(i), moved.RawRowView(k))
	}
}
