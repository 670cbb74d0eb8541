package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/sdk/internal/wire"
	"gonum.org/v1/gonum/mat"
)

// session is the runner's end of an instance in another process.
type session struct {
	component string
	stream    wire.Component_SessionClient
	cancel    context.CancelFunc
	// direct is nil as long as frames go over the stream; abort reads it from
	// another goroutine.
	direct    atomic.Pointer[wire.Direct]
	plane     wire.Plane
	exchanges int
	plain     bool          // the plugin takes neither pipes nor shared memory
	timeout   time.Duration // for each answer; 0 for none
	// explain turns a broken stream into an error that says what became of
	// the process.
	explain func(error) error
	close   sync.Once
}

// open makes the instance. The result is a core.Objective, Noise and so
// on by kind, and an io.Closer that ends the instance.
func (s *session) open(ctx context.Context, client wire.ComponentClient, kind core.Kind, values map[string]any, env *core.Env) (any, error) {
	open, err := openFrame(values, env)
	if err != nil {
		return nil, err
	}
	// The stream outlives this call; exchange ties it to the context of each.
	var streamCtx context.Context
	streamCtx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, s.cancel)
	s.stream, err = client.Session(streamCtx)
	stop()
	if err != nil {
		s.cancel()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, s.explain(err)
	}
	ready, err := s.exchange(ctx, open)
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	remote, err := s.wrap(kind, ready, env.Noise)
	if err != nil {
		_ = s.Close()
	}
	return remote, err
}

// exchange sends a request and returns the answer. Cancelling ctx cancels what
// the component is doing and ends the instance.
func (s *session) exchange(ctx context.Context, request *wire.Frame) (*wire.Frame, error) {
	if s.timeout > 0 {
		var done context.CancelFunc
		ctx, done = context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("%s: %w: no answer within %v, the time for a request, such as a whole batch of points; raise its timeout if it needs longer", s.component, core.ErrTimeout, s.timeout))
		defer done()
	}
	stop := context.AfterFunc(ctx, s.abort)
	defer stop()
	frames := s.frames()
	err := frames.Send(request)
	// A failed Send says only EOF; the reason comes out of Recv.
	if err == nil || errors.Is(err, io.EOF) {
		var answer *wire.Frame
		if answer, err = frames.Recv(); err == nil {
			s.plane.Begin()
			if !stop() { // too late: the session is being ended
				return nil, context.Cause(ctx)
			}
			if answer.Op == wire.Op_FAULT {
				return nil, fromFault(s.component, answer.Fault)
			}
			return answer, nil
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return nil, s.explain(err)
}

// prepare comes before a request is packed. From the second request on it offers
// the plugin pipes, and shared memory, or more of it, once frames have been
// larger than what there is.
func (s *session) prepare(ctx context.Context) error {
	s.plane.Begin()
	s.exchanges++
	size := s.plane.Missing()
	if s.plain || s.exchanges < 2 || s.direct.Load() != nil && size == 0 {
		return nil
	}
	var refused *RemoteError
	if err := s.attach(ctx, size); errors.As(err, &refused) || errors.Is(err, errCannotOffer) {
		s.plain = true // the stream alone always works
	} else if err != nil {
		return err
	}
	return nil
}

var errCannotOffer = errors.New("sdk: no pipes or shared memory")

// attach offers a segment of the given size, unless that is 0, and pipes,
// unless there are some.
func (s *session) attach(ctx context.Context, size int) error {
	var offer wire.Offer
	var segment *wire.Segment
	var direct *wire.Direct
	var err error
	if size > 0 {
		if segment, err = wire.NewSegment(size, &offer); err != nil {
			return errCannotOffer
		}
		defer segment.Opened()
	}
	if s.direct.Load() == nil {
		var opened func()
		if direct, opened, err = wire.NewDirect(&offer); err != nil {
			segment.Close()
			return errCannotOffer
		}
		defer opened()
	}
	b, err := json.Marshal(offer)
	if err == nil {
		_, err = s.exchange(ctx, &wire.Frame{Op: wire.Op_ATTACH, Json: b})
	}
	if err != nil {
		segment.Close()
		direct.Close()
		return err
	}
	if segment != nil {
		s.plane.Attach(segment)
	}
	if direct != nil {
		s.direct.Store(direct)
	}
	return nil
}

// frames is how frames travel now.
func (s *session) frames() wire.Transport {
	if d := s.direct.Load(); d != nil {
		return d
	}
	return s.stream
}

// abort ends the instance at once, whatever it is doing.
func (s *session) abort() {
	s.cancel()
	s.direct.Load().Close()
}

// Close ends the instance; the process goes on.
func (s *session) Close() error {
	s.close.Do(func() {
		_ = s.stream.CloseSend()
		s.abort()
		s.plane.Detach()
	})
	return nil
}

func (s *session) shapeError(format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", s.component, core.ErrShape, fmt.Sprintf(format, args...))
}

func (s *session) wrap(kind core.Kind, ready *wire.Frame, noise core.Noise) (any, error) {
	var known facts
	if err := decodeJSON(ready.Json, &known); err != nil {
		return nil, err
	}
	m, err := unpackAll(&s.plane, ready, 4)
	if err != nil {
		return nil, err
	}
	switch kind {
	case core.KindObjective:
		o := &remoteObjective{session: s}
		o.facts = core.Facts{Lower: row(m[0]), Upper: row(m[1]), Minimum: (*float64)(known.Minimum), Minimiser: row(m[2]), Mix: m[3]}
		return o, nil
	case core.KindNoise:
		if known.Factored {
			return &remoteFactored{
				remoteNoise: remoteNoise{s},
				local:       core.NewFactoredNoise(core.Factors{In: m[0], Out: m[1], Norm: known.NoiseNorm}),
			}, nil
		}
		return &remoteNoise{s}, nil
	case core.KindSolver:
		return &remoteSolver{asking: asking{session: s, noise: noise}}, nil
	case core.KindHessian:
		return &remoteHessian{asking: asking{session: s}}, nil
	case core.KindEstimator:
		return &remoteEstimator{session: s}, nil
	}
	return nil, fmt.Errorf("%w: there is no kind %q", core.ErrUnsuitable, kind)
}

func row(x *mat.Dense) []float64 {
	if x == nil {
		return nil
	}
	return x.RawMatrix().Data
}

type remoteObjective struct {
	*session
	facts core.Facts
}

var _ core.Known = (*remoteObjective)(nil)

func (o *remoteObjective) Facts() core.Facts { return o.facts }

func (o *remoteObjective) Evaluate(ctx context.Context, dst []float64, x *mat.Dense) error {
	if err := o.prepare(ctx); err != nil {
		return err
	}
	answer, err := o.exchange(ctx, &wire.Frame{Op: wire.Op_EVALUATE, Matrices: []*wire.Matrix{o.plane.Pack(x)}})
	if err != nil {
		return err
	}
	if m := answer.At(0); int(m.GetRows())*int(m.GetCols()) != len(dst) {
		return o.shapeError("%d values for %d points", int(m.GetRows())*int(m.GetCols()), len(dst))
	}
	return o.plane.UnpackTo(dst, answer.At(0))
}

type remoteNoise struct{ *session }

var _ core.Noise = (*remoteNoise)(nil)

func (n *remoteNoise) Apply(ctx context.Context, dst, z, xi *mat.Dense) error {
	if err := n.prepare(ctx); err != nil {
		return err
	}
	answer, err := n.exchange(ctx, &wire.Frame{Op: wire.Op_APPLY, Matrices: []*wire.Matrix{n.plane.Pack(z), n.plane.Pack(xi)}})
	if err != nil {
		return err
	}
	rows, cols := dst.Dims()
	if m := answer.At(0); int(m.GetRows()) != rows || int(m.GetCols()) != cols {
		return n.shapeError("noise of %d x %d for a drift of %d x %d", m.GetRows(), m.GetCols(), rows, cols)
	}
	return n.plane.UnpackTo(dst.RawMatrix().Data, answer.At(0))
}

// remoteFactored is a remote noise model that said once what it does.
type remoteFactored struct {
	remoteNoise
	local core.FactoredNoise
}

var _ core.FactoredNoise = (*remoteFactored)(nil)

func (n *remoteFactored) Factors() core.Factors { return n.local.Factors() }

func (n *remoteFactored) Apply(ctx context.Context, dst, z, xi *mat.Dense) error {
	return n.local.Apply(ctx, dst, z, xi)
}

// asking is the ask/tell half that solvers and hessians share. Values told are
// kept until the next ask, so that telling and asking are one exchange.
type asking struct {
	*session
	noise core.Noise

	batch            core.Buffer
	z, xi, scattered core.Buffer
	values           []float64
	rows             int // of the batch last asked for
}

func (a *asking) Tell(_ context.Context, f []float64) error {
	if len(f) != a.rows {
		return a.shapeError("told %d values for a batch of %d", len(f), a.rows)
	}
	a.values = append(a.values[:0], f...)
	return nil
}

func (a *asking) ask(ctx context.Context) (*mat.Dense, *wire.Frame, error) {
	if err := a.prepare(ctx); err != nil {
		return nil, nil, err
	}
	request := &wire.Frame{Op: wire.Op_ASK, Matrices: []*wire.Matrix{a.plane.PackRow(a.values)}}
	a.values = a.values[:0]
	for {
		answer, err := a.exchange(ctx, request)
		if err != nil {
			return nil, nil, err
		}
		if answer.Op == wire.Op_NOISE {
			request = a.applyNoise(ctx, answer)
			continue
		}
		x, err := a.plane.UnpackBuffer(&a.batch, answer.At(0))
		a.rows = 0
		if x != nil {
			a.rows, _ = x.Dims()
		}
		return x, answer, err
	}
}

// applyNoise answers a solver that asks for noise.
func (a *asking) applyNoise(ctx context.Context, f *wire.Frame) *wire.Frame {
	z, err := a.plane.UnpackBuffer(&a.z, f.At(0))
	if err != nil {
		return toFault(err)
	}
	xi, err := a.plane.UnpackBuffer(&a.xi, f.At(1))
	if err != nil {
		return toFault(err)
	}
	if z == nil || xi == nil || a.noise == nil {
		return toFault(a.shapeError("a request for noise without drift, normals or a noise model"))
	}
	dst := a.scattered.Dense(z.Dims())
	if err := a.noise.Apply(ctx, dst, z, xi); err != nil {
		return toFault(err)
	}
	a.plane.Begin()
	return result(a.plane.Pack(dst))
}

type remoteSolver struct {
	asking
	reason string
}

var (
	_ core.BudgetListener = (*remoteSolver)(nil)
	_ core.Explainer      = (*remoteSolver)(nil)
)

func (s *remoteSolver) Ask(ctx context.Context) (*mat.Dense, error) {
	x, answer, err := s.ask(ctx)
	if err == nil && x == nil {
		var e end
		if len(answer.Json) > 0 {
			err = decodeJSON(answer.Json, &e)
		}
		s.reason = e.Reason
	}
	return x, err
}

func (s *remoteSolver) BudgetSpent(ctx context.Context, f []float64) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	_, err := s.exchange(ctx, &wire.Frame{Op: wire.Op_SPENT, Matrices: []*wire.Matrix{s.plane.PackRow(f)}})
	return err
}

func (s *remoteSolver) Reason() string { return s.reason }

type remoteHessian struct {
	asking
	costError error // what Cost could not say; Begin does
}

var _ core.Hessian = (*remoteHessian)(nil)

// Cost asks the component. There is nobody to return an error to: a component
// that does not answer shows at Begin.
func (h *remoteHessian) Cost(directions int) int {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	b, _ := json.Marshal(directions)
	answer, err := h.exchange(ctx, &wire.Frame{Op: wire.Op_COST, Json: b})
	var cost int
	if err == nil {
		err = decodeJSON(answer.Json, &cost)
	}
	h.costError = err
	return cost
}

func (h *remoteHessian) Begin(ctx context.Context, q core.HessianQuery) error {
	if h.costError != nil {
		return h.costError
	}
	if err := h.prepare(ctx); err != nil {
		return err
	}
	b, err := json.Marshal(query{q.Stretch})
	if err == nil {
		_, err = h.exchange(ctx, &wire.Frame{Op: wire.Op_BEGIN, Json: b, Matrices: []*wire.Matrix{h.plane.Pack(q.X), h.plane.Pack(q.V)}})
	}
	return err
}

func (h *remoteHessian) Ask(ctx context.Context) (*mat.Dense, error) {
	x, _, err := h.ask(ctx)
	return x, err
}

func (h *remoteHessian) Hessians(ctx context.Context) ([]*mat.SymDense, error) {
	answer, err := h.exchange(ctx, &wire.Frame{Op: wire.Op_HESSIANS})
	if err != nil {
		return nil, err
	}
	found := make([]*mat.SymDense, len(answer.Matrices))
	for i := range found {
		x, err := h.plane.Unpack(answer.At(i))
		if err != nil {
			return nil, err
		}
		if found[i], err = symmetric(x); err != nil {
			return nil, err
		}
	}
	return found, nil
}

type remoteEstimator struct {
	*session
	told *wire.Frame // the answer that goes with the next request
}

var _ core.Estimator = (*remoteEstimator)(nil)

func (e *remoteEstimator) Tell(ctx context.Context, a core.Answer) error {
	if err := e.prepare(ctx); err != nil {
		return err
	}
	e.told = &wire.Frame{Op: wire.Op_NEED, Json: []byte("true"), Matrices: []*wire.Matrix{e.plane.PackRow(a.Values)}}
	for _, h := range a.Hessians {
		e.told.Matrices = append(e.told.Matrices, e.plane.Pack(mat.DenseCopyOf(h)))
	}
	return nil
}

func (e *remoteEstimator) Ask(ctx context.Context) (core.Need, error) {
	request := e.told
	if request == nil {
		request = &wire.Frame{Op: wire.Op_NEED, Json: []byte("false")}
	}
	e.told = nil
	answer, err := e.exchange(ctx, request)
	if err != nil {
		return core.Need{}, err
	}
	var n need
	if err := decodeJSON(answer.Json, &n); err != nil {
		return core.Need{}, err
	}
	m, err := unpackAll(&e.plane, answer, 2)
	if err != nil {
		return core.Need{}, err
	}
	switch {
	case n.Need == needHessians && m[0] != nil:
		q := n.with(m)
		return core.Need{Hessians: &q}, nil
	case n.Need == needPoints && m[0] != nil:
		return core.Need{Points: m[0]}, nil
	case n.Need == needNothing:
		return core.Need{}, nil
	}
	return core.Need{}, e.shapeError("it needs %q without points", n.Need)
}

func (e *remoteEstimator) Structure(ctx context.Context) (*core.Structure, error) {
	answer, err := e.exchange(ctx, &wire.Frame{Op: wire.Op_STRUCTURE})
	if err != nil {
		return nil, err
	}
	s := &core.Structure{}
	if err := decodeJSON(answer.Json, &s.Certificate); err != nil {
		return nil, err
	}
	m, err := unpackAll(&e.plane, answer, 2)
	if err != nil {
		return nil, err
	}
	if m[0] == nil || m[1] == nil {
		return nil, e.shapeError("a structure without its matrices")
	}
	s.W, s.Inverse = m[0], m[1]
	return s, nil
}
