package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/sdk/internal/wire"
	"gonum.org/v1/gonum/mat"
)

type server struct {
	wire.UnimplementedComponentServer
	component *core.Component
	siblings  []core.Component
}

// Session serves one instance: a request, an answer, until the stream ends.
func (s *server) Session(stream wire.Component_SessionServer) error {
	in := &instance{ctx: stream.Context(), frames: stream}
	defer in.close()
	for {
		request, err := in.frames.Recv()
		if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		answer, err := s.answer(in, request)
		if err != nil {
			answer = toFault(err)
		}
		if err := in.frames.Send(answer); err != nil {
			return err
		}
		if in.direct != nil {
			in.frames = in.direct
		}
	}
}

// answer carries out a request; a panic of the component becomes an error.
func (s *server) answer(in *instance, request *wire.Frame) (answer *wire.Frame, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, err = nil, fmt.Errorf("%w: %v\n%s", core.ErrPanic, p, panicOrigin(debug.Stack()))
		}
	}()
	switch request.Op {
	case wire.Op_OPEN:
	case wire.Op_ATTACH:
		return in.attach(request)
	default:
		return in.handle(request)
	}
	values, env, err := readOpen(request, in)
	if err != nil {
		return nil, err
	}
	if err := s.bindInner(values, env); err != nil {
		return nil, err
	}
	if in.component, err = s.component.Make(values, env); err != nil {
		return nil, err
	}
	return factsFrame(in.component)
}

// bindInner lets a solver that runs others make them.
func (s *server) bindInner(values map[string]any, env *core.Env) error {
	resolved, err := s.component.Resolve(values)
	if err != nil {
		return err
	}
	name, inner := s.component.InnerSolver(resolved)
	if name == "" {
		return nil
	}
	for i := range s.siblings {
		if c := &s.siblings[i]; c.Kind == core.KindSolver && c.Name == name {
			env.Inner = func(env *core.Env) (core.Solver, error) {
				made, err := c.Make(inner, env)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", c.ID(), err)
				}
				return made.(core.Solver), nil
			}
			return nil
		}
	}
	return fmt.Errorf("%w: the executable with %s has no solver %q", core.ErrUnsuitable, s.component.ID(), name)
}

// panicOrigin returns the part of a stack that names the place of the panic.
func panicOrigin(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") && i+4 <= len(lines) {
			lines = lines[i+2:]
			break
		}
	}
	return strings.Join(lines[:min(6, len(lines))], "\n")
}

// instance is a component in use on a stream.
type instance struct {
	ctx       context.Context // of the stream: cancelled when the runner says so or is gone
	frames    wire.Transport
	direct    *wire.Direct // what frames will be after the next answer
	plane     wire.Plane
	component any
	x, z, xi  core.Buffer
	dst       core.Buffer
}

func (in *instance) close() {
	if c, ok := in.component.(io.Closer); ok {
		_ = c.Close()
	}
	in.plane.Detach()
	in.direct.Close()
}

// attach takes what the runner offers.
func (in *instance) attach(f *wire.Frame) (*wire.Frame, error) {
	var offer wire.Offer
	if err := decodeJSON(f.Json, &offer); err != nil {
		return nil, err
	}
	var segment *wire.Segment
	var err error
	if offer.Segment != "" {
		if segment, err = wire.OpenSegment(&offer); err != nil {
			return nil, err
		}
	}
	if offer.In != "" && in.direct == nil {
		direct, err := wire.OpenDirect(&offer)
		if err != nil {
			segment.Close() // all stays as it is
			return nil, err
		}
		in.direct = direct
		context.AfterFunc(in.ctx, direct.Close)
	}
	if segment != nil {
		in.plane.Attach(segment)
	}
	return result(), nil
}

func result(matrices ...*wire.Matrix) *wire.Frame {
	return &wire.Frame{Op: wire.Op_RESULT, Matrices: matrices}
}

func resultJSON(v any, matrices ...*wire.Matrix) (*wire.Frame, error) {
	b, err := json.Marshal(v)
	return &wire.Frame{Op: wire.Op_RESULT, Json: b, Matrices: matrices}, err
}

func (in *instance) handle(f *wire.Frame) (*wire.Frame, error) {
	in.plane.Begin()
	ctx := in.ctx
	switch c := in.component.(type) {
	case core.Objective:
		if f.Op == wire.Op_EVALUATE {
			return in.evaluate(ctx, c, f)
		}
	case core.Noise:
		if f.Op == wire.Op_APPLY {
			return in.apply(ctx, c, f)
		}
	case core.Hessian:
		return in.hessian(ctx, c, f)
	case core.Estimator:
		return in.estimator(ctx, c, f)
	case core.Solver:
		return in.solver(ctx, c, f)
	}
	return nil, fmt.Errorf("%w: %s is not a request for a %T", core.ErrShape, f.Op, in.component)
}

func (in *instance) evaluate(ctx context.Context, c core.Objective, f *wire.Frame) (*wire.Frame, error) {
	x, err := in.plane.UnpackBuffer(&in.x, f.At(0))
	if err != nil || x == nil {
		return result(&wire.Matrix{}), err
	}
	rows, _ := x.Dims()
	values := in.dst.Dense(1, rows)
	err = c.Evaluate(ctx, values.RawMatrix().Data, x)
	in.plane.Begin()
	return result(in.plane.Pack(values)), err
}

func (in *instance) apply(ctx context.Context, c core.Noise, f *wire.Frame) (*wire.Frame, error) {
	z, err := in.plane.UnpackBuffer(&in.z, f.At(0))
	if err != nil {
		return nil, err
	}
	xi, err := in.plane.UnpackBuffer(&in.xi, f.At(1))
	if err != nil {
		return nil, err
	}
	if z == nil || xi == nil {
		return nil, fmt.Errorf("%w: APPLY needs drift and normals", core.ErrShape)
	}
	dst := in.dst.Dense(z.Dims())
	err = c.Apply(ctx, dst, z, xi)
	in.plane.Begin()
	return result(in.plane.Pack(dst)), err
}

// end is the JSON of the answer to ASK.
type end struct {
	Reason string `json:"reason,omitempty"` // why there is nothing more to ask
}

func (in *instance) solver(ctx context.Context, c core.Solver, f *wire.Frame) (*wire.Frame, error) {
	switch f.Op {
	case wire.Op_ASK:
		x, err := in.tellAsk(ctx, c, f)
		if err != nil {
			return nil, err
		}
		if x != nil && !x.IsEmpty() {
			return result(in.plane.Pack(x)), nil
		}
		var e end
		if explainer, ok := c.(core.Explainer); ok {
			e.Reason = explainer.Reason()
		}
		return resultJSON(e, &wire.Matrix{})
	case wire.Op_SPENT:
		l, ok := c.(core.BudgetListener)
		if !ok {
			return result(), nil
		}
		values, err := in.plane.UnpackRow(f.At(0))
		if err == nil {
			err = l.BudgetSpent(ctx, values)
		}
		return result(), err
	}
	return nil, fmt.Errorf("%w: %s is not a request for a solver", core.ErrShape, f.Op)
}

// tellAsk hands over the values that came with an ASK, if any, and asks.
func (in *instance) tellAsk(ctx context.Context, c core.AskTeller, f *wire.Frame) (*mat.Dense, error) {
	values, err := in.plane.UnpackBuffer(&in.z, f.At(0))
	if err != nil {
		return nil, err
	}
	if values != nil {
		if err := c.Tell(ctx, values.RawMatrix().Data); err != nil {
			return nil, err
		}
	}
	defer in.plane.Begin() // what follows is the answer
	return c.Ask(ctx)
}

func (in *instance) hessian(ctx context.Context, c core.Hessian, f *wire.Frame) (*wire.Frame, error) {
	switch f.Op {
	case wire.Op_COST:
		var directions int
		if err := decodeJSON(f.Json, &directions); err != nil {
			return nil, err
		}
		return resultJSON(c.Cost(directions))
	case wire.Op_BEGIN:
		var q query
		if err := decodeJSON(f.Json, &q); err != nil {
			return nil, err
		}
		m, err := unpackAll(&in.plane, f, 2)
		if err == nil {
			err = c.Begin(ctx, q.with(m))
		}
		return result(), err
	case wire.Op_ASK:
		x, err := in.tellAsk(ctx, c, f)
		return result(in.plane.Pack(x)), err
	case wire.Op_HESSIANS:
		found, err := c.Hessians(ctx)
		if err != nil {
			return nil, err
		}
		in.plane.Begin()
		answer := result()
		for _, h := range found {
			answer.Matrices = append(answer.Matrices, in.plane.Pack(mat.DenseCopyOf(h)))
		}
		return answer, nil
	}
	return nil, fmt.Errorf("%w: %s is not a request for a hessian", core.ErrShape, f.Op)
}

// query is what a core.HessianQuery holds besides its matrices.
type query struct {
	Stretch float64 `json:"stretch"`
}

func (q query) with(m []*mat.Dense) core.HessianQuery {
	return core.HessianQuery{X: m[0], V: m[1], Stretch: q.Stretch}
}

// need is the JSON of the answer to NEED.
type need struct {
	Need string `json:"need"` // one of the constants
	query
}

const (
	needHessians = "hessians"
	needPoints   = "points"
	needNothing  = "done"
)

func (in *instance) estimator(ctx context.Context, c core.Estimator, f *wire.Frame) (*wire.Frame, error) {
	switch f.Op {
	case wire.Op_NEED:
		if err := in.tellEstimator(ctx, c, f); err != nil {
			return nil, err
		}
		wanted, err := c.Ask(ctx)
		in.plane.Begin()
		switch h := wanted.Hessians; {
		case err != nil:
			return nil, err
		case h != nil:
			return resultJSON(need{needHessians, query{h.Stretch}}, in.plane.Pack(h.X), in.plane.Pack(h.V))
		case wanted.Points != nil:
			return resultJSON(need{Need: needPoints}, in.plane.Pack(wanted.Points))
		}
		return resultJSON(need{Need: needNothing})
	case wire.Op_STRUCTURE:
		s, err := c.Structure(ctx)
		if err != nil {
			return nil, err
		}
		return resultJSON(s.Certificate, in.plane.Pack(s.W), in.plane.Pack(s.Inverse))
	}
	return nil, fmt.Errorf("%w: %s is not a request for an estimator", core.ErrShape, f.Op)
}

func (in *instance) tellEstimator(ctx context.Context, c core.Estimator, f *wire.Frame) error {
	var answered bool
	if err := decodeJSON(f.Json, &answered); err != nil || !answered {
		return err
	}
	var a core.Answer
	for i := range f.Matrices {
		x, err := in.plane.Unpack(f.At(i))
		if err != nil {
			return err
		}
		switch {
		case i == 0 && x != nil:
			a.Values = x.RawMatrix().Data
		case i > 0:
			h, err := symmetric(x)
			if err != nil {
				return err
			}
			a.Hessians = append(a.Hessians, h)
		}
	}
	return c.Tell(ctx, a)
}

func symmetric(x *mat.Dense) (*mat.SymDense, error) {
	if x == nil || x.RawMatrix().Rows != x.RawMatrix().Cols {
		return nil, fmt.Errorf("%w: a Hessian that is not square", core.ErrShape)
	}
	return mat.NewSymDense(x.RawMatrix().Rows, x.RawMatrix().Data), nil
}

// Apply makes the instance the noise model of a served solver: it asks the
// runner, which may well ask another process.
func (in *instance) Apply(_ context.Context, dst, z, xi *mat.Dense) error {
	in.plane.Begin()
	if err := in.frames.Send(&wire.Frame{Op: wire.Op_NOISE, Matrices: []*wire.Matrix{in.plane.Pack(z), in.plane.Pack(xi)}}); err != nil {
		return err
	}
	answer, err := in.frames.Recv()
	if err != nil {
		return err
	}
	if answer.Op == wire.Op_FAULT {
		return fromFault("noise", answer.Fault)
	}
	in.plane.Begin()
	return in.plane.UnpackTo(dst.RawMatrix().Data, answer.At(0))
}
