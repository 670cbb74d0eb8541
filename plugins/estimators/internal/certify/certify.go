// Package certify tests on fresh points whether f falls apart along estimated
// directions.
//
// For f(x) = sum_j f_j(<x, w_j>) and displacements u and v that move disjoint
// sets of the coordinates z = Wx, the mixed difference
//
//	f(x+u+v) - f(x+u) - f(x+v) + f(x)
//
// vanishes exactly, however long u and v are. Three values beside f(x) so test
// all pairs between two sets at once, and splitting sets in halves finds the
// pairs that hang together.
package certify

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/plugins/estimators/internal/draw"
	"github.com/unbraid/unbraid/plugins/estimators/internal/script"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	// redraws is how often fresh points with values that are not finite are
	// replaced.
	redraws = 3

	// coupled is the size of a mixed difference of two directions, relative to
	// the geometric mean of their own second differences, from which on they
	// count as hanging together.
	coupled = 0.02

	// noise is the error of a mixed difference in units in the last place of
	// the values it is made of.
	noise = 256

	// negligible is the part of a typical change of f from which on f counts
	// as changing along rows that should have no effect.
	negligible = 1e-2

	// SearchPerRow is the number of queries a row that may be spent on finding
	// out which rows hang together, where some do: enough for pairs everywhere.
	SearchPerRow = 200

	// together is the number of pairs of sets tested in one batch.
	together = 16
)

// Result is what the test found.
type Result struct {
	// Residual is the largest mixed difference of two sets of directions that
	// together are all, relative to the sums of their own second differences;
	// between 0 and 1, and 1 if nothing could be tested.
	Residual float64
	// Blocks lists the sets of two or more rows that hang together, in order.
	Blocks [][]int
	// Largest is the size of the largest block, 1 if there is none.
	Largest int
	// Complete is false if the search for blocks was broken off: because one
	// holds more than half of the rows, or at the limit of queries.
	Complete bool
	// Blind says that along some direction f was not finite or did not change,
	// so that it could not be tested.
	Blind bool
	// Straight says that along the estimates f is mostly linear at the fresh
	// points, where it should be curved: it is not smooth.
	Straight bool
	// More says that f also changes along rows that were only filled up, or
	// orthogonally to all rows.
	More bool
}

// Verdict sums up the result for rows that are identified.
func (r *Result) Verdict(rows int) core.Verdict {
	switch {
	case r.Blind || r.Straight || r.More || !r.Complete || 2*r.Largest > rows && r.Largest > 1:
		return core.NotSeparable
	case r.Largest > 1:
		return core.Blocks
	}
	return core.Separable
}

// Notes explains a bad result to people.
func (r *Result) Notes() []string {
	switch {
	case r.Blind:
		return []string{"along some row f is not finite or does not change at the fresh points, so that the structure could not be tested"}
	case r.Straight:
		return []string{"f is linear or constant around most fresh points although its Hessians are not zero: it is not smooth"}
	case r.More:
		return []string{"f also changes along other directions than the rows found"}
	case !r.Complete:
		return []string{fmt.Sprintf("the search for blocks was broken off when %d rows hung together", r.Largest)}
	}
	return nil
}

// reach is the length of the moves from the fresh points, in turn, relative to
// the region: short and long, as a function may look smooth or flat on one
// scale.
var reach = []float64{0.1, 1, 0.3}

// bases is the number of fresh points for m directions: more where they are
// cheap.
func bases(m int) int { return 3 + 12/m }

// Cost is the number of queries that Run takes for m directions if all values
// are finite and it finds no coupling; it takes at most Limit more.
func Cost(m int) int { return bases(m) * (2 + 2*m + 3*bits.Len(uint(m-1))) }

// Subject is what is tested and with what means.
type Subject struct {
	Structure *core.Structure
	// Found is the number of rows that are estimates. f should not change
	// along the rows after them, nor orthogonally to all rows.
	Found int
	// Curved is the number of rows along which f should be curved, the first
	// ones. Along other estimates it may be linear.
	Curved int
	// Region is where fresh points come from, Rand the source for them.
	Region *draw.Region
	Rand   *rand.Rand
	// Limit is the number of queries allowed beyond Cost.
	Limit int
}

// test is one run of the search.
type test struct {
	Subject
	v      []*mat.Dense // moves from each base point: columns, one a direction
	x      *mat.Dense   // base points
	f      []float64    // their values
	bend   *mat.Dense   // second differences, a row for each base point
	change []float64    // largest change of f along a direction, without rounding errors
	beside float64      // the same orthogonally to all rows
	redraw int
	parent []int      // of the union-find structure of coupled rows
	queue  [][2][]int // pairs of sets to be tested
	result Result
	then   func(Result) (script.Step, error)
}

// Run tests a structure on fresh points and then goes on with the result.
func Run(s Subject, then func(Result) (script.Step, error)) script.Step {
	m, d := s.Structure.W.Dims()
	n := bases(m)
	t := &test{Subject: s, v: make([]*mat.Dense, n), x: mat.NewDense(n, d, nil), f: make([]float64, n),
		bend: mat.NewDense(n, m, nil), change: make([]float64, m), parent: make([]int, s.Found), then: then}
	all := make([]int, n)
	for b := range n {
		all[b] = b
		t.v[b] = moves(s.Structure.Inverse, reach[b%len(reach)]*s.Region.Length(), s.Region.Length())
	}
	for i := range t.parent {
		t.parent[i] = i
	}
	return t.measure(all)
}

// moves scales the columns of v so that z = Wx moves by length in each, but
// none moves x by much more than length in each coordinate, and all together,
// with random signs, not by much more than widest.
func moves(v *mat.Dense, length, widest float64) *mat.Dense {
	d, m := v.Dims()
	out := mat.NewDense(d, m, nil)
	for j := range m {
		scale := length / max(1, mat.Norm(v.ColView(j), 2)/math.Sqrt(float64(d)))
		for i := range d {
			out.Set(i, j, scale*v.At(i, j))
		}
	}
	var sum float64
	for i := range d {
		sum = max(sum, mat.Norm(out.RowView(i), 2))
	}
	if sum > widest {
		out.Scale(widest/sum, out)
	}
	return out
}

// measure asks for values at new base points, those numbered in which, and for
// the second differences of every direction there.
func (t *test) measure(which []int) script.Step {
	m, d := len(t.change), t.x.RawMatrix().Cols
	per := 2 + 2*m
	points := mat.NewDense(len(which)*per, d, nil)
	fresh := t.Region.Sample(len(which), t.Rand)
	for n, b := range which {
		t.x.SetRow(b, fresh.RawRowView(n))
		for r := range per {
			row := points.RawRowView(n*per + r)
			copy(row, t.x.RawRowView(b))
			switch {
			case r == per-1:
				floats.Add(row, t.orthogonal(reach[b%len(reach)]*t.Region.Length()))
			case r > 0:
				addColumn(row, float64(r%2*2-1), t.v[b], (r-1)/2)
			}
		}
	}
	return script.Step{Need: core.Need{Points: points}, Then: func(a core.Answer) (script.Step, error) {
		var bad []int
		for n, b := range which {
			if !t.look(b, a.Values[n*per:(n+1)*per]) {
				bad = append(bad, b)
			}
		}
		if again := len(bad) * per; again > 0 && t.redraw < redraws && again <= t.Limit {
			t.redraw++
			t.Limit -= again
			return t.measure(bad), nil
		}
		t.inspect()
		if t.result.Blind || t.result.More || t.result.Straight {
			t.result.Residual = 1
			return t.finish(true)
		}
		for b := range t.v {
			t.balance(b)
		}
		// Two rows differ in some bit of their numbers, so these splits
		// separate every pair.
		for bit := range bits.Len(uint(t.Found - 1)) {
			var sets [2][]int
			for j := range t.Found {
				side := j >> bit & 1
				sets[side] = append(sets[side], j)
			}
			t.queue = append(t.queue, sets)
		}
		return t.next(true)
	}}
}

// orthogonal returns a random vector of the given length orthogonal to all
// rows, zero if they span the space.
func (t *test) orthogonal(length float64) []float64 {
	m, d := t.Structure.W.Dims()
	v := make([]float64, d)
	if m == d {
		return v
	}
	draw.Direction(v, t.Rand)
	x := mat.NewVecDense(d, v)
	var along, part mat.VecDense
	along.MulVec(t.Structure.W, x)
	part.MulVec(t.Structure.Inverse, &along)
	x.SubVec(x, &part)
	x.ScaleVec(length/mat.Norm(x, 2), x)
	return v
}

// inspect finds out whether the estimates can be tested at all and whether the
// other rows have no effect.
func (t *test) inspect() {
	var typical float64
	for _, c := range t.change[:t.Found] {
		typical += c / float64(t.Found)
	}
	t.result.Blind = slices.Contains(t.change[:t.Found], 0)
	other := t.beside
	for _, c := range t.change[t.Found:] {
		other = max(other, c)
	}
	t.result.More = other > negligible*typical
	straight := 0
	for b := range t.v {
		for _, bend := range t.bend.RawRowView(b)[:t.Curved] {
			if bend <= noise*ulp(t.f[b]) {
				straight++
			}
		}
	}
	t.result.Straight = 2*straight > len(t.v)*t.Curved
}

// look takes the values at base point b: f(x), those on both sides of it along
// each direction, and one beside all directions. It reports whether all values
// along the directions are finite.
func (t *test) look(b int, f []float64) bool {
	t.f[b] = f[0]
	allFinite := true
	if beside := math.Abs(f[len(f)-1] - f[0]); finite(beside) {
		t.beside = max(t.beside, beside-noise*ulp(f[0]))
	}
	for j := range t.change {
		plus, minus := f[1+2*j]-f[0], f[2+2*j]-f[0]
		if !finite(plus) || !finite(minus) {
			allFinite = false
			continue
		}
		t.bend.Set(b, j, math.Abs(plus+minus))
		t.change[j] = max(t.change[j], math.Abs(plus)-noise*ulp(f[0]), math.Abs(minus)-noise*ulp(f[0]))
	}
	return allFinite
}

// balance shortens the moves of strongly curved directions at a base point, so
// that these do not drown the others in the sums.
func (t *test) balance(b int) {
	bend := t.bend.RawRowView(b)[:t.Found]
	floor := 1e5 * noise * ulp(t.f[b])
	least := max(slices.Min(bend), floor)
	for j := range bend {
		if bend[j] <= least {
			continue
		}
		scale := math.Sqrt(least / bend[j])
		for i := range t.v[b].RawMatrix().Rows {
			t.v[b].Set(i, j, scale*t.v[b].At(i, j))
		}
		bend[j] = least
	}
}

// next tests pairs of sets in the queue, the first time all of them, and
// ends the search when there are none left or it is no use to go on.
func (t *test) next(first bool) (script.Step, error) {
	t.queue = slices.DeleteFunc(t.queue, t.joined)
	if len(t.queue) == 0 {
		return t.finish(true)
	}
	n, count := len(t.v), len(t.queue)
	if !first {
		count = min(count, together, t.Limit/(3*n))
		if count == 0 || 2*t.largest() > len(t.parent) {
			return t.finish(false)
		}
		t.Limit -= 3 * n * count
		// Small sets first: rows that are joined early save later tests.
		slices.SortStableFunc(t.queue, func(a, b [2][]int) int {
			return len(a[0]) + len(a[1]) - len(b[0]) - len(b[1])
		})
	}
	tests := slices.Clone(t.queue[:count])
	t.queue = t.queue[count:]
	_, d := t.x.Dims()
	points := mat.NewDense(3*n*len(tests), d, nil)
	row := 0
	for _, p := range tests {
		for b := range t.v {
			u, v := t.move(b, p[0]), t.move(b, p[1])
			for k := range 3 {
				to := points.RawRowView(row)
				copy(to, t.x.RawRowView(b))
				if k != 1 {
					floats.Add(to, u)
				}
				if k != 0 {
					floats.Add(to, v)
				}
				row++
			}
		}
	}
	return script.Step{Need: core.Need{Points: points}, Then: func(a core.Answer) (script.Step, error) {
		for i, p := range tests {
			coupling := t.coupling(p, a.Values[3*n*i:])
			if first {
				t.result.Residual = max(t.result.Residual, coupling)
			}
			t.judge(p, coupling)
		}
		return t.next(false)
	}}, nil
}

// move returns the sum of a set's moves from a base point with random signs.
func (t *test) move(b int, set []int) []float64 {
	u := make([]float64, t.x.RawMatrix().Cols)
	for _, j := range set {
		addColumn(u, float64(1-2*t.Rand.IntN(2)), t.v[b], j)
	}
	return u
}

// coupling is the largest relative mixed difference of two sets over the base
// points. Values that are not finite say nothing.
func (t *test) coupling(p [2][]int, f []float64) float64 {
	var largest float64
	for b := range t.v {
		u, v, both := f[3*b], f[3*b+1], f[3*b+2]
		mixed := math.Abs((both - u) - (v - t.f[b]))
		floor := noise * max(ulp(u), ulp(v), ulp(both), ulp(t.f[b]))
		if !finite(mixed) || mixed <= floor {
			continue
		}
		own := math.Sqrt(t.bends(b, p[0])) * math.Sqrt(t.bends(b, p[1]))
		largest = max(largest, mixed/(own+mixed))
	}
	return largest
}

// bends is the sum of a set's second differences.
func (t *test) bends(b int, set []int) float64 {
	var sum float64
	for _, j := range set {
		sum += t.bend.At(b, j)
	}
	return sum
}

// judge joins two rows that are coupled, or splits two sets that are: a single
// coupled pair among n^2 shows as about 1/n of its coupling.
func (t *test) judge(p [2][]int, coupling float64) {
	a, b := p[0], p[1]
	if coupling <= coupled/float64(min(len(a), len(b))) {
		return
	}
	if len(a) == 1 && len(b) == 1 {
		t.parent[t.root(a[0])] = t.root(b[0])
		return
	}
	if len(a) < len(b) {
		a, b = b, a
	}
	half := len(a) / 2
	t.queue = append(t.queue, [2][]int{a[:half], b}, [2][]int{a[half:], b})
}

func (t *test) root(i int) int {
	for t.parent[i] != i {
		t.parent[i] = t.parent[t.parent[i]]
		i = t.parent[i]
	}
	return i
}

// joined reports whether all rows of both sets are known to hang together.
func (t *test) joined(p [2][]int) bool {
	root := t.root(p[0][0])
	for _, set := range p {
		for _, j := range set {
			if t.root(j) != root {
				return false
			}
		}
	}
	return true
}

// blocks returns the sets of rows that hang together, singles left out.
func (t *test) blocks() [][]int {
	at := map[int]int{}
	var all [][]int
	for j := range t.parent {
		root := t.root(j)
		if _, ok := at[root]; !ok {
			at[root] = len(all)
			all = append(all, nil)
		}
		all[at[root]] = append(all[at[root]], j)
	}
	var blocks [][]int
	for _, b := range all {
		if len(b) > 1 {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

func (t *test) largest() int {
	largest := 1
	for _, b := range t.blocks() {
		largest = max(largest, len(b))
	}
	return largest
}

func (t *test) finish(complete bool) (script.Step, error) {
	t.result.Blocks, t.result.Largest, t.result.Complete = t.blocks(), t.largest(), complete
	return t.then(t.result)
}

// addColumn adds factor times column j of v to dst.
func addColumn(dst []float64, factor float64, v *mat.Dense, j int) {
	for i := range dst {
		dst[i] += factor * v.At(i, j)
	}
}

func finite(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }

// ulp is the unit in the last place of a value, 0 if it is not finite.
func ulp(x float64) float64 {
	if !finite(x) {
		return 0
	}
	return math.Abs(x) * 0x1p-52
}
