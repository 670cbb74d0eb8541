package wire

import (
	"fmt"
	"math/bits"
	"os"

	"golang.org/x/sys/unix"
)

// Segment is memory that two processes share. It has no name in any file
// system, so nothing is left behind whichever side dies, and it is sealed
// against shrinking, so that neither side can make the other fault.
type Segment struct {
	memory []byte
	fd     int // until Opened
}

const largestSegment = 1 << 30

// NewSegment makes a segment of at least the given size and notes in the offer
// where the other process can open it.
func NewSegment(size int, offer *Offer) (*Segment, error) {
	if size <= 0 || size > largestSegment {
		return nil, fmt.Errorf("no segment of %d bytes", size)
	}
	// Powers of two from 64 KiB on, so that growing is rare.
	size = max(1<<16, 1<<bits.Len(uint(size-1)))
	fd, err := unix.MemfdCreate("unbraid", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	// Reserving the memory now means that writing to it cannot fail later.
	if err = unix.Fallocate(fd, 0, 0, int64(size)); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	s := &Segment{fd: fd}
	if err == nil {
		s.memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	offer.Segment, offer.Size = descriptorPath(fd), size
	return s, nil
}

// descriptorPath is where processes of the same user can open a descriptor of
// this one.
func descriptorPath(fd int) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd) }

// Opened says that the other process has opened the segment, or never will.
func (s *Segment) Opened() {
	if s.fd >= 0 {
		_ = unix.Close(s.fd)
		s.fd = -1
	}
}

// OpenSegment maps the segment that another process offers.
func OpenSegment(offer *Offer) (*Segment, error) {
	fd, err := unix.Open(offer.Segment, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, err
	}
	if offer.Size <= 0 || stat.Size != int64(offer.Size) {
		return nil, fmt.Errorf("the segment has %d bytes, not %d", stat.Size, offer.Size)
	}
	memory, err := unix.Mmap(fd, 0, offer.Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &Segment{memory: memory, fd: -1}, nil
}

// Close gives the memory back. A nil segment has none.
func (s *Segment) Close() {
	if s == nil {
		return
	}
	s.Opened()
	_ = unix.Munmap(s.memory)
}

// NewDirect makes two pipes and notes in the offer where the other process can
// open its ends. opened must be called when it has done so, or never will.
func NewDirect(offer *Offer) (d *Direct, opened func(), err error) {
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		_ = theirIn.Close()
		_ = ourOut.Close()
		return nil, nil, err
	}
	offer.In, offer.Out = descriptorPath(int(theirIn.Fd())), descriptorPath(int(theirOut.Fd()))
	return newDirect(ourIn, ourOut), func() {
		_ = theirIn.Close()
		_ = theirOut.Close()
	}, nil
}

// OpenDirect opens the pipes that another process offers.
func OpenDirect(offer *Offer) (*Direct, error) {
	in, err := os.OpenFile(offer.In, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(offer.Out, os.O_WRONLY, 0)
	if err != nil {
		_ = in.Close()
		return nil, err
	}
	return newDirect(in, out), nil
}
