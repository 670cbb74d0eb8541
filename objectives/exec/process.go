package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// process is the running program.
type process struct {
	name      string // how messages call it
	cmd       *exec.Cmd
	killGroup func()
	patience  time.Duration
	encode    encoder
	pipe      io.Closer     // its standard input
	points    *bufio.Writer // the same, buffered

	answers  chan answer   // closed when the program has ended
	answered int           // how many of them were asked for and received
	stderr   tail          // only to be read when the program has ended
	ended    chan struct{} // closed after answers
	quit     chan struct{} // closed when nobody receives answers any more
	hangUp   sync.Once     // closes quit and the pipe
}

// start starts the program in a process group of its own.
func start(command []string, encode encoder, dim int, patience time.Duration) (*process, error) {
	p := &process{
		name:     fmt.Sprintf("program %q", strings.Join(command, " ")),
		cmd:      exec.Command(command[0], command[1:]...),
		patience: patience,
		encode:   encode,
		answers:  make(chan answer, 1024),
		ended:    make(chan struct{}),
		quit:     make(chan struct{}),
	}
	lines := &splitter{emit: p.receive}
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("UNBRAID_DIM=%d", dim))
	p.cmd.Stdout = lines
	p.cmd.Stderr = &p.stderr
	p.cmd.SysProcAttr = attributes()
	p.cmd.WaitDelay = patience
	pipe, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("%s cannot be started: %w", p.name, err)
	}
	p.pipe, p.points = pipe, bufio.NewWriterSize(pipe, 1<<16)

	started := make(chan error)
	go func() {
		// On Linux the program dies with the thread that started it, which
		// therefore must do nothing else until the program has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := p.cmd.Start(); err != nil {
			started <- err
			return
		}
		p.killGroup = killer(p.cmd.Process)
		close(started)
		_ = p.cmd.Wait() // the outcome is in cmd.ProcessState
		p.killGroup()    // what the program has left running
		lines.flush()
		close(p.answers)
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%s cannot be started: %w", p.name, err)
	}
	return p, nil
}

// receive takes a line of the program's output. It waits until there is
// somebody to take the answer; when there never will be, the line is dropped.
func (p *process) receive(line []byte) {
	select {
	case p.answers <- parseAnswer(line):
	case <-p.quit:
	}
}

// evaluate sends all points and collects as many answers. After an error the
// program is dead or dying. It returns ctx.Err() when ctx is cancelled.
func (p *process) evaluate(ctx context.Context, dst []float64, x *mat.Dense) error {
	// Before the first batch there may be a greeting, or not yet: read as an
	// answer it is nonsense, whenever it comes.
	if p.answered > 0 {
		select {
		case _, more := <-p.answers:
			if more {
				return p.answersUnasked()
			}
			return p.endedEarly(0, len(dst))
		default:
		}
	}
	var sendError error
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		sendError = p.send(x)
	}()
	err := p.collect(ctx, dst, sent)
	if err != nil {
		p.kill()
	}
	<-sent // x is only lent
	if err == nil && sendError != nil {
		return p.fail("does not read all of its points: %v", sendError)
	}
	return err
}

// send writes the points, one a line.
func (p *process) send(x *mat.Dense) error {
	rows, _ := x.Dims()
	for i := range rows {
		line := p.encode(p.points.AvailableBuffer(), x.RawRowView(i))
		if _, err := p.points.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return p.points.Flush()
}

// collect fills dst with answers and then waits until all points are sent.
func (p *process) collect(ctx context.Context, dst []float64, sent <-chan struct{}) error {
	for i := range dst {
		select {
		case a, more := <-p.answers:
			if !more {
				return p.endedEarly(i, len(dst))
			}
			p.answered++
			if a.problem != "" {
				return p.fail("wrote nonsense: line %d of its answers: %s", p.answered, a.problem)
			}
			dst[i] = a.value
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// The sender may still be busy if the program answers points it has not
	// read. Then it goes on answering, or ends, or hangs.
	answers := p.answers
	for {
		select {
		case _, more := <-answers:
			if more {
				return p.answersUnasked()
			}
			answers = nil // the sender will notice the end, too
		case <-sent:
			if len(answers) > 0 {
				return p.answersUnasked()
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answersUnasked is the error for a program that answers too much.
func (p *process) answersUnasked() error {
	return p.fail("answers more than it is asked: more than %d lines for %[1]d points", p.answered)
}

// endedEarly is the error for a program that has ended by itself. It answers
// to core.ErrCrash.
func (p *process) endedEarly(answered, points int) error {
	<-p.ended
	return crash{p.fail("ended after %d of %d answers: %v", answered, points, p.cmd.ProcessState)}
}

type crash struct{ error }

func (crash) Is(target error) bool { return target == core.ErrCrash }

// fail kills the program and returns an error that ends in the last that the
// program wrote to its standard error.
func (p *process) fail(format string, args ...any) error {
	p.kill()
	<-p.ended
	message := p.name + " " + fmt.Sprintf(format, args...)
	if words := p.stderr.String(); words != "" {
		message += "; the end of its standard error:\n" + words
	}
	return errors.New(message)
}

// close ends the program's input and waits for its end, but not for long.
func (p *process) close() {
	p.stopListening()
	select {
	case <-p.ended:
	case <-time.After(p.patience):
		p.kill()
		<-p.ended
	}
}

// kill kills the program and its process group, without waiting for the end.
func (p *process) kill() {
	p.stopListening()
	select {
	case <-p.ended: // its number may belong to another process by now
	default:
		p.killGroup()
	}
}

func (p *process) stopListening() {
	p.hangUp.Do(func() {
		close(p.quit)
		_ = p.pipe.Close() // fails if it is closed already
	})
}
