package split

import (
	"context"
	"fmt"
	"math"

	"github.com/unbraid/unbraid/core"
)

// maxEntries limits the numbers in a batch; with more, components take turns.
const maxEntries = 1 << 22

// component is the search along one coordinate.
type component struct {
	solver    core.Solver
	points    []float64 // its next batch, empty if it has to be asked
	allowance int       // queries that it may still use
	done      bool
	reason    string // why it is done, "" if it does not say
	seen      *profile
}

// search makes a batch of the next points of all components that can go on,
// none if there are none. The base point comes first of all.
func (s *solver) search(ctx context.Context) error {
	for j := range s.components {
		c := &s.components[j]
		if c.done || len(c.points) > 0 {
			continue
		}
		x, err := c.solver.Ask(ctx)
		if err != nil {
			return fmt.Errorf("component %d: %w", j, err)
		}
		if x == nil || x.IsEmpty() {
			if e, ok := c.solver.(core.Explainer); ok {
				c.reason = e.Reason()
			}
			s.finish(c)
		} else if _, cols := x.Dims(); cols != 1 {
			return fmt.Errorf("%w: component %d asks for points of %d coordinates instead of 1", core.ErrShape, j, cols)
		} else {
			for i := range x.RawMatrix().Rows {
				c.points = append(c.points, x.At(i, 0))
			}
		}
	}
	rows := s.choose()
	base := math.IsNaN(s.atBase) && s.left > 0
	if base {
		rows++
	}
	if rows == 0 {
		return nil
	}
	x := s.batch(rows)
	for i := range rows {
		copy(x.RawRowView(i), s.base)
	}
	i := 0
	if base {
		i++
	}
	for _, j := range s.chosen {
		for _, v := range s.components[j].points {
			x.Set(i, j, v)
			i++
		}
	}
	return nil
}

// choose picks the components of the next batch and returns the number of their
// points. If none can afford its batch, those farthest from it give up for the
// others.
func (s *solver) choose() int {
	s.chosen = s.chosen[:0]
	m, rows := len(s.components), 0
	for {
		needy, need := -1, 0
		for k := range m {
			j := (s.first + k) % m
			c := &s.components[j]
			if c.done {
				continue
			}
			n := len(c.points)
			if n > c.allowance {
				if n-c.allowance > need {
					needy, need = j, n-c.allowance
				}
				continue
			}
			if rows > 0 && (rows+n)*m > maxEntries {
				s.first = j
				return rows
			}
			s.chosen = append(s.chosen, j)
			rows += n
		}
		if rows > 0 || needy < 0 {
			return rows
		}
		s.components[needy].reason = string(core.EndBudget)
		s.finish(&s.components[needy])
	}
}

// finish ends a component and shares out what it leaves.
func (s *solver) finish(c *component) {
	c.done, c.points = true, nil
	running := 0
	for j := range s.components {
		if !s.components[j].done {
			running++
		}
	}
	for j := range s.components {
		if o := &s.components[j]; !o.done {
			part := c.allowance / running
			o.allowance += part
			c.allowance -= part
			running--
		}
	}
}

// found hands the values of a batch to the components.
func (s *solver) found(ctx context.Context, f []float64) error {
	if math.IsNaN(s.atBase) {
		s.atBase, f = f[0], f[1:]
	}
	for _, j := range s.chosen {
		c := &s.components[j]
		n := len(c.points)
		for i, s := range c.points {
			c.seen.note(s, f[i])
		}
		c.points = c.points[:0]
		c.allowance -= n
		if err := c.solver.Tell(ctx, f[:n]); err != nil {
			return fmt.Errorf("component %d: %w", j, err)
		}
		f = f[n:]
	}
	return nil
}
