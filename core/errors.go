package core

import (
	"errors"
	"fmt"
)

// Errors that a caller may ask for with errors.Is; they keep their identity
// when they come from another process.
var (
	ErrBudget  = errors.New("core: the budget does not suffice")
	ErrShape   = errors.New("core: wrong shape")
	ErrNaN     = errors.New("core: not a number")
	ErrParam   = errors.New("core: bad parameter")
	ErrPanic   = errors.New("core: panic")
	ErrTimeout = errors.New("core: timeout")
	ErrCrash   = errors.New("core: the component's process ended")
	// ErrUnsuitable says that a component cannot work in this setting, for
	// example a solver that needs a noise model and got none.
	ErrUnsuitable = errors.New("core: unsuitable component")
)

// ParamError is a bad value of one parameter. It answers errors.Is(ErrParam).
type ParamError struct {
	Key     string // the parameter's name, "" when it concerns several
	Problem string // what is wrong and what would be right
}

func (e *ParamError) Error() string {
	if e.Key == "" {
		return e.Problem
	}
	return e.Key + ": " + e.Problem
}

// Is makes a ParamError answer to ErrParam.
func (e *ParamError) Is(target error) bool { return target == ErrParam }

// BadParam returns a ParamError for a key.
func BadParam(key, format string, args ...any) error {
	return &ParamError{Key: key, Problem: fmt.Sprintf(format, args...)}
}
