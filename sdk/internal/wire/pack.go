package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
)

// littleEndian tells whether memory already has the byte order of the wire, so
// that numbers can be copied as they lie.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Pack returns x for sending, absent if x is nil. The bytes may be x's own
// memory: x must not change until the frame is sent.
func Pack(x *mat.Dense) *Matrix {
	if x == nil || x.IsEmpty() {
		return &Matrix{}
	}
	raw := x.RawMatrix()
	if raw.Stride != raw.Cols {
		raw = mat.DenseCopyOf(x).RawMatrix()
	}
	return &Matrix{Rows: uint32(raw.Rows), Cols: uint32(raw.Cols), Data: toBytes(raw.Data[:raw.Rows*raw.Cols])}
}

// PackRow returns v as a matrix of one row, absent if v is empty; see Pack.
func PackRow(v []float64) *Matrix {
	if len(v) == 0 {
		return &Matrix{}
	}
	return &Matrix{Rows: 1, Cols: uint32(len(v)), Data: toBytes(v)}
}

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

// check makes sure that the data have the size that is claimed.
func (m *Matrix) check() error {
	if uint64(m.GetRows())*uint64(m.GetCols())*8 != uint64(len(m.GetData())) {
		return fmt.Errorf("%w: a matrix of %d x %d came with %d bytes", core.ErrShape, m.GetRows(), m.GetCols(), len(m.GetData()))
	}
	return nil
}

// Unpack returns the matrix in memory of its own, nil if it is absent.
func Unpack(m *Matrix) (*mat.Dense, error) {
	if err := m.check(); err != nil || len(m.GetData()) == 0 {
		return nil, err
	}
	x := mat.NewDense(int(m.Rows), int(m.Cols), nil)
	fromBytes(x.RawMatrix().Data, m.Data)
	return x, nil
}

// UnpackBuffer is Unpack into a buffer that is used again.
func UnpackBuffer(b *core.Buffer, m *Matrix) (*mat.Dense, error) {
	if err := m.check(); err != nil || len(m.GetData()) == 0 {
		return nil, err
	}
	x := b.Dense(int(m.Rows), int(m.Cols))
	fromBytes(x.RawMatrix().Data, m.Data)
	return x, nil
}

// UnpackTo writes the matrix to dst, which must have its size.
func UnpackTo(dst []float64, m *Matrix) error {
	if err := m.check(); err != nil {
		return err
	}
	if 8*len(dst) != len(m.GetData()) {
		return fmt.Errorf("%w: %d numbers instead of %d", core.ErrShape, len(m.GetData())/8, len(dst))
	}
	fromBytes(dst, m.GetData())
	return nil
}

// UnpackRow returns all numbers of a matrix, nil if it is absent.
func UnpackRow(m *Matrix) ([]float64, error) {
	if len(m.GetData()) == 0 {
		return nil, m.check()
	}
	v := make([]float64, len(m.Data)/8)
	return v, UnpackTo(v, m)
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
