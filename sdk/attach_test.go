package sdk

import (
	"encoding/json"
	"testing"

	"github.com/unbraid/unbraid/sdk/internal/wire"
	"gonum.org/v1/gonum/mat"
)

// An offer is taken as a whole or not at all, or the two ends would disagree
// about where numbers lie.
func TestHalfAnOfferIsRefused(t *testing.T) {
	var offer wire.Offer
	segment, err := wire.NewSegment(1<<16, &offer)
	if err != nil {
		t.Skip(err)
	}
	defer segment.Close()
	offer.In, offer.Out = "/proc/self/fd/9999", "/proc/self/fd/9998"
	b, err := json.Marshal(offer)
	if err != nil {
		t.Fatal(err)
	}
	in := &instance{ctx: t.Context()}
	if _, err := in.attach(&wire.Frame{Op: wire.Op_ATTACH, Json: b}); err == nil {
		t.Fatal("pipes that are not there were taken")
	}
	if in.plane.Pack(mat.NewDense(50, 50, nil)).Shared {
		t.Error("the segment is in use")
	}
}
