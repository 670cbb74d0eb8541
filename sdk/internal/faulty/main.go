// Command faulty is a plugin for tests that goes wrong in every way a plugin
// can, and also does right.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"time"

	"github.com/hashicorp/go-plugin"
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/sdk"
	"github.com/unbraid/unbraid/sdk/internal/wire"
	"gonum.org/v1/gonum/mat"
	"google.golang.org/grpc"
)

func main() {
	fmt.Print("a greeting on stdout, with no end of line")
	raw := map[string]func(){
		"objective/too-few":      func() { serveRaw(1) },
		"objective/other-world":  func() { serveRaw(99) },
		"objective/stillborn":    func() { fmt.Fprintln(os.Stderr, "no licence found"); os.Exit(3) },
		"objective/no-handshake": func() { fmt.Println("hello, I am not a plugin"); os.Exit(0) },
	}
	if len(os.Args) == 3 && os.Args[1] == "serve" && raw[os.Args[2]] != nil {
		raw[os.Args[2]]()
		return
	}
	components := []core.Component{sphere(), shout(), dimension(), priceless()}
	for id := range raw {
		components = append(components, core.NewObjective(id[len("objective/"):], "Never gets as far as this.", core.None{}, func(core.None, *core.Env) (core.Objective, error) { return nil, nil }))
	}
	slices.SortFunc(components, func(a, b core.Component) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	sdk.Main(components...)
}

type sphereParams struct {
	Fault string `param:"fault" doc:"what goes wrong" oneof:"none,panic,hang,sleep,nan,some-nan,inf,kill,error,latin-1,print,print-much,daemon,bad-facts,make"`
	After int    `param:"after" doc:"number of batches that go well before"`
}

// sphere is the squared norm, with a fault.
func sphere() core.Component {
	return core.NewObjective("faulty", "The squared norm, with a fault after some batches.", sphereParams{Fault: "none"},
		func(p sphereParams, env *core.Env) (core.Objective, error) {
			if p.Fault == "make" {
				return nil, core.BadParam("fault", "cannot be made")
			}
			return &faulty{p: p, dim: env.Dim}, nil
		})
}

// rawStdout is kept for good: a file that is collected is closed.
var rawStdout = os.NewFile(1, "stdout")

type faulty struct {
	p       sphereParams
	dim     int
	batches int
}

func (f *faulty) Facts() core.Facts {
	lower, upper := make([]float64, f.dim), make([]float64, f.dim)
	for i := range lower {
		lower[i], upper[i] = -5, 5
	}
	if f.p.Fault == "bad-facts" {
		upper = upper[1:]
	}
	zero := 0.0
	return core.Facts{Lower: lower, Upper: upper, Minimum: &zero}
}

func (f *faulty) Evaluate(ctx context.Context, dst []float64, x *mat.Dense) error {
	for i := range dst {
		dst[i] = 0
		for _, v := range x.RawRowView(i) {
			dst[i] += v * v
		}
	}
	f.batches++
	if f.batches <= f.p.After {
		return nil
	}
	switch f.p.Fault {
	case "panic":
		panic("the simulator divided by zero")
	case "hang":
		time.Sleep(time.Hour) // and does not look at ctx
	case "sleep":
		<-ctx.Done()
		return ctx.Err()
	case "nan":
		for i := range dst {
			dst[i] = math.NaN()
		}
	case "some-nan":
		dst[0] = math.NaN()
	case "inf":
		for i := range dst {
			dst[i] = math.Inf(1)
		}
	case "kill":
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		time.Sleep(time.Hour)
	case "error":
		return fmt.Errorf("%w: the mesh is tangled", core.ErrUnsuitable)
	case "latin-1":
		return fmt.Errorf("%w: caf\xe9", core.ErrUnsuitable)
	case "print-much": // past everything that redirects os.Stdout
		for range 20 {
			if _, err := rawStdout.Write(bytes.Repeat([]byte("x"), 70_000)); err != nil {
				return err
			}
		}
	case "daemon":
		pid, err := startDaemon()
		return fmt.Errorf("daemon %d %v", pid, err)
	case "print":
		fmt.Println("printed to stdout")
		fmt.Fprintln(os.Stderr, "[WARN] printed to stderr")
		slog.Error("logged", "batch", f.batches)
	}
	return nil
}

// shout is a noise model without factors: twice the anisotropic one.
func shout() core.Component {
	return core.NewNoise("shout", "Twice the anisotropic noise.", core.None{}, func(core.None, *core.Env) (core.Noise, error) { return shouting{}, nil })
}

type shouting struct{}

func (shouting) Apply(_ context.Context, dst, z, xi *mat.Dense) error {
	rows, cols := dst.Dims()
	for i := range rows {
		for j := range cols {
			dst.Set(i, j, 2*z.At(i, j)*xi.At(i, j))
		}
	}
	return nil
}

// dimension is a solver that asks once, for a point in the wrong dimension.
func dimension() core.Component {
	return core.NewSolver("one-too-many", "Asks for points in one dimension too many.", core.None{}, func(_ core.None, env *core.Env) (core.Solver, error) {
		return &tooMany{mat.NewDense(2, env.Dim+1, nil)}, nil
	})
}

type tooMany struct{ x *mat.Dense }

func (s *tooMany) Ask(context.Context) (*mat.Dense, error) { return s.x, nil }
func (s *tooMany) Tell(context.Context, []float64) error   { return nil }

// priceless is a hessian that cannot say what it costs.
func priceless() core.Component {
	return core.NewHessian("priceless", "Panics when asked for its cost.", core.None{}, func(core.None, *core.Env) (core.Hessian, error) {
		return pricelessHessian{}, nil
	})
}

type pricelessHessian struct{ core.Hessian }

func (pricelessHessian) Cost(int) int                                   { panic("no price") }
func (pricelessHessian) Begin(context.Context, core.HessianQuery) error { return nil }

// serveRaw speaks the protocol without the SDK, and answers every batch with
// one value.
func serveRaw(version uint) {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: version, MagicCookieKey: "UNBRAID_PLUGIN", MagicCookieValue: "a braid of one-dimensional functions"},
		Plugins:         plugin.PluginSet{"component": &rawPlugin{}},
		GRPCServer:      plugin.DefaultGRPCServer,
	})
}

type rawPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	wire.UnimplementedComponentServer
}

func (p *rawPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	wire.RegisterComponentServer(s, p)
	return nil
}

func (p *rawPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

func (p *rawPlugin) Session(stream wire.Component_SessionServer) error {
	var plane wire.Plane
	for {
		request, err := stream.Recv()
		if err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		answer := &wire.Frame{Op: wire.Op_RESULT}
		if request.Op == wire.Op_OPEN {
			answer.Json = []byte("{}")
		} else {
			answer.Matrices = []*wire.Matrix{plane.PackRow([]float64{1})}
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}
