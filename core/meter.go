package core

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"
)

// Improvement is a query that gave a value below all before it.
type Improvement struct {
	Query int     // 1 for the first query
	Value float64 // the new best value
}

// Meter stands in front of an objective. It alone counts queries, enforces the
// budget, keeps the best point and notes every improvement.
//
// A value of NaN or -Inf is not usable: the query counts, the point is treated
// as worst (+Inf), and Invalid says how many there were.
type Meter struct {
	// Strict makes Evaluate fail with ErrNaN at the first unusable value.
	Strict bool

	objective Objective
	budget    int
	target    float64

	queries  int
	toTarget int
	invalid  int
	best     float64
	bestX    []float64
	trace    []Improvement

	// What others may read while the trial runs.
	liveQueries atomic.Int64
	liveBest    atomic.Uint64
}

// NewMeter returns a meter that lets budget queries through and notes when a
// value of at most target is seen (-Inf for no target).
func NewMeter(objective Objective, dim, budget int, target float64) *Meter {
	m := &Meter{objective: objective, budget: budget, target: target,
		best: math.Inf(1), bestX: make([]float64, dim)}
	m.liveBest.Store(math.Float64bits(m.best))
	return m
}

// Evaluate passes a batch on and writes its values to dst. A batch that does
// not fit into the budget is refused whole with ErrBudget.
func (m *Meter) Evaluate(ctx context.Context, dst []float64, x *mat.Dense) error {
	rows, cols := x.Dims()
	if len(dst) != rows || cols != len(m.bestX) {
		return fmt.Errorf("%w: %d points in %d dimensions and room for %d values, the problem has %d dimensions", ErrShape, rows, cols, len(dst), len(m.bestX))
	}
	if rows > m.Left() {
		return ErrBudget
	}
	if err := m.objective.Evaluate(ctx, dst, x); err != nil {
		return err
	}
	for i, f := range dst {
		m.queries++
		if math.IsNaN(f) || math.IsInf(f, -1) {
			m.invalid++
			if m.Strict {
				return fmt.Errorf("%w: query %d gave %v", ErrNaN, m.queries, f)
			}
			dst[i] = math.Inf(1)
			continue
		}
		if f < m.best {
			m.best = f
			copy(m.bestX, x.RawRowView(i))
			m.trace = append(m.trace, Improvement{Query: m.queries, Value: f})
			if m.toTarget == 0 && f <= m.target {
				m.toTarget = m.queries
			}
		}
	}
	m.liveQueries.Store(int64(m.queries))
	m.liveBest.Store(math.Float64bits(m.best))
	return nil
}

// Left is the number of queries that the budget still allows.
func (m *Meter) Left() int { return m.budget - m.queries }

// Queries is the number of queries so far.
func (m *Meter) Queries() int { return m.queries }

// Invalid is the number of values that were NaN or -Inf.
func (m *Meter) Invalid() int { return m.invalid }

// QueriesToTarget is the number of the first query that reached the target,
// 0 if none has.
func (m *Meter) QueriesToTarget() int { return m.toTarget }

// Best returns the best value and its point, +Inf and nil before there is one.
// The point belongs to the meter.
func (m *Meter) Best() (float64, []float64) {
	if len(m.trace) == 0 {
		return m.best, nil
	}
	return m.best, m.bestX
}

// Trace returns every improvement so far. It belongs to the meter.
func (m *Meter) Trace() []Improvement { return m.trace }

// Live returns the number of queries and the best value as of the last batch.
// Unlike all other methods it may be called from any goroutine.
func (m *Meter) Live() (queries int, best float64) {
	return int(m.liveQueries.Load()), math.Float64frombits(m.liveBest.Load())
}
