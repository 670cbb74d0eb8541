// Command unbraid is a workbench for derivative-free optimisation: it runs
// experiments that compare solvers and noise models on objectives of any
// origin, and finds the hidden coordinates in which a hard objective falls
// apart into one-dimensional ones.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// The exit statuses.
const (
	exitFailed      = 1   // a trial could not be run
	exitUsage       = 2   // the command or the file is wrong
	exitInterrupted = 130 // Ctrl-C
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:]))
}

// execute runs a command line and returns the exit status.
func execute(ctx context.Context, args []string) int {
	root := newRootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var status *exitError
	if ctx.Err() != nil && !errors.As(err, &status) {
		status = &exitError{exitInterrupted, "interrupted"}
		err = status
	}
	if errors.As(err, &status) {
		if status.message != "" {
			fmt.Fprintln(os.Stderr, "error:", status.message)
		}
		return status.code
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	return exitUsage
}

// exitError ends the program with a status other than that for wrong usage.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "unbraid",
		Short: "Find the hidden coordinates in which a hard objective falls apart",
		Long: `unbraid compares derivative-free optimisers, and finds the hidden coordinates in
which a hard objective falls apart into one-dimensional ones.

An experiment is a TOML file with problems, methods, seeds and a budget. Every
objective, noise model and solver in it is a plugin in a process of its own:
built in, or yours, in any language.

  unbraid run                     run the built-in quick start
  unbraid run my.toml             run an experiment of your own
  unbraid plugins                 see what can be put into one
  unbraid plugins describe solver/cbo`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())
	})
	root.AddCommand(newRunCommand(), newTableCommand(), newEvalCommand(), newPluginsCommand(),
		newBenchCommand(), newVersionCommand())
	root.AddCommand(newPluginProcessCommands()...)
	return root
}

// logLevelVariable names the environment variable with the least level of
// messages that are shown.
const logLevelVariable = "UNBRAID_LOG"

// consoleLog writes messages for people.
func consoleLog(w io.Writer) *zerolog.ConsoleWriter {
	file, ok := w.(*os.File)
	return &zerolog.ConsoleWriter{Out: w, TimeFormat: time.TimeOnly, NoColor: !ok || !term.IsTerminal(int(file.Fd()))}
}

// newLog returns the logger for what the program and its plugins have to say.
func newLog(w *zerolog.ConsoleWriter) (zerolog.Logger, error) {
	level := zerolog.InfoLevel
	if name := os.Getenv(logLevelVariable); name != "" {
		var err error
		if level, err = zerolog.ParseLevel(strings.ToLower(name)); err != nil {
			return zerolog.Nop(), fmt.Errorf("%s=%s is not a level; there are trace, debug, info, warn, error", logLevelVariable, name)
		}
	}
	return zerolog.New(w).Level(level).With().Timestamp().Logger(), nil
}
