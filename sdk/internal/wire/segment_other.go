//go:build !linux

package wire

import "errors"

// Segment would be memory that two processes share; here there is none, and
// everything goes over the stream.
type Segment struct {
	memory []byte
	Path   string `json:"path"`
	Size   int    `json:"size"`
}

var errNoSegment = errors.New("no shared memory on this system")

// NewSegment fails.
func NewSegment(int) (*Segment, error) { return nil, errNoSegment }

// OpenSegment fails.
func OpenSegment(string, int) (*Segment, error) { return nil, errNoSegment }

// Opened does nothing.
func (s *Segment) Opened() {}

func (s *Segment) close() {}
