package sdk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/sdk/internal/wire"
)

// faultCodes pairs the errors that keep their identity across the wire with
// their names there.
var faultCodes = []struct {
	code string
	err  error
}{
	{"budget", core.ErrBudget},
	{"shape", core.ErrShape},
	{"nan", core.ErrNaN},
	{"param", core.ErrParam},
	{"panic", core.ErrPanic},
	{"timeout", core.ErrTimeout},
	{"crash", core.ErrCrash},
	{"unsuitable", core.ErrUnsuitable},
	{"cancelled", context.Canceled},
}

// RemoteError is an error that a component in another process returned. It
// answers errors.Is for the sentinels of core that the original answered.
type RemoteError struct {
	Component string // who said it, for example "objective/my-sim"
	Message   string
	kind      error // a sentinel, or a *core.ParamError; nil for any other
}

func (e *RemoteError) Error() string { return e.Component + ": " + e.Message }

// Unwrap returns the sentinel.
func (e *RemoteError) Unwrap() error { return e.kind }

func toFault(err error) *wire.Frame {
	f := &wire.Fault{Message: err.Error()}
	for _, c := range faultCodes {
		if errors.Is(err, c.err) {
			f.Code = c.code
			break
		}
	}
	var p *core.ParamError
	if errors.As(err, &p) {
		f.Key = p.Key
		f.Message = p.Problem
	}
	f.Message, f.Key = strings.ToValidUTF8(f.Message, "\uFFFD"), strings.ToValidUTF8(f.Key, "\uFFFD")
	return &wire.Frame{Op: wire.Op_FAULT, Fault: f}
}

func fromFault(component string, f *wire.Fault) error {
	e := &RemoteError{Component: component, Message: f.GetMessage()}
	for _, c := range faultCodes {
		if c.code == f.GetCode() {
			e.kind = c.err
		}
	}
	if f.GetKey() != "" {
		e.kind = &core.ParamError{Key: f.GetKey(), Problem: f.GetMessage()}
		e.Message = e.kind.Error()
	}
	if e.Message == "" {
		e.Message = fmt.Sprintf("an error without a message (code %q)", f.GetCode())
	}
	return e
}
