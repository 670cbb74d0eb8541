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
	// Path is where the other process can open it, until Opened is called.
	Path string `json:"path"`
	Size int    `json:"size"`
	fd   int
}

const largestSegment = 1 << 31

// NewSegment makes a segment of at least the given size.
func NewSegment(size int) (*Segment, error) {
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
	s := &Segment{Path: fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), Size: size, fd: fd}
	if err == nil {
		s.memory, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return s, nil
}

// Opened says that the other process has opened the segment, or never will.
func (s *Segment) Opened() {
	if s.fd >= 0 {
		_ = unix.Close(s.fd)
		s.fd = -1
	}
}

// OpenSegment maps a segment of another process.
func OpenSegment(path string, size int) (*Segment, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, err
	}
	if size <= 0 || stat.Size != int64(size) {
		return nil, fmt.Errorf("the segment has %d bytes, not %d", stat.Size, size)
	}
	memory, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &Segment{memory: memory, Size: size, fd: -1}, nil
}

func (s *Segment) close() {
	s.Opened()
	_ = unix.Munmap(s.memory)
}
