package wire

import (
	"errors"
	"io"
	"math"
	"testing"

	"github.com/unbraid/unbraid/core"
	"gonum.org/v1/gonum/mat"
	"google.golang.org/protobuf/proto"
)

func numbers(rows, cols int) *mat.Dense {
	x := mat.NewDense(rows, cols, nil)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = math.Sqrt(float64(i)) - 3
	}
	x.Set(0, 0, math.NaN())
	x.Set(rows-1, cols-1, math.Inf(-1))
	return x
}

func sameBits(t *testing.T, got, want *mat.Dense) {
	t.Helper()
	for i, w := range want.RawMatrix().Data {
		if g := got.RawMatrix().Data[i]; math.Float64bits(g) != math.Float64bits(w) {
			t.Fatalf("number %d: %v, want %v", i, g, w)
		}
	}
}

func TestMatricesSurviveTheStream(t *testing.T) {
	var p Plane
	for _, size := range [][2]int{{1, 1}, {3, 7}, {500, 100}} {
		x := numbers(size[0], size[1])
		b, err := proto.Marshal(&Frame{Matrices: []*Matrix{p.Pack(x), p.Pack(nil)}})
		if err != nil {
			t.Fatal(err)
		}
		var f Frame
		if err := proto.Unmarshal(b, &f); err != nil {
			t.Fatal(err)
		}
		got, err := p.Unpack(f.At(0))
		if err != nil {
			t.Fatal(err)
		}
		sameBits(t, got, x)
		for _, i := range []int{1, 2} {
			if got, err := p.Unpack(f.At(i)); got != nil || err != nil {
				t.Errorf("an absent matrix came out as %v, %v", got, err)
			}
		}
	}
}

func TestPackOfAPartOfAMatrix(t *testing.T) {
	var p Plane
	part := numbers(6, 5).Slice(1, 4, 1, 3).(*mat.Dense)
	got, err := p.Unpack(p.Pack(part))
	if err != nil || !mat.Equal(got, part) {
		t.Errorf("%v %v", got, err)
	}
}

func TestMatricesSurviveSharedMemory(t *testing.T) {
	var offer Offer
	s, err := NewSegment(100_000, &offer)
	if err != nil {
		t.Skip(err)
	}
	other, err := OpenSegment(&offer)
	if err != nil {
		t.Fatal(err)
	}
	s.Opened()
	if _, err := OpenSegment(&offer); err == nil {
		t.Error("the segment can be opened after it was handed over")
	}
	var sender, receiver Plane
	sender.Attach(s)
	receiver.Attach(other)
	defer sender.Detach()
	defer receiver.Detach()
	for range 3 {
		sender.Begin()
		receiver.Begin()
		x, y, small, big := numbers(60, 100), numbers(30, 100), numbers(2, 3), numbers(200, 100)
		frame := &Frame{Matrices: []*Matrix{sender.Pack(x), sender.Pack(y), sender.Pack(small), sender.Pack(big)}}
		for i, shared := range []bool{true, true, false, false} {
			if frame.At(i).Shared != shared {
				t.Errorf("matrix %d: shared is %v", i, frame.At(i).Shared)
			}
		}
		for i, want := range []*mat.Dense{x, y, small, big} {
			got, err := receiver.Unpack(frame.At(i))
			if err != nil {
				t.Fatal(err)
			}
			sameBits(t, got, want)
		}
	}
	if missing := sender.Missing(); missing < 8*200*100 {
		t.Errorf("%d bytes missing, want room for all four", missing)
	}
}

func TestFramesThroughPipes(t *testing.T) {
	var offer Offer
	here, opened, err := NewDirect(&offer)
	if err != nil {
		t.Skip(err)
	}
	there, err := OpenDirect(&offer)
	if err != nil {
		t.Fatal(err)
	}
	opened()
	var p Plane
	for _, rows := range []int{1, 3000} { // far more than a pipe holds
		x := numbers(rows, 100)
		go func() { _ = here.Send(&Frame{Op: Op_EVALUATE, Matrices: []*Matrix{p.Pack(x)}}) }()
		f, err := there.Recv()
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Unpack(f.At(0))
		if err != nil {
			t.Fatal(err)
		}
		sameBits(t, got, x)
	}
	there.Close()
	if _, err := here.Recv(); err != io.EOF {
		t.Errorf("after the other side's end: %v", err)
	}
	here.Close()
}

// Nothing that the other side claims makes us read outside of its memory.
func FuzzUnpack(f *testing.F) {
	f.Add(uint32(2), uint32(3), make([]byte, 48), false, uint64(0))
	f.Add(uint32(1<<31), uint32(1<<31), []byte{}, true, uint64(1<<63))
	f.Add(uint32(4), uint32(4), []byte{}, true, uint64(1<<16-64))
	f.Add(uint32(0), uint32(7), []byte{}, true, uint64(1<<16))
	f.Fuzz(func(t *testing.T, rows, cols uint32, data []byte, shared bool, offset uint64) {
		var p Plane
		if s, err := NewSegment(1<<16, &Offer{}); err == nil {
			p.Attach(s)
			defer p.Detach()
		}
		m := &Matrix{Rows: rows, Cols: cols, Data: data, Shared: shared, Offset: offset}
		x, err := p.Unpack(m)
		if err != nil && !errors.Is(err, core.ErrShape) {
			t.Fatal(err)
		}
		if x != nil {
			if r, c := x.Dims(); r != int(rows) || c != int(cols) {
				t.Fatalf("%d x %d instead of %d x %d", r, c, rows, cols)
			}
		}
	})
}
