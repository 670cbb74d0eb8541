package core

import (
	"context"
	"fmt"

	"github.com/unbraid/unbraid/core/kernel"
	"gonum.org/v1/gonum/mat"
)

// Linear is an objective behind a linear map: x -> f(A x).
type Linear struct {
	inner Objective
	a     *mat.Dense
	image Buffer
}

// NewLinear puts a in front of an objective. Linear keeps one buffer and so is
// not safe for concurrent use.
func NewLinear(inner Objective, a *mat.Dense) *Linear {
	return &Linear{inner: inner, a: a}
}

// Evaluate implements Objective.
func (l *Linear) Evaluate(ctx context.Context, dst []float64, x *mat.Dense) error {
	m, d := l.a.Dims()
	rows, cols := x.Dims()
	if cols != d {
		return fmt.Errorf("%w: points have %d coordinates, the map takes %d", ErrShape, cols, d)
	}
	ax := l.image.Dense(rows, m)
	kernel.MulT(ax, x, l.a)
	return l.inner.Evaluate(ctx, dst, ax)
}

// Buffer is a matrix that is reused from call to call, so that a steady state
// allocates nothing.
type Buffer struct{ m *mat.Dense }

// Dense returns a matrix of the given size with unspecified contents, valid
// until the next call.
func (b *Buffer) Dense(rows, cols int) *mat.Dense {
	if b.m == nil {
		b.m = mat.NewDense(rows, cols, nil)
		return b.m
	}
	raw := b.m.RawMatrix()
	if raw.Rows != rows || raw.Cols != cols {
		if cap(raw.Data) < rows*cols {
			raw.Data = make([]float64, rows*cols)
		}
		raw.Rows, raw.Cols, raw.Stride, raw.Data = rows, cols, cols, raw.Data[:rows*cols]
		b.m.SetRawMatrix(raw)
	}
	return b.m
}
