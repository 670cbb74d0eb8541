package objectives

import (
	"math"

	"github.com/unbraid/unbraid/core"
)

type blocksParams struct {
	Sizes []int   `param:"sizes" doc:"sizes of the blocks, which add up to the dimension; empty means pairs, with a last block of three if the dimension is odd" min:"1"`
	A     float64 `param:"A" doc:"height of the ripples" min:"0" max:"1e6"`
	Shift float64 `param:"shift" doc:"the minimiser is moved by a vector uniform on [-shift, shift]^d" min:"0" max:"1e6"`
}

// Blocks is Rastrigin's function of the lengths of blocks of coordinates.
func Blocks() core.Component {
	return core.NewObjective("blocks", `Rastrigin's function block by block: blocks of coordinates, and not coordinates, are separate.

f(x) = sum_B r_B^2 + A (1 - cos(2 pi r_B)) with r_B the Euclidean length of
(x - b)_B, over blocks B of neighbouring coordinates; minimum 0 at b. A block of
one coordinate is a term of Rastrigin's function; a larger one has rings and
shells of local minima. f is smooth, and the Hessians of a block at different
points have no basis in common in which they are diagonal, so that no linear
change of coordinates splits a block. With one dimension there is one block of
one. Domain [-5.12, 5.12]^d. Made for this collection.`,
		blocksParams{A: 10},
		func(p blocksParams, env *core.Env) (core.Objective, error) {
			sizes, err := blockSizes(p.Sizes, env.Dim)
			if err != nil {
				return nil, err
			}
			lengths := make([]float64, len(sizes))
			return newShifted(env, p.Shift, -5.12, 5.12, 0, nil, func(z []float64) float64 {
				for i, size := range sizes {
					lengths[i] = math.Sqrt(squaredNorm(z[:size]))
					z = z[size:]
				}
				return rastrigin(lengths, p.A)
			}), nil
		})
}

// blockSizes checks the given sizes or, without any, makes pairs.
func blockSizes(sizes []int, d int) ([]int, error) {
	if len(sizes) == 0 {
		for left := d; left > 0; left -= sizes[len(sizes)-1] {
			size := 2
			if left == 3 || left == 1 {
				size = left
			}
			sizes = append(sizes, size)
		}
		return sizes, nil
	}
	left := d
	for _, size := range sizes {
		if size > left {
			return nil, core.BadParam("sizes", "add up to more than the dimension, %d", d)
		}
		left -= size
	}
	if left > 0 {
		return nil, core.BadParam("sizes", "add up to %d, must add up to the dimension, %d", d-left, d)
	}
	return sizes, nil
}
