package noise

import (
	"context"
	"math"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"
)

type heavyTailedParams struct {
	DoF float64 `param:"dof" doc:"degrees of freedom nu of Student's t: small means heavy tails; the variance is finite only above 2, the mean only above 1; above 50 take anisotropic noise" min:"0.5" max:"50"`
}

// HeavyTailed scatters each coordinate by its own drift, now and then far.
func HeavyTailed() core.Component {
	return core.NewNoise("heavy-tailed", `Scatters each coordinate by its own drift, now and then very far: D(z) xi = (z_1 t_1, ..., z_d t_d).

t_j = F^-1(Phi(xi_j)), with Phi the normal distribution function and F that of
Student's t with nu = dof degrees of freedom, so that the t_j are independent and
have that distribution. They are not scaled: their variance is nu / (nu - 2) for
nu > 2 (3 for the default nu = 3) and infinite otherwise. For large nu this is
the anisotropic noise. Long jumps help to leave local minima; compare Kalise,
Sharma, Tretyakov, Consensus-based optimization via jump-diffusion stochastic
differential equations (2023).`,
		heavyTailedParams{DoF: 3},
		func(p heavyTailedParams, _ *core.Env) (core.Noise, error) { return newHeavyTailed(p.DoF), nil })
}

// The table of heavyTailed has this many cells to a unit, up to a normal of
// this size, which is exceeded once in 1e18 draws.
const (
	cellsPerUnit = 128
	tableEnd     = 9
)

// heavyTailed tabulates H(x) = log(T(x) / x) for the map T from a normal to
// Student's t, because evaluating T takes microseconds. H is smooth and even,
// and an absolute error of H is a relative error of T. Cell i holds the
// coefficients of the cubic that has the values and slopes of H at both ends.
type heavyTailed struct {
	nu    float64
	cells [cellsPerUnit * tableEnd][4]float64
}

func newHeavyTailed(nu float64) *heavyTailed {
	n := &heavyTailed{nu: nu}
	const h = 1.0 / cellsPerUnit
	value, slope := n.logRatio(0)
	for i := range n.cells {
		nextValue, nextSlope := n.logRatio(float64(i+1) * h)
		rise := nextValue - value
		n.cells[i] = [4]float64{value, h * slope, 3*rise - h*(2*slope+nextSlope), h*(slope+nextSlope) - 2*rise}
		value, slope = nextValue, nextSlope
	}
	return n
}

// Apply implements core.Noise.
func (n *heavyTailed) Apply(_ context.Context, dst, z, xi *mat.Dense) error {
	rows, _ := z.Dims()
	for i := range rows {
		out, drift := dst.RawRowView(i), z.RawRowView(i)
		for j, x := range xi.RawRowView(i) {
			out[j] = drift[j] * n.student(x)
		}
	}
	return nil
}

// student returns T(x), by the table where it reaches.
func (n *heavyTailed) student(x float64) float64 {
	u := math.Abs(x) * cellsPerUnit
	if !(u < float64(len(n.cells))) {
		return math.Copysign(n.exact(math.Abs(x)), x)
	}
	i := int(u)
	u -= float64(i)
	c := &n.cells[i]
	return x * math.Exp(c[0]+u*(c[1]+u*(c[2]+u*c[3])))
}

// logRatio returns H(x) and its slope for x >= 0. The slope follows from
// T'(x) = phi(x) / p(T(x)) with the densities phi and p.
func (n *heavyTailed) logRatio(x float64) (value, slope float64) {
	a, _ := math.Lgamma((n.nu + 1) / 2)
	b, _ := math.Lgamma(n.nu / 2)
	atZero := b - a + math.Log(n.nu/2)/2 // log(phi(0) / p(0))
	if x == 0 {
		return atZero, 0
	}
	t := n.exact(x)
	stretch := math.Exp(atZero - x*x/2 + (n.nu+1)/2*math.Log1p(t/n.nu*t))
	return math.Log(t / x), stretch/t - 1/x
}

// exact returns T(x) for x >= 0 by the incomplete beta function: that of the
// centre or that of the tail, whichever probability is the smaller.
func (n *heavyTailed) exact(x float64) float64 {
	if math.IsNaN(x) {
		return x
	}
	if centre := math.Erf(x / math.Sqrt2); centre < 0.5 {
		s := mathext.InvRegIncBeta(0.5, n.nu/2, centre)
		return math.Sqrt(n.nu * s / (1 - s))
	}
	s := mathext.InvRegIncBeta(n.nu/2, 0.5, math.Erfc(x/math.Sqrt2))
	return math.Sqrt(n.nu * (1 - s) / s)
}
