package sdk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/sdk/internal/wire"
	"google.golang.org/grpc"
)

// startTimeout is how long a plugin may take until it has said what it is.
const startTimeout = 60 * time.Second

const drainTime = time.Second

// Executable is a program that carries components.
type Executable struct {
	// Name is what people call it.
	Name string
	// Command is the program and its first arguments; "describe" or "serve
	// KIND/NAME" is added.
	Command []string
	// SHA256 is the checksum, in hex, that the program must have; "" for any.
	SHA256 string
	// Dir is the working directory, "" for the runner's.
	Dir string
}

func (e *Executable) failed(format string, args ...any) error {
	return fmt.Errorf("plugin %q (%s): %w", e.Name, strings.Join(e.Command, " "), fmt.Errorf(format, args...))
}

// Identity returns a checksum of the program and of all files among its
// arguments, such as the script that an interpreter is to run.
func (e *Executable) Identity() (string, error) {
	sum := sha256.New()
	for i, word := range e.Command {
		path := word
		if i == 0 {
			found, err := exec.LookPath(word)
			if err != nil {
				return "", e.failed("cannot be found: %w", err)
			}
			path = found
		} else if !filepath.IsAbs(path) {
			path = filepath.Join(e.Dir, path)
		}
		f, err := os.Open(path)
		if err != nil && i > 0 {
			continue // not a file
		}
		if err == nil {
			_, err = io.Copy(sum, f)
			_ = f.Close()
		}
		if err != nil && i == 0 {
			return "", e.failed("cannot be read: %w", err)
		}
	}
	return "sha256 " + hex.EncodeToString(sum.Sum(nil)), nil
}

func (e *Executable) command(args ...string) (*exec.Cmd, error) {
	cmd := exec.Command(e.Command[0], append(e.Command[1:len(e.Command):len(e.Command)], args...)...)
	cmd.Dir = e.Dir
	if cmd.Err != nil {
		return nil, e.failed("cannot be started: %w; is it installed?", cmd.Err)
	}
	if e.SHA256 == "" {
		return cmd, nil
	}
	want, err := hex.DecodeString(e.SHA256)
	if err != nil || len(want) != sha256.Size {
		return nil, e.failed("sha256 must be 64 hex digits, not %q", e.SHA256)
	}
	secure := plugin.SecureConfig{Checksum: want, Hash: sha256.New()}
	if ok, err := secure.Check(cmd.Path); err != nil {
		return nil, e.failed("its checksum cannot be computed: %w", err)
	} else if !ok {
		return nil, e.failed("%w: expected %s, got %s. The file has changed: if that is meant, put the new checksum into the experiment file", ErrChecksum, e.SHA256, hex.EncodeToString(secure.Hash.Sum(nil)))
	}
	return cmd, nil
}

// ErrChecksum says that an executable is not the one that was pinned.
var ErrChecksum = errors.New("the checksum differs")

// Describe asks an executable which components it carries.
func Describe(ctx context.Context, e *Executable) ([]core.Description, error) {
	cmd, err := e.command("describe")
	if err != nil {
		return nil, err
	}
	var stdout bytes.Buffer
	stderr := &tail{}
	cmd.Stdout, cmd.Stderr = &stdout, stderr
	isolate(cmd)
	cmd.WaitDelay = drainTime
	if err := startOnLauncher(cmd); err != nil {
		return nil, e.failed("cannot be started: %w; is the path right?", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { killGroup(cmd) })
	err = cmd.Wait()
	stop()
	if ctx.Err() != nil {
		return nil, e.failed("did not answer \"describe\" within %v%s", startTimeout, stderr.quote())
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, e.failed("\"describe\" failed: %w%s", err, stderr.quote())
	}
	for line := range bytes.Lines(stdout.Bytes()) {
		if !bytes.HasPrefix(line, []byte(`{"unbraid_protocol":`)) {
			continue
		}
		var c catalogue
		if err := json.Unmarshal(line, &c); err != nil {
			return nil, e.failed("its description is malformed: %w", err)
		}
		if c.Protocol != ProtocolVersion {
			return nil, e.failed("%w", versionError(fmt.Sprint(c.Protocol)))
		}
		return c.Components, nil
	}
	return nil, e.failed("did not answer \"describe\" with a description; is it an unbraid plugin?%s", stderr.quote())
}

// ErrVersion says that a plugin speaks another version of the protocol.
var ErrVersion = errors.New("another version of the plugin protocol")

func versionError(theirs string) error {
	return fmt.Errorf("%w: it speaks version %s, this unbraid speaks version %d; build the plugin with the sdk of this unbraid, or use the unbraid it was built for", ErrVersion, theirs, ProtocolVersion)
}

// Process is a plugin process that serves one component.
type Process struct {
	executable *Executable
	component  string
	kind       core.Kind
	client     *plugin.Client
	runner     *processRunner
	session    wire.ComponentClient
	left       sync.Once // the folder of sockets
}

// SaidByPlugin is the last part of a logger's name for what a plugin itself
// says, on stderr, on stdout or by logging; go-plugin's remarks lack it.
const SaidByPlugin = "said"

// Start starts a process for a component and waits until it is ready. Messages
// go to log, below the component's name.
func Start(ctx context.Context, e *Executable, kind core.Kind, name string, log hclog.Logger) (*Process, error) {
	id := string(kind) + "/" + name
	cmd, err := e.command("serve", id)
	if err != nil {
		return nil, err
	}
	folder, err := sockets.enter()
	if err != nil {
		return nil, err
	}
	p := &Process{executable: e, component: id, kind: kind, runner: newProcessRunner(cmd)}
	log = log.Named(id)
	output := &lineWriter{write: func(line string) { logLine(log.Named(SaidByPlugin), line) }}
	p.client = plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  handshake,
		Plugins:          plugin.PluginSet{pluginName: &grpcPlugin{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		AutoMTLS:         true,
		StartTimeout:     startTimeout,
		Logger:           log,
		SyncStdout:       output,
		SyncStderr:       output,
		UnixSocketConfig: &plugin.UnixSocketConfig{TempDir: folder},
		RunnerFunc: func(_ hclog.Logger, withEnv *exec.Cmd, _ string) (runner.Runner, error) {
			p.runner.cmd.Env = withEnv.Env
			return p.runner, nil
		},
		GRPCDialOptions: dialOptions(),
	})
	stop := context.AfterFunc(ctx, func() { _ = p.runner.Kill(context.Background()) })
	defer stop()
	protocol, err := p.client.Client()
	if err == nil {
		var dispensed any
		if dispensed, err = protocol.Dispense(pluginName); err == nil {
			p.session = dispensed.(wire.ComponentClient)
			return p, nil
		}
	}
	p.Kill()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if v := p.runner.protocolVersion(); v != "" && v != fmt.Sprint(ProtocolVersion) {
		return nil, e.failed("%s: %w", id, versionError(v))
	}
	return nil, e.failed("%s: %w: it did not come up: %s%s", id, core.ErrCrash, p.runner.state(err), p.runner.stderrTail.quote())
}

func dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32), grpc.MaxCallSendMsgSize(math.MaxInt32)),
		grpc.WithInitialWindowSize(windowBytes), grpc.WithInitialConnWindowSize(windowBytes),
		grpc.WithReadBufferSize(bufferBytes), grpc.WithWriteBufferSize(bufferBytes),
	}
}

// Open makes an instance of the component: a core.Objective, Hessian,
// Estimator, Noise or Solver by kind, and an io.Closer. A process may hold any
// number of instances; each is for one goroutine at a time. With a timeout
// other than 0, every answer must come within that time.
func (p *Process) Open(ctx context.Context, values map[string]any, env *core.Env, timeout time.Duration) (any, error) {
	s := &session{component: p.component, timeout: timeout, explain: p.explain}
	return s.open(ctx, p.session, p.kind, values, env)
}

// explain says why a stream broke: the process died, or the connection did.
func (p *Process) explain(err error) error {
	select {
	case <-p.runner.exited:
	case <-time.After(2 * time.Second): // the stream ends a moment before the process does
	}
	return p.executable.failed("%s: %w: %s%s", p.component, core.ErrCrash, p.runner.state(err), p.runner.stderrTail.quote())
}

// Alive reports whether the process has not ended yet.
func (p *Process) Alive() bool {
	select {
	case <-p.runner.exited:
		return false
	default:
		return true
	}
}

// Ping reports whether the process lives and answers its health check.
func (p *Process) Ping() error {
	protocol, err := p.client.Client()
	if err != nil {
		return err
	}
	return protocol.Ping()
}

// Kill ends the process at once, with all that it has started.
func (p *Process) Kill() {
	_ = p.runner.Kill(context.Background())
	p.client.Kill()
	p.left.Do(sockets.leave)
}

// processRunner is how go-plugin runs our processes: in a group of their own,
// so that all of it can be ended, tied to the runner's life, with the noise
// before the handshake taken out of stdout and the end of stderr kept.
type processRunner struct {
	cmd *exec.Cmd
	// stdin is never written to: its end tells the plugin that we are gone.
	stdin           io.WriteCloser
	stdout, stderr  io.ReadCloser
	stderrTail      *tail
	exited          chan struct{}
	mu              sync.Mutex
	started, killed bool
	waitErr         error
	handshakeLine   string
	waiting         sync.Once
	plainAddresses
}

var _ runner.Runner = (*processRunner)(nil)

func newProcessRunner(cmd *exec.Cmd) *processRunner {
	isolate(cmd)
	return &processRunner{cmd: cmd, stderrTail: &tail{}, exited: make(chan struct{})}
}

func (r *processRunner) Start(context.Context) error {
	stdout, err := r.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return err
	}
	r.stdout = &handshakeFilter{in: stdout, found: func(line string) {
		r.mu.Lock()
		r.handshakeLine = line
		r.mu.Unlock()
	}}
	r.stderr = &tee{in: stderr, tail: r.stderrTail}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.killed {
		return errors.New("cancelled")
	}
	err = startOnLauncher(r.cmd)
	r.started = err == nil
	return err
}

func (r *processRunner) Wait(context.Context) error {
	r.waiting.Do(func() {
		err := r.cmd.Wait()
		r.mu.Lock()
		r.waitErr = err
		r.mu.Unlock()
		close(r.exited)
	})
	<-r.exited
	return r.waitErr
}

func (r *processRunner) Kill(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killed = true
	if r.started {
		killGroup(r.cmd)
		// What has left the group may hold our pipes open for ever.
		time.AfterFunc(drainTime, func() { _ = r.stdout.Close(); _ = r.stderr.Close() })
	}
	return nil
}

func (r *processRunner) pid() int {
	if r.cmd.Process == nil {
		return 0
	}
	return r.cmd.Process.Pid
}

// state says what became of the process; err is what the other end noticed.
func (r *processRunner) state(err error) string {
	select {
	case <-r.exited:
	default:
		return fmt.Sprintf("the connection to its process %d broke: %v", r.pid(), err)
	}
	if r.waitErr == nil {
		return "its process ended by itself with exit status 0"
	}
	return fmt.Sprintf("its process ended: %v", r.waitErr)
}

// protocolVersion is the version that the handshake named, "" before it.
func (r *processRunner) protocolVersion() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if parts := strings.Split(r.handshakeLine, "|"); len(parts) > 1 {
		return parts[1]
	}
	return ""
}

func (r *processRunner) Stdout() io.ReadCloser           { return r.stdout }
func (r *processRunner) Stderr() io.ReadCloser           { return r.stderr }
func (r *processRunner) Name() string                    { return SaidByPlugin }
func (r *processRunner) ID() string                      { return fmt.Sprint(r.pid()) }
func (r *processRunner) Diagnose(context.Context) string { return "" }

// plainAddresses leaves addresses as they are: both ends share a machine.
type plainAddresses struct{}

func (plainAddresses) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

func (plainAddresses) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}
