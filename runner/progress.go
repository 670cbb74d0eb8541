package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// progress is a bar on standard error, if that is a terminal; elsewhere it
// shows nothing.
type progress struct {
	container *mpb.Progress
	bar       *mpb.Bar
	failed    atomic.Int64
}

func newProgress(total, done int, quiet bool) *progress {
	p := &progress{}
	if quiet || total == done || !term.IsTerminal(int(os.Stderr.Fd())) {
		return p
	}
	p.container = mpb.New(mpb.WithOutput(os.Stderr), mpb.WithWidth(40))
	// The bar is of what is left, or the time left would be told from trials that
	// took none.
	p.bar = p.container.AddBar(int64(total-done),
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(s decor.Statistics) string {
			return fmt.Sprintf("%d of %d trials ", done+int(s.Current), total)
		})),
		mpb.AppendDecorators(
			decor.AverageETA(decor.ET_STYLE_GO),
			decor.Any(func(decor.Statistics) string {
				if n := p.failed.Load(); n > 0 {
					return fmt.Sprintf(" left, %d failed", n)
				}
				return " left"
			})))
	return p
}

// output is where messages go so that they do not tear the bar.
func (p *progress) output() io.Writer {
	if p.container != nil {
		return p.container
	}
	return os.Stderr
}

// done counts a trial.
func (p *progress) done(failed int) {
	p.failed.Store(int64(failed))
	if p.bar != nil {
		p.bar.Increment()
	}
}

// stop takes the bar away.
func (p *progress) stop() {
	if p.bar != nil {
		p.bar.Abort(true)
		p.container.Wait()
	}
}
