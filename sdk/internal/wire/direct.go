package wire

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/unbraid/unbraid/core"
	"google.golang.org/protobuf/proto"
)

// Transport carries the frames of a session: its stream or, once attached,
// pipes.
type Transport interface {
	Send(*Frame) error
	Recv() (*Frame, error)
}

// Direct carries frames through two pipes, each frame after its length in four
// bytes, little-endian. A round trip takes a fraction of one on the stream.
type Direct struct {
	in, out *os.File
	reader  *bufio.Reader
	buffer  []byte
}

var _ Transport = (*Direct)(nil)

func newDirect(in, out *os.File) *Direct {
	return &Direct{in: in, out: out, reader: bufio.NewReader(in)}
}

// Send writes a frame.
func (d *Direct) Send(f *Frame) error {
	var err error
	d.buffer, err = proto.MarshalOptions{}.MarshalAppend(append(d.buffer[:0], 0, 0, 0, 0), f)
	if err != nil {
		return err
	}
	size := len(d.buffer) - 4
	if size > math.MaxInt32 {
		return fmt.Errorf("%w: a frame of %d bytes", core.ErrShape, size)
	}
	binary.LittleEndian.PutUint32(d.buffer, uint32(size))
	_, err = d.out.Write(d.buffer)
	return err
}

// Recv reads a frame. It returns io.EOF when the other side is gone.
func (d *Direct) Recv() (*Frame, error) {
	var header [4]byte
	if _, err := io.ReadFull(d.reader, header[:]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(header[:])
	if size > math.MaxInt32 {
		return nil, fmt.Errorf("%w: a frame of %d bytes", core.ErrShape, size)
	}
	// The memory is taken as the bytes come: a false length takes none.
	data, err := io.ReadAll(io.LimitReader(d.reader, int64(size)))
	if err != nil {
		return nil, err
	}
	if len(data) != int(size) {
		return nil, io.ErrUnexpectedEOF
	}
	f := &Frame{}
	return f, proto.Unmarshal(data, f)
}

// Close ends it; a Recv under way returns. Nil is closed already.
func (d *Direct) Close() {
	if d == nil {
		return
	}
	_ = d.in.Close()
	_ = d.out.Close()
}

// Offer is the JSON of an ATTACH frame. An empty path is not offered.
type Offer struct {
	Segment string `json:"segment"` // shared memory
	Size    int    `json:"size"`    // its size in bytes
	In      string `json:"in"`      // a pipe for the plugin to read frames from
	Out     string `json:"out"`     // a pipe for the plugin to write frames to
}
