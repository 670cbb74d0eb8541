package sdk

import (
	"context"
	"fmt"
	"net"

	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/sdk/internal/wire"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

// Loopback serves a component over the wire within this process, for tests:
// all of the protocol, none of the process. Open is as Process.Open; stop ends
// it. Siblings are the other components of the executable.
func Loopback(c *core.Component, siblings ...core.Component) (open func(ctx context.Context, values map[string]any, env *core.Env) (any, error), stop func(), err error) {
	listener := bufconn.Listen(windowBytes)
	s := grpc.NewServer(serverOptions()...)
	wire.RegisterComponentServer(s, &server{component: c, siblings: siblings})
	go func() { _ = s.Serve(listener) }()
	conn, err := grpc.NewClient("passthrough:///loopback", append(dialOptions(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		s.Stop()
		return nil, nil, err
	}
	open = func(ctx context.Context, values map[string]any, env *core.Env) (any, error) {
		session := &session{component: c.ID(), explain: func(err error) error {
			return fmt.Errorf("%w: %w", core.ErrCrash, err)
		}}
		return session.open(ctx, wire.NewComponentClient(conn), c.Kind, values, env)
	}
	return open, func() { _ = conn.Close(); s.Stop() }, nil
}
