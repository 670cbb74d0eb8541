//go:build !linux

package wire

import "errors"

// Segment would be memory that two processes share; here there is none, and
// everything goes over the stream.
type Segment struct{ memory []byte }

var errNotHere = errors.New("not on this system")

// NewSegment fails.
func NewSegment(int, *Offer) (*Segment, error) { return nil, errNotHere }

// OpenSegment fails.
func OpenSegment(*Offer) (*Segment, error) { return nil, errNotHere }

// Opened does nothing.
func (s *Segment) Opened() {}

// Close does nothing.
func (s *Segment) Close() {}

// NewDirect fails.
func NewDirect(*Offer) (d *Direct, opened func(), err error) { return nil, nil, errNotHere }

// OpenDirect fails.
func OpenDirect(*Offer) (*Direct, error) { return nil, errNotHere }
