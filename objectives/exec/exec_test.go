package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// manyPoints are more than fit into any pipe.
const manyPoints = 10000

func newProgram(t *testing.T, name string, dim int, values map[string]any) *objective {
	t.Helper()
	t.Setenv(programVariable, name)
	t.Setenv("GORACE", "atexit_sleep_ms=0") // a program with the race detector would end a second late
	all := map[string]any{"command": []string{os.Args[0]}}
	for key, v := range values {
		all[key] = v
	}
	c := Component()
	made, err := c.Make(all, &core.Env{Dim: dim})
	if err != nil {
		t.Fatal(err)
	}
	o := made.(*objective)
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

func evaluate(o *objective, x *mat.Dense) ([]float64, error) {
	rows, _ := x.Dims()
	f := make([]float64, rows)
	err := o.Evaluate(context.Background(), f, x)
	return f, err
}

func randomPoints(rows, dim int) *mat.Dense {
	rng := rand.New(rand.NewPCG(1, 2))
	x := mat.NewDense(rows, dim, nil)
	data := x.RawMatrix().Data
	for i := range data {
		data[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(60)-30)
	}
	return x
}

// TestValues checks that points and values pass without losing a bit, in
// several batches, the first of which fills every pipe.
func TestValues(t *testing.T) {
	for _, test := range []struct {
		program, format string
		dim             int
		batches         []int
	}{
		{"sum", "csv", 100, []int{manyPoints, 1, 7}},
		{"sum", "json", 3, []int{manyPoints, 1, 7}},
		{"blocks", "csv", 100, []int{manyPoints}},
	} {
		t.Run(test.program+" "+test.format, func(t *testing.T) {
			o := newProgram(t, test.program, test.dim, map[string]any{"format": test.format})
			for _, rows := range test.batches {
				x := randomPoints(rows, test.dim)
				f, err := evaluate(o, x)
				if err != nil {
					t.Fatal(err)
				}
				for i := range f {
					if want := sum(x.RawRowView(i)); f[i] != want {
						t.Fatalf("point %d of %d has the value %v instead of %v", i, rows, f[i], want)
					}
				}
			}
		})
	}
}

var spellings = []struct {
	text  string
	value float64
}{
	{"1", 1}, {" 2.5 ", 2.5}, {"\t-3e-300\r", -3e-300}, {"inf", math.Inf(1)}, {"-Infinity", math.Inf(-1)},
	{"+INF", math.Inf(1)}, {"nan", math.NaN()}, {"NaN", math.NaN()}, {"1e999", math.Inf(1)}, {"1e-999", 0},
}

func TestSpellings(t *testing.T) {
	f, err := evaluate(newProgram(t, "spellings", 2, nil), mat.NewDense(len(spellings), 2, nil))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range spellings {
		if f[i] != s.value && !(math.IsNaN(f[i]) && math.IsNaN(s.value)) {
			t.Errorf("%q was read as %v", s.text, f[i])
		}
	}
}

func TestNonFinitePoints(t *testing.T) {
	x := []float64{1.5, math.Inf(1), math.Inf(-1), math.NaN(), 1e21}
	if got, want := string(appendCSV(nil, x)), "1.5,+Inf,-Inf,NaN,1e+21"; got != want {
		t.Errorf("csv: %s instead of %s", got, want)
	}
	if got, want := string(appendJSON(nil, x)), "[1.5,Infinity,-Infinity,NaN,1e+21]"; got != want {
		t.Errorf("json: %s instead of %s", got, want)
	}
}

func TestDimensionInEnvironment(t *testing.T) {
	f, err := evaluate(newProgram(t, "dimension", 17, nil), mat.NewDense(2, 17, nil))
	if err != nil || f[0] != 17 || f[1] != 17 {
		t.Errorf("values %v, error %v", f, err)
	}
}

func TestNoisyProgram(t *testing.T) {
	if _, err := evaluate(newProgram(t, "noisy", 1, nil), mat.NewDense(20, 1, nil)); err != nil {
		t.Error(err)
	}
}

func TestFailures(t *testing.T) {
	for _, test := range []struct {
		program string
		points  int
		says    []string
		not     string
		crash   bool
	}{
		{program: "fails", points: 5, crash: true, not: "complaint 19\n",
			says: []string{"program ", "ended after 2 of 5 answers: exit status 3; the end of its standard error:\n  complaint 20\n  complaint 21\n", "\n  complaint 29"}},
		{program: "fails", points: manyPoints, crash: true, says: []string{"ended after 2 of 10000 answers: exit status 3"}},
		{program: "lazy", points: 5, crash: true, says: []string{"ended after 2 of 5 answers: exit status 0"}, not: "standard error"},
		{program: "nonsense", points: 5, says: []string{`line 3 of its answers: "hello" is not a number`}},
		{program: "binary", points: 5, says: []string{`line 1 of its answers: "\x00\x00`, `..." is not a number`}},
		{program: "deaf", points: manyPoints, says: []string{"answers more than it is asked: more than 10000 lines for 10000 points"}},
		{program: "guess", points: manyPoints, says: []string{"does not read all of its points"}},
	} {
		t.Run(test.program, func(t *testing.T) {
			o := newProgram(t, test.program, 100, nil)
			_, err := evaluate(o, mat.NewDense(test.points, 100, nil))
			if err == nil {
				t.Fatal("no error")
			}
			for _, s := range test.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("the error does not say %q: %v", s, err)
				}
			}
			if test.not != "" && strings.Contains(err.Error(), test.not) {
				t.Errorf("the error says %q: %v", test.not, err)
			}
			if errors.Is(err, core.ErrCrash) != test.crash {
				t.Errorf("a crash: %v: %v", !test.crash, err)
			}
			if _, again := evaluate(o, mat.NewDense(1, 100, nil)); again != err {
				t.Errorf("the next batch has the error %v", again)
			}
		})
	}
}

// TestUnaskedAnswers uses batches of one point; the second answer is there
// with the first or turns up in one of the next batches.
func TestUnaskedAnswers(t *testing.T) {
	o := newProgram(t, "twice", 1, nil)
	var err error
	for err == nil {
		_, err = evaluate(o, mat.NewDense(1, 1, nil))
	}
	if !strings.Contains(err.Error(), "answers more than it is asked") {
		t.Error(err)
	}
}

// TestEndBetweenBatches asks a program for more after it has said its last.
func TestEndBetweenBatches(t *testing.T) {
	o := newProgram(t, "brief", 1, nil)
	if _, err := evaluate(o, mat.NewDense(2, 1, nil)); err != nil {
		t.Fatal(err)
	}
	_, err := evaluate(o, mat.NewDense(3, 1, nil))
	if !errors.Is(err, core.ErrCrash) || !strings.Contains(err.Error(), "ended after 0 of 3 answers: exit status 0") {
		t.Errorf("error %v", err)
	}
}

func TestCannotStart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("not a program"), 0o755); err != nil {
		t.Fatal(err)
	}
	o, err := newObjective(params{Command: []string{path}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = evaluate(o, mat.NewDense(1, 1, nil)); err == nil || !strings.Contains(err.Error(), "cannot be started") {
		t.Errorf("error %v", err)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}

func TestBadParameters(t *testing.T) {
	self := []string{os.Args[0]}
	for _, test := range []struct {
		values map[string]any
		says   string
	}{
		{nil, "command: missing"},
		{map[string]any{"command": []string{"no-such-program-anywhere"}}, "command: exec: \"no-such-program-anywhere\": executable file not found"},
		{map[string]any{"command": []string{"./no-such-program"}}, "command: "},
		{map[string]any{"command": self, "format": "xml"}, "format: "},
		{map[string]any{"command": self, "lower": []float64{1}}, "upper: want one number"},
		{map[string]any{"command": self, "upper": []float64{1}}, "lower: want one number"},
		{map[string]any{"command": self, "lower": []float64{1, 2}, "upper": []float64{3}}, "lower: want one number, or one for each of the 3 coordinates, got 2"},
		{map[string]any{"command": self, "lower": []float64{1}, "upper": []float64{3, 1, 3}}, "lower: 1 is not below upper, 1, in coordinate 2"},
		{map[string]any{"command": self, "lower": []float64{math.Inf(-1)}, "upper": []float64{3}}, "lower: -Inf is not a finite number"},
		{map[string]any{"command": self, "minimum": []float64{1, 2}}, "minimum: want at most one number, got 2"},
		{map[string]any{"command": self, "minimum": []float64{math.NaN()}}, "minimum: NaN is not a finite number"},
	} {
		c := Component()
		_, err := c.Make(test.values, &core.Env{Dim: 3})
		if !errors.Is(err, core.ErrParam) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%v: error %v", test.values, err)
		}
	}
}

func TestFacts(t *testing.T) {
	facts := newProgram(t, "sum", 3, nil).Facts()
	if facts.Lower != nil || facts.Upper != nil || facts.Minimum != nil {
		t.Errorf("facts out of nothing: %+v", facts)
	}
	facts = newProgram(t, "sum", 3, map[string]any{"lower": []float64{-1}, "upper": []float64{1, 2, 3}, "minimum": []float64{0}}).Facts()
	if !slices.Equal(facts.Lower, []float64{-1, -1, -1}) || !slices.Equal(facts.Upper, []float64{1, 2, 3}) || *facts.Minimum != 0 {
		t.Errorf("wrong facts: %+v", facts)
	}
}

func TestBadShape(t *testing.T) {
	o := newProgram(t, "sum", 3, nil)
	ctx := context.Background()
	if err := o.Evaluate(ctx, make([]float64, 2), mat.NewDense(2, 4, nil)); !errors.Is(err, core.ErrShape) {
		t.Errorf("wrong dimension: error %v", err)
	}
	if err := o.Evaluate(ctx, make([]float64, 1), mat.NewDense(2, 3, nil)); !errors.Is(err, core.ErrShape) {
		t.Errorf("too few places for values: error %v", err)
	}
	if err := o.Evaluate(ctx, nil, &mat.Dense{}); err != nil {
		t.Errorf("empty batch: error %v", err)
	}
}

// listen returns a listener that programs connect to.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	t.Setenv(addressVariable, listener.Addr().String())
	return listener
}

// accept waits for n programs to connect and returns the connections by name.
func accept(t *testing.T, listener net.Listener, n int) map[string]net.Conn {
	t.Helper()
	conns := map[string]net.Conn{}
	for range n {
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		var name string
		if _, err := fmt.Fscanln(conn, &name); err != nil {
			t.Fatal(err)
		}
		conns[name] = conn
	}
	return conns
}

// awaitDeath returns when the program at the other end has died.
func awaitDeath(conn net.Conn) { io.Copy(io.Discard, conn) }

func TestCancelledBeforeStart(t *testing.T) {
	o := newProgram(t, "sum", 1, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := o.Evaluate(ctx, make([]float64, 1), mat.NewDense(1, 1, nil)); err != context.Canceled {
		t.Errorf("error %v", err)
	}
	if f, err := evaluate(o, mat.NewDense(1, 1, []float64{3})); err != nil || f[0] != 3 {
		t.Errorf("a batch that was never begun has spoiled the next: %v, %v", f, err)
	}
}

func TestClose(t *testing.T) {
	t.Run("before the first batch", func(t *testing.T) {
		o := newProgram(t, "sum", 1, nil)
		if err := o.Close(); err != nil {
			t.Error(err)
		}
		if _, err := evaluate(o, mat.NewDense(1, 1, nil)); err == nil {
			t.Error("a closed objective can be used")
		}
	})
	t.Run("well-behaved program", func(t *testing.T) {
		o := newProgram(t, "sum", 1, nil)
		if _, err := evaluate(o, mat.NewDense(1, 1, nil)); err != nil {
			t.Fatal(err)
		}
		o.Close()
		if state := o.process.cmd.ProcessState; !state.Success() {
			t.Errorf("the program ended with %v", state)
		}
	})
	t.Run("stubborn program", func(t *testing.T) {
		listener := listen(t)
		o := newProgram(t, "stubborn", 1, nil)
		o.patience = impatient
		if _, err := evaluate(o, mat.NewDense(1, 1, nil)); err != nil {
			t.Fatal(err)
		}
		conns := accept(t, listener, 1)
		o.Close()
		awaitDeath(conns["stubborn"])
	})
}
