package line

import "math"

const (
	epsilon = 0x1p-52
	golden  = 0.3819660112501051 // (3 - sqrt 5) / 2
)

// bracket is a local minimum that is narrowed down by Brent's method: it lies
// between a and b, x is the best point so far, w the second best, v the one
// that was w before.
type bracket struct {
	a, b       float64
	x, w, v    float64
	fx, fw, fv float64
	u          float64 // the point under way
	d, e       float64 // the last step and the one before
	steps      int
}

// newBracket starts from three points a <= x <= b with their values, of which
// that at x is the smallest. So the first step can be parabolic already.
func newBracket(a, fa, x, fx, b, fb float64) *bracket {
	k := &bracket{a: a, b: b, x: x, fx: fx, w: a, fw: fa, v: b, fv: fb, d: b - a, e: b - a}
	if fb < fa {
		k.w, k.fw, k.v, k.fv = b, fb, a, fa
	}
	return k
}

// settled reports whether the minimum is known to within xtol, or the values
// at the three best points to within ftol relative to their size.
func (k *bracket) settled(xtol, ftol float64) bool {
	tol := k.resolution(xtol)
	middle := (k.a + k.b) / 2
	return math.Abs(k.x-middle) <= 2*tol-(k.b-k.a)/2 || max(k.fw, k.fv)-k.fx <= ftol*math.Abs(k.fx)
}

// resolution is the smallest step that makes sense near x.
func (k *bracket) resolution(xtol float64) float64 { return xtol + 2*epsilon*math.Abs(k.x) }

// next returns the point to evaluate next: the minimum of the parabola through
// the three points, if that lies within and the steps get shorter fast enough,
// else the golden section of the longer side.
func (k *bracket) next(xtol float64) float64 {
	tol := k.resolution(xtol)
	middle := (k.a + k.b) / 2
	r := (k.x - k.w) * (k.fx - k.fv)
	q := (k.x - k.v) * (k.fx - k.fw)
	p := (k.x-k.v)*q - (k.x-k.w)*r
	q = 2 * (q - r)
	if q > 0 {
		p = -p
	} else {
		q = -q
	}
	// Infinite values make p or q NaN, which fails every comparison.
	if math.Abs(k.e) > tol && math.Abs(p) < math.Abs(q*k.e/2) && p > q*(k.a-k.x) && p < q*(k.b-k.x) {
		k.e, k.d = k.d, p/q
		if u := k.x + k.d; u-k.a < 2*tol || k.b-u < 2*tol {
			k.d = math.Copysign(tol, middle-k.x)
		}
	} else {
		if k.e = k.a - k.x; k.x < middle {
			k.e = k.b - k.x
		}
		k.d = golden * k.e
	}
	if math.Abs(k.d) < tol {
		k.d = math.Copysign(tol, k.d)
	}
	k.u = k.x + k.d
	return k.u
}

// tell takes the value at the point that next returned.
func (k *bracket) tell(fu float64) {
	k.steps++
	if fu <= k.fx {
		if k.u < k.x {
			k.b = k.x
		} else {
			k.a = k.x
		}
		k.v, k.fv, k.w, k.fw, k.x, k.fx = k.w, k.fw, k.x, k.fx, k.u, fu
		return
	}
	if k.u < k.x {
		k.a = k.u
	} else {
		k.b = k.u
	}
	switch {
	case fu <= k.fw || k.w == k.x:
		k.v, k.fv, k.w, k.fw = k.w, k.fw, k.u, fu
	case fu <= k.fv || k.v == k.x || k.v == k.w:
		k.v, k.fv = k.u, fu
	}
}
