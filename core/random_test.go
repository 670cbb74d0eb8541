package core_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/unbraid/unbraid/core"
)

func draw(s core.Stream, n int) []uint64 {
	rng := s.Rand()
	out := make([]uint64, n)
	for i := range out {
		out[i] = rng.Uint64()
	}
	return out
}

// Results that are on record depend on these numbers.
func TestStreamsStay(t *testing.T) {
	for _, test := range []struct {
		seed  uint64
		names []string
		want  string
	}{
		{0, nil, "d27ff1b0 16926118737487391663 0.86405322393017148 -0.41922107313507873"},
		{1, []string{"solver"}, "5b00e2c1 8777004439106620742 0.86610805872520669 -0.84748857987108495"},
		{math.MaxUint64, []string{"solver", "steps"}, "ef73daff 11565557086653111373 0.03407083258301602 0.45704475039259962"},
	} {
		s := core.NewStream(test.seed)
		for _, name := range test.names {
			s = s.Split(name)
		}
		rng := s.Rand()
		if got := fmt.Sprintf("%x %d %.17g %.17g", s[:4], rng.Uint64(), rng.Float64(), rng.NormFloat64()); got != test.want {
			t.Errorf("seed %d %v: got %s, want %s", test.seed, test.names, got, test.want)
		}
	}
}

// Every seed and name gives a stream of its own.
func TestStreamsDiffer(t *testing.T) {
	seen := map[uint64]string{}
	note := func(what string, s core.Stream) {
		first := draw(s, 1)[0]
		if other, ok := seen[first]; ok {
			t.Errorf("%s starts like %s", what, other)
		}
		seen[first] = what
	}
	for _, seed := range []uint64{0, 1, 2, 255, 256, 1 << 32, 1 << 63, math.MaxUint64} {
		root := core.NewStream(seed)
		note(fmt.Sprint("seed ", seed), root)
		for _, name := range []string{"", "a", "b", "ab", "solver", "solver\x00"} {
			note(fmt.Sprintf("seed %d, %q", seed, name), root.Split(name))
		}
		note(fmt.Sprintf("seed %d, a below a", seed), root.Split("a").Split("a"))
		note(fmt.Sprintf("seed %d, b below a", seed), root.Split("a").Split("b"))
	}
}

// Neither the order of splits nor what others draw shifts a stream.
func TestStreamsAreIndependentOfOrder(t *testing.T) {
	root := core.NewStream(0)
	want := draw(root.Split("solver"), 100)
	copyOfRoot := root
	draw(root.Split("objective"), 1000)
	draw(root, 10)
	if !slices.Equal(draw(root.Split("solver"), 100), want) {
		t.Error("the stream depends on what was split or drawn before")
	}
	if root != copyOfRoot {
		t.Error("splitting changed the stream")
	}
	env := core.Env{Stream: root.Split("solver")}
	if env.Rand("start").Uint64() != env.Rand("start").Uint64() || env.Rand("start").Uint64() == env.Rand("steps").Uint64() {
		t.Error("a purpose is not a stream of its own")
	}
}
