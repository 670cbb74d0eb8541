package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/runner/internal/experiment"
	"github.com/unbraid/unbraid/sdk"
)

// Where built-in components run. External ones always have their own process.
const (
	Process = "process" // each in a process of its own
	InProc  = "inproc"  // in this process
)

// Launcher makes instances of components. It keeps processes that are free for
// the next trial, since starting one takes longer than many a trial.
type Launcher struct {
	catalogue *Catalogue
	isolation string
	log       hclog.Logger
	self      *sdk.Executable

	mu     sync.Mutex
	free   map[string][]*sdk.Process
	all    map[*sdk.Process]bool
	closed bool
	ending sync.WaitGroup // processes being ended: every Close waits for them
}

// New returns a launcher; messages of plugins go to log.
func New(catalogue *Catalogue, isolation string, log hclog.Logger) (*Launcher, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find the path of this program, which is needed to start components: %w; use --isolation inproc", err)
	}
	return &Launcher{
		catalogue: catalogue, isolation: isolation, log: log,
		self: &sdk.Executable{Name: "unbraid", Command: []string{path}},
		free: map[string][]*sdk.Process{}, all: map[*sdk.Process]bool{},
	}, nil
}

// Release gives an instance back; failed says that it must not be trusted any
// more, and its process ends.
type Release func(failed bool)

// Open makes an instance of a component: a core.Objective, Noise and so on by
// kind.
func (l *Launcher) Open(ctx context.Context, ref experiment.Ref, env *core.Env) (any, Release, error) {
	entry, err := l.catalogue.Get(ref.Kind, ref.Name)
	if err != nil {
		return nil, nil, err
	}
	here := entry.builtin != nil && l.isolation == InProc
	if ref.Inner != nil {
		inner, err := l.catalogue.Get(ref.Inner.Kind, ref.Inner.Name)
		if err != nil {
			return nil, nil, err
		}
		// A plugin can make only the solvers that it carries itself. To run
		// somebody else's, a built-in one stays here.
		if inner.executable != entry.executable {
			if entry.builtin == nil {
				return nil, nil, fmt.Errorf("%w: %s can only run solvers of its own executable, which %s is not", core.ErrUnsuitable, entry.ID(), inner.ID())
			}
			here = true
		}
	}
	if here {
		return l.openHere(ctx, entry, ref, env)
	}
	p, err := l.take(ctx, entry)
	if err != nil {
		return nil, nil, err
	}
	instance, err := p.Open(ctx, ref.Params, env, ref.Timeout)
	if err != nil {
		l.giveBack(entry, p, true)
		return nil, nil, err
	}
	return instance, func(failed bool) {
		closeInstance(instance)
		l.giveBack(entry, p, failed)
	}, nil
}

// openHere makes an instance of a built-in component in this process.
func (l *Launcher) openHere(ctx context.Context, entry *Entry, ref experiment.Ref, env *core.Env) (any, Release, error) {
	release := Release(func(bool) {})
	if ref.Inner != nil {
		var err error
		if env.Inner, release, err = l.inner(ctx, *ref.Inner); err != nil {
			return nil, nil, err
		}
	}
	instance, err := entry.builtin.Make(ref.Params, env)
	if err != nil {
		release(true)
		return nil, nil, fmt.Errorf("%s: %w", entry.ID(), err)
	}
	return instance, func(failed bool) {
		closeInstance(instance)
		release(failed)
	}, nil
}

// inner returns what makes the solvers that another solver runs: any number of
// them, those of a plugin all in one process.
func (l *Launcher) inner(ctx context.Context, ref experiment.Ref) (make func(*core.Env) (core.Solver, error), release Release, err error) {
	entry, err := l.catalogue.Get(ref.Kind, ref.Name)
	if err != nil {
		return nil, nil, err
	}
	open := func(env *core.Env) (any, error) { return entry.builtin.Make(ref.Params, env) }
	end := Release(func(bool) {})
	if entry.builtin == nil {
		p, err := l.take(ctx, entry)
		if err != nil {
			return nil, nil, err
		}
		open = func(env *core.Env) (any, error) { return p.Open(ctx, ref.Params, env, ref.Timeout) }
		end = func(failed bool) { l.giveBack(entry, p, failed) }
	}
	var made []any
	make = func(env *core.Env) (core.Solver, error) {
		instance, err := open(env)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.ID(), err)
		}
		made = append(made, instance)
		return instance.(core.Solver), nil
	}
	return make, func(failed bool) {
		for _, instance := range made {
			closeInstance(instance)
		}
		end(failed)
	}, nil
}

func closeInstance(instance any) {
	if c, ok := instance.(io.Closer); ok {
		_ = c.Close()
	}
}

func (l *Launcher) take(ctx context.Context, entry *Entry) (*sdk.Process, error) {
	l.mu.Lock()
	for free := l.free[entry.ID()]; len(free) > 0; free = l.free[entry.ID()] {
		p := free[len(free)-1]
		l.free[entry.ID()] = free[:len(free)-1]
		if p.Alive() {
			l.mu.Unlock()
			return p, nil
		}
		delete(l.all, p)
		l.ending.Go(p.Kill) // it has ended, but not what belongs to it here
	}
	l.mu.Unlock()
	executable := entry.executable
	if executable == nil {
		executable = l.self
	}
	p, err := sdk.Start(ctx, executable, entry.Kind, entry.Name, l.log)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		p.Kill()
		return nil, context.Canceled
	}
	l.all[p] = true
	return p, nil
}

func (l *Launcher) giveBack(entry *Entry, p *sdk.Process, failed bool) {
	l.mu.Lock()
	reuse := !failed && !l.closed && p.Alive()
	if reuse {
		l.free[entry.ID()] = append(l.free[entry.ID()], p)
	} else {
		delete(l.all, p)
	}
	l.mu.Unlock()
	if !reuse {
		p.Kill()
	}
}

// Close ends all processes.
func (l *Launcher) Close() {
	l.mu.Lock()
	l.closed = true
	for p := range l.all {
		l.ending.Go(p.Kill)
	}
	l.all = map[*sdk.Process]bool{}
	l.mu.Unlock()
	l.ending.Wait()
}
