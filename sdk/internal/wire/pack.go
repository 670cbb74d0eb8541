package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// Plane packs matrices into frames and unpacks them on one end of a session:
// into the frame itself or, once a segment is attached, into shared memory.
// The zero value has no segment.
type Plane struct {
	segment *Segment
	used    int // bytes of the segment taken by the frame being packed
	wanted  int // bytes of numbers of the largest frame so far
	frame   int // the same of the current frame
}

// smallest is the size in bytes from which a matrix is worth the segment.
const smallest = 1 << 10

// littleEndian tells whether memory already has the byte order of the wire, so
// that numbers can be copied as they lie.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Begin starts a frame: sent or received, it has the whole segment.
func (p *Plane) Begin() { p.used, p.frame = 0, 0 }

// count notes how much a frame holds, to know how large a segment is wanted.
func (p *Plane) count(bytes int) {
	p.frame += bytes
	p.wanted = max(p.wanted, p.frame)
}

// Missing returns the size of the segment that would have held every frame so
// far, 0 if the one attached did or if none is worth while.
func (p *Plane) Missing() int {
	have := 0
	if p.segment != nil {
		have = len(p.segment.memory)
	}
	if p.wanted <= have || p.wanted < smallest {
		return 0
	}
	return p.wanted
}

// Attach replaces the segment.
func (p *Plane) Attach(s *Segment) {
	p.Detach()
	p.segment = s
}

// Detach gives the segment back.
func (p *Plane) Detach() {
	p.segment.Close()
	p.segment = nil
}

// Pack returns x for sending, absent if x is nil or empty. x must not change
// until the frame is sent.
func (p *Plane) Pack(x *mat.Dense) *Matrix {
	if x == nil || x.IsEmpty() {
		return &Matrix{}
	}
	raw := x.RawMatrix()
	if raw.Stride != raw.Cols {
		raw = mat.DenseCopyOf(x).RawMatrix()
	}
	return p.pack(raw.Rows, raw.Cols, raw.Data[:raw.Rows*raw.Cols])
}

// PackRow returns v as a matrix of one row, absent if v is empty; see Pack.
func (p *Plane) PackRow(v []float64) *Matrix {
	if len(v) == 0 {
		return &Matrix{}
	}
	return p.pack(1, len(v), v)
}

func (p *Plane) pack(rows, cols int, v []float64) *Matrix {
	m := &Matrix{Rows: uint32(rows), Cols: uint32(cols)}
	p.count(8 * len(v))
	if p.segment != nil && 8*len(v) >= smallest && p.used+8*len(v) <= len(p.segment.memory) {
		m.Shared, m.Offset = true, uint64(p.used)
		p.used += copy(p.segment.memory[p.used:], toBytes(v))
		return m
	}
	m.Data = toBytes(v)
	return m
}

// toBytes returns the bytes of v as they go over the wire, where possible
// without a copy.
func toBytes(v []float64) []byte {
	if littleEndian {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v))
	}
	b := make([]byte, 0, 8*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// bytes returns where the numbers lie. It trusts nothing that the other side
// says about sizes.
func (p *Plane) bytes(m *Matrix) ([]byte, error) {
	size := uint64(m.GetRows()) * uint64(m.GetCols()) // of two 32-bit numbers: fits
	data := m.GetData()
	if m.GetShared() {
		if p.segment == nil {
			return nil, fmt.Errorf("%w: a matrix in shared memory, but none is attached", core.ErrShape)
		}
		have := uint64(len(p.segment.memory))
		if m.Offset > have || size > (have-m.Offset)/8 {
			return nil, fmt.Errorf("%w: a matrix of %d x %d at %d lies outside of the %d bytes of shared memory", core.ErrShape, m.Rows, m.Cols, m.Offset, have)
		}
		data = p.segment.memory[m.Offset : m.Offset+8*size]
	}
	if size > math.MaxInt64/8 || 8*size != uint64(len(data)) {
		return nil, fmt.Errorf("%w: a matrix of %d x %d came with %d bytes", core.ErrShape, m.GetRows(), m.GetCols(), len(data))
	}
	p.count(len(data))
	return data, nil
}

// Unpack returns the matrix in memory of its own, nil if it is absent.
func (p *Plane) Unpack(m *Matrix) (*mat.Dense, error) {
	return p.UnpackBuffer(&core.Buffer{}, m)
}

// UnpackBuffer is Unpack into a buffer that is used again.
func (p *Plane) UnpackBuffer(b *core.Buffer, m *Matrix) (*mat.Dense, error) {
	data, err := p.bytes(m)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	x := b.Dense(int(m.Rows), int(m.Cols))
	fromBytes(x.RawMatrix().Data, data)
	return x, nil
}

// UnpackTo writes the matrix to dst, which must have its size.
func (p *Plane) UnpackTo(dst []float64, m *Matrix) error {
	data, err := p.bytes(m)
	if err != nil {
		return err
	}
	if 8*len(dst) != len(data) {
		return fmt.Errorf("%w: %d numbers instead of %d", core.ErrShape, len(data)/8, len(dst))
	}
	fromBytes(dst, data)
	return nil
}

// UnpackRow returns all numbers of a matrix, nil if it is absent.
func (p *Plane) UnpackRow(m *Matrix) ([]float64, error) {
	data, err := p.bytes(m)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	v := make([]float64, len(data)/8)
	fromBytes(v, data)
	return v, nil
}

func fromBytes(dst []float64, b []byte) {
	if len(dst) == 0 {
		return
	}
	if littleEndian {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(dst))), 8*len(dst)), b)
		return
	}
	for i := range dst {
		dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
}

// At returns the i-th matrix of a frame, absent if there is none.
func (f *Frame) At(i int) *Matrix {
	if i < len(f.GetMatrices()) {
		return f.Matrices[i]
	}
	return nil
}
