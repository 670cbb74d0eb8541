package core

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Stream is the key of a random stream. Streams are split off a trial's seed
// by name, so that a component that draws more or fewer numbers than another
// in its place does not shift anybody else's.
type Stream [32]byte

// NewStream returns the root stream of a seed. Every seed is valid.
func NewStream(seed uint64) Stream {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], seed)
	return sha256.Sum256(append([]byte("unbraid stream\x00"), b[:]...))
}

// Split returns the stream with this name below s: the SHA-256 of the key
// followed by the name.
func (s Stream) Split(name string) Stream {
	return sha256.Sum256(append(s[:], name...))
}

// Rand returns a generator at the start of the stream.
func (s Stream) Rand() *rand.Rand {
	return rand.New(rand.NewChaCha8(s))
}
