package sdk_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/noise"
	"github.com/unbraid/unbraid/objectives"
	"github.com/unbraid/unbraid/plugins/solvers/cbo"
	"github.com/unbraid/unbraid/sdk"
	"gonum.org/v1/gonum/mat"
)

var faultyPath string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "unbraid-sdk-test")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		faultyPath = filepath.Join(dir, "faulty")
		if out, err := exec.Command("go", "build", "-o", faultyPath, "./internal/faulty").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the faulty plugin: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

func faulty() *sdk.Executable {
	return &sdk.Executable{Name: "faulty", Command: []string{faultyPath}}
}

func start(t *testing.T, kind core.Kind, name string) *sdk.Process {
	t.Helper()
	p, err := sdk.Start(t.Context(), faulty(), kind, name, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func openObjective(t *testing.T, values map[string]any, timeout time.Duration) (core.Objective, *sdk.Process) {
	t.Helper()
	p := start(t, core.KindObjective, "faulty")
	o, err := p.Open(t.Context(), values, &core.Env{Dim: 3}, timeout)
	if err != nil {
		t.Fatal(err)
	}
	return o.(core.Objective), p
}

func points(rows, cols int) *mat.Dense {
	x := mat.NewDense(rows, cols, nil)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = math.Sin(float64(i))
	}
	return x
}

func TestDescribeIgnoresPrints(t *testing.T) {
	found, err := sdk.Describe(t.Context(), faulty())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range found {
		ids = append(ids, found[i].ID())
	}
	if got := strings.Join(ids, " "); !strings.Contains(got, "objective/faulty") || !strings.Contains(got, "noise/shout") {
		t.Errorf("described %s", got)
	}
}

func TestDescribeOfOtherPrograms(t *testing.T) {
	for name, e := range map[string]*sdk.Executable{
		"is it an unbraid plugin?": {Name: "x", Command: []string{"echo"}},
		"describe\" failed":        {Name: "x", Command: []string{"false"}},
		"is the path right?":       {Name: "x", Command: []string{"./no-such-program"}},
		"is it installed?":         {Name: "x", Command: []string{"no-such-program"}},
	} {
		if _, err := sdk.Describe(t.Context(), e); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: got %v, want %q", e.Command, err, name)
		}
	}
}

func TestObjectiveInProcess(t *testing.T) {
	o, p := openObjective(t, nil, 0)
	facts := o.(core.Known).Facts()
	if *facts.Minimum != 0 || facts.Lower[2] != -5 || facts.Upper[0] != 5 {
		t.Errorf("facts %+v", facts)
	}
	// Small batches go over the stream, large ones through shared memory; a
	// session changes between them as it likes.
	for _, rows := range []int{1, 2, 5000, 1, 100_000, 7} {
		x := points(rows, 3)
		dst := make([]float64, rows)
		if err := o.Evaluate(t.Context(), dst, x); err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, rows / 2, rows - 1} {
			r := x.RawRowView(i)
			if want := r[0]*r[0] + r[1]*r[1] + r[2]*r[2]; dst[i] != want {
				t.Fatalf("batch of %d, row %d: %v, want %v", rows, i, dst[i], want)
			}
		}
	}
	if err := p.Ping(); err != nil {
		t.Error("health:", err)
	}
}

// A batch of 10,000 points in 1,000 dimensions is 80 MB.
func TestLargeBatchOverTheStream(t *testing.T) {
	c := objectives.SquaredNorm()
	open, stop, err := sdk.Loopback(&c)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	o, err := open(t.Context(), nil, &core.Env{Dim: 1000})
	if err != nil {
		t.Fatal(err)
	}
	x := points(10_000, 1000)
	dst := make([]float64, 10_000)
	if err := o.(core.Objective).Evaluate(t.Context(), dst, x); err != nil {
		t.Fatal(err)
	}
	if want := mat.Norm(mat.NewVecDense(1000, x.RawRowView(9999)), 2); math.Abs(dst[9999]-want*want) > 1e-9 {
		t.Errorf("last value %v, want %v", dst[9999], want*want)
	}
}

func TestFaultsKeepTheirIdentity(t *testing.T) {
	for _, c := range []struct {
		fault string
		want  error
		text  string
	}{
		{"panic", core.ErrPanic, "the simulator divided by zero"},
		{"error", core.ErrUnsuitable, "the mesh is tangled"},
		{"kill", core.ErrCrash, "signal: killed"},
		{"latin-1", core.ErrUnsuitable, "caf\ufffd"},
	} {
		t.Run(c.fault, func(t *testing.T) {
			o, _ := openObjective(t, map[string]any{"fault": c.fault}, 0)
			err := o.Evaluate(t.Context(), make([]float64, 2), points(2, 3))
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.text)
			}
		})
	}
}

func TestBadParameters(t *testing.T) {
	p := start(t, core.KindObjective, "faulty")
	for _, values := range []map[string]any{{"fault": "unheard-of"}, {"fault": 3}, {"fautl": "none"}, {"fault": "make"}} {
		_, err := p.Open(t.Context(), values, &core.Env{Dim: 3}, 0)
		if !errors.Is(err, core.ErrParam) {
			t.Errorf("%v: %v", values, err)
		}
		var bad *core.ParamError
		if _, misspelt := values["fautl"]; !misspelt && (!errors.As(err, &bad) || bad.Key != "fault") {
			t.Errorf("%v: key lost: %v", values, err)
		}
	}
}

func TestTimeout(t *testing.T) {
	for _, fault := range []string{"hang", "sleep"} {
		o, _ := openObjective(t, map[string]any{"fault": fault}, 50*time.Millisecond)
		if err := o.Evaluate(t.Context(), make([]float64, 2), points(2, 3)); !errors.Is(err, core.ErrTimeout) {
			t.Errorf("%s: %v", fault, err)
		}
	}
}

func TestCancelStopsAnEvaluation(t *testing.T) {
	c := core.NewObjective("waits", "Waits until it is cancelled.", core.None{}, func(core.None, *core.Env) (core.Objective, error) { return waiting{}, nil })
	open, stop, err := sdk.Loopback(&c)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	o, err := open(t.Context(), nil, &core.Env{Dim: 3})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-entered; cancel() }()
	if err := o.(core.Objective).Evaluate(ctx, make([]float64, 1), points(1, 3)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-left // the component itself was stopped
}

var entered, left = make(chan bool, 1), make(chan bool, 1)

type waiting struct{}

func (waiting) Evaluate(ctx context.Context, _ []float64, _ *mat.Dense) error {
	entered <- true
	<-ctx.Done()
	left <- true
	return ctx.Err()
}

func TestTooFewValues(t *testing.T) {
	p := start(t, core.KindObjective, "too-few")
	o, err := p.Open(t.Context(), nil, &core.Env{Dim: 3}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.(core.Objective).Evaluate(t.Context(), make([]float64, 4), points(4, 3)); !errors.Is(err, core.ErrShape) || !strings.Contains(err.Error(), "1 values for 4 points") {
		t.Error(err)
	}
}

func TestProcessesThatDoNotComeUp(t *testing.T) {
	for name, want := range map[string]struct {
		err  error
		text string
	}{
		"stillborn":    {core.ErrCrash, "no licence found"},
		"no-handshake": {core.ErrCrash, "exit status 0"},
		"other-world":  {sdk.ErrVersion, "speaks version 99"},
		"unheard-of":   {core.ErrCrash, "there is no objective/unheard-of"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sdk.Start(t.Context(), faulty(), core.KindObjective, name, hclog.NewNullLogger())
			if !errors.Is(err, want.err) || !strings.Contains(err.Error(), want.text) {
				t.Errorf("got %v, want %v with %q", err, want.err, want.text)
			}
		})
	}
}

func TestChecksum(t *testing.T) {
	b, err := os.ReadFile(faultyPath)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	e := faulty()
	e.SHA256 = hex.EncodeToString(sum[:])
	p, err := sdk.Start(t.Context(), e, core.KindObjective, "faulty", hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	e.SHA256 = strings.Repeat("0", 64)
	if _, err := sdk.Start(t.Context(), e, core.KindObjective, "faulty", hclog.NewNullLogger()); !errors.Is(err, sdk.ErrChecksum) {
		t.Error(err)
	}
	e.SHA256 = "abc"
	if _, err := sdk.Describe(t.Context(), e); err == nil || !strings.Contains(err.Error(), "64 hex digits") {
		t.Error(err)
	}
}

// What a plugin prints and logs arrives with its name and level, and does not
// disturb the protocol.
func TestOutputArrives(t *testing.T) {
	var out syncBuffer
	log := hclog.New(&hclog.LoggerOptions{Name: "host", Output: &out, Level: hclog.Info})
	p, err := sdk.Start(t.Context(), faulty(), core.KindObjective, "faulty", log)
	if err != nil {
		t.Fatal(err)
	}
	o, err := p.Open(t.Context(), map[string]any{"fault": "print"}, &core.Env{Dim: 3}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := o.(core.Objective).Evaluate(t.Context(), make([]float64, 2), points(2, 3)); err != nil {
			t.Fatal(err)
		}
	}
	wants := []string{
		"[INFO]  host.objective/faulty.said: printed to stdout",
		"[WARN]  host.objective/faulty.said: printed to stderr",
		"[ERROR] host.objective/faulty.said: logged: batch=3",
	}
	// The messages take ways of their own; the test waits for them as long as
	// the test binary may run.
	for t.Context().Err() == nil {
		missing := ""
		for _, want := range wants {
			if !strings.Contains(out.String(), want) {
				missing = want
			}
		}
		if missing == "" {
			break
		}
		time.Sleep(time.Millisecond)
	}
	p.Kill()
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A solver in one process reaches a noise model in another through us, and
// makes the same steps as with everything in this process.
func TestRemoteSolverWithNoise(t *testing.T) {
	cboComponent := cbo.Component()
	openSolver, stop, err := sdk.Loopback(&cboComponent)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	makeLocal := func(_ context.Context, values map[string]any, env *core.Env) (any, error) {
		return cboComponent.Make(values, env)
	}
	remoteShout, err := start(t, core.KindNoise, "shout").Open(t.Context(), nil, &core.Env{Dim: 5}, 0)
	if err != nil {
		t.Fatal(err)
	}
	anisotropic := noise.Anisotropic()
	openNoise, stopNoise, err := sdk.Loopback(&anisotropic)
	if err != nil {
		t.Fatal(err)
	}
	defer stopNoise()
	remoteAniso, err := openNoise(t.Context(), nil, &core.Env{Dim: 5})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := remoteAniso.(core.FactoredNoise); !ok {
		t.Errorf("the anisotropic noise lost its factors over the wire: %T", remoteAniso)
	}
	if _, ok := remoteShout.(core.FactoredNoise); ok {
		t.Errorf("a noise without factors has some after the wire: %T", remoteShout)
	}
	for name, n := range map[string]core.Noise{"factored": remoteAniso.(core.Noise), "asked at every step": remoteShout.(core.Noise)} {
		t.Run(name, func(t *testing.T) {
			var paths [2][]float64
			for i, open := range []func(context.Context, map[string]any, *core.Env) (any, error){openSolver, makeLocal} {
				env := &core.Env{Dim: 5, Stream: core.NewStream(4), Noise: n, Lower: []float64{-1, -1, -1, -1, -1}, Upper: []float64{1, 1, 1, 1, 1}}
				made, err := open(t.Context(), map[string]any{"particles": 60, "sigma": 0.5}, env)
				if err != nil {
					t.Fatal(err)
				}
				solver := made.(core.Solver)
				for range 20 {
					x, err := solver.Ask(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					paths[i] = append(paths[i], x.RawMatrix().Data...)
					f := make([]float64, 60)
					for k := range f {
						f[k] = mat.Norm(mat.NewVecDense(5, x.RawRowView(k)), 1)
					}
					if err := solver.Tell(t.Context(), f); err != nil {
						t.Fatal(err)
					}
				}
			}
			for k := range paths[0] {
				if paths[0][k] != paths[1][k] {
					t.Fatalf("number %d: remote %v, local %v", k, paths[0][k], paths[1][k])
				}
			}
		})
	}
}

// What has left the plugin's process group and holds on to its output does not
// hold us up.
func TestKillDoesNotWaitForDaemons(t *testing.T) {
	o, p := openObjective(t, map[string]any{"fault": "daemon"}, 0)
	err := o.Evaluate(t.Context(), make([]float64, 1), points(1, 3))
	var pid int
	var rest string
	if _, scanErr := fmt.Sscanf(err.Error(), "objective/faulty: daemon %d %s", &pid, &rest); scanErr != nil || pid == 0 {
		t.Skip("no daemons here: ", err)
	}
	daemon, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	p.Kill() // returns, although the daemon lives
	if err := daemon.Kill(); err != nil {
		t.Errorf("Kill waited for the daemon's end: %v", err)
	}
}

func TestMuchOutput(t *testing.T) {
	o, _ := openObjective(t, map[string]any{"fault": "print-much"}, 0)
	for range 3 {
		if err := o.Evaluate(t.Context(), make([]float64, 1), points(1, 3)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCostThatCannotBeSaid(t *testing.T) {
	h, err := start(t, core.KindHessian, "priceless").Open(t.Context(), nil, &core.Env{Dim: 3}, 0)
	if err != nil {
		t.Fatal(err)
	}
	h.(core.Hessian).Cost(3)
	if err := h.(core.Hessian).Begin(t.Context(), core.HessianQuery{X: points(1, 3)}); !errors.Is(err, core.ErrPanic) {
		t.Errorf("the panic is lost: %v", err)
	}
}
