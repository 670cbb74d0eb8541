package sdk

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/sdk/internal/wire"
	"gonum.org/v1/gonum/mat"
)

// How a solver comes by its noise.
const (
	noiseNone     = ""
	noiseRemote   = "remote"   // it asks the runner with NOISE frames
	noiseFactored = "factored" // it has the factors and applies them itself
)

// settings is the JSON of an OPEN frame.
type settings struct {
	Params      map[string]any    `json:"params"`
	Dim         int               `json:"dim"`
	Budget      int               `json:"budget"`
	HessianCost int               `json:"hessian_cost"`
	Stream      string            `json:"stream"` // the 32 bytes of the key in hex
	Noise       string            `json:"noise"`
	NoiseNorm   bool              `json:"noise_norm"`
	Certificate *core.Certificate `json:"certificate,omitempty"` // present with a structure
}

// facts is the JSON of the answer to OPEN.
type facts struct {
	Minimum   *number `json:"minimum,omitempty"`
	Factored  bool    `json:"factored,omitempty"`
	NoiseNorm bool    `json:"noise_norm,omitempty"`
}

// number is a float64 that JSON can carry even if it is not finite.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if x := float64(n); math.IsInf(x, 0) || math.IsNaN(x) {
		return json.Marshal(strconv.FormatFloat(x, 'g', -1, 64))
	}
	return json.Marshal(float64(n))
}

func (n *number) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		s, err := strconv.Unquote(string(b))
		if err != nil {
			return err
		}
		x, err := strconv.ParseFloat(s, 64)
		*n = number(x)
		return err
	}
	return json.Unmarshal(b, (*float64)(n))
}

// jsonParams replaces the numbers that JSON cannot carry; core.Resolve reads
// the strings back.
func jsonParams(v any) any {
	switch v := v.(type) {
	case float64:
		return number(v)
	case []float64:
		out := make([]number, len(v))
		for i, x := range v {
			out[i] = number(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = jsonParams(x)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, x := range v {
			out[key] = jsonParams(x)
		}
		return out
	}
	return v
}

// openFrame packs what a component is made from.
func openFrame(values map[string]any, env *core.Env) (*wire.Frame, error) {
	params, _ := jsonParams(values).(map[string]any)
	s := settings{
		Params: params, Dim: env.Dim, Budget: env.Budget, HessianCost: env.HessianCost,
		Stream: hex.EncodeToString(env.Stream[:]),
	}
	var w, inverse, in, out *mat.Dense
	if env.Structure != nil {
		w, inverse, s.Certificate = env.Structure.W, env.Structure.Inverse, &env.Structure.Certificate
	}
	switch n := env.Noise.(type) {
	case nil:
	case core.FactoredNoise:
		f := n.Factors()
		s.Noise, s.NoiseNorm, in, out = noiseFactored, f.Norm, f.In, f.Out
	default:
		s.Noise = noiseRemote
	}
	b, err := json.Marshal(s)
	var p wire.Plane
	return &wire.Frame{Op: wire.Op_OPEN, Json: b, Matrices: []*wire.Matrix{
		p.PackRow(env.Lower), p.PackRow(env.Upper), p.Pack(w), p.Pack(inverse), p.Pack(in), p.Pack(out),
	}}, err
}

// readOpen is the inverse of openFrame. remote is used for a noise model that
// is reached through the runner.
func readOpen(f *wire.Frame, remote core.Noise) (map[string]any, *core.Env, error) {
	var s settings
	if err := decodeJSON(f.Json, &s); err != nil {
		return nil, nil, err
	}
	env := &core.Env{Dim: s.Dim, Budget: s.Budget, HessianCost: s.HessianCost}
	key, err := hex.DecodeString(s.Stream)
	if err != nil || len(key) != len(env.Stream) {
		return nil, nil, fmt.Errorf("%w: the stream's key has %d hex digits", core.ErrShape, len(s.Stream))
	}
	copy(env.Stream[:], key)
	m, err := unpackAll(&wire.Plane{}, f, 6)
	if err != nil {
		return nil, nil, err
	}
	if m[0] != nil && m[1] != nil {
		env.Lower, env.Upper = m[0].RawMatrix().Data, m[1].RawMatrix().Data
	}
	if s.Certificate != nil {
		env.Structure = &core.Structure{W: m[2], Inverse: m[3], Certificate: *s.Certificate}
	}
	switch s.Noise {
	case noiseRemote:
		env.Noise = remote
	case noiseFactored:
		env.Noise = core.NewFactoredNoise(core.Factors{In: m[4], Out: m[5], Norm: s.NoiseNorm})
	}
	return s.Params, env, nil
}

// factsFrame answers an OPEN frame with what is known of the instance.
func factsFrame(instance any) (*wire.Frame, error) {
	var known facts
	var p wire.Plane
	var matrices []*wire.Matrix
	switch c := instance.(type) {
	case core.Known:
		k := c.Facts()
		known.Minimum = (*number)(k.Minimum)
		matrices = []*wire.Matrix{p.PackRow(k.Lower), p.PackRow(k.Upper), p.PackRow(k.Minimiser), p.Pack(k.Mix)}
	case core.FactoredNoise:
		k := c.Factors()
		known.Factored, known.NoiseNorm = true, k.Norm
		matrices = []*wire.Matrix{p.Pack(k.In), p.Pack(k.Out)}
	}
	b, err := json.Marshal(known)
	return &wire.Frame{Op: wire.Op_RESULT, Json: b, Matrices: matrices}, err
}

func decodeJSON(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // whole numbers keep all their digits
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%w: malformed JSON in a frame: %w", core.ErrShape, err)
	}
	return nil
}

// unpackAll returns at least n matrices of a frame, nil for absent ones.
func unpackAll(p *wire.Plane, f *wire.Frame, n int) ([]*mat.Dense, error) {
	out := make([]*mat.Dense, max(n, len(f.Matrices)))
	for i := range out {
		var err error
		if out[i], err = p.Unpack(f.At(i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}
