// Package sdk turns a component into a process and back.
//
// A plugin is an executable whose main function calls Main with its
// components. The runner starts it with "serve KIND/NAME", and Start and
// Process.Open give the runner an object that behaves like the component
// itself. Everything rides on hashicorp/go-plugin: handshake, protocol
// version, mutual TLS and health; see internal/wire/component.proto for what
// is said on the stream.
package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/go-plugin"
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/sdk/internal/wire"
	"google.golang.org/grpc"
)

// ProtocolVersion is the version of the protocol that this package speaks.
const ProtocolVersion = 1

// handshake keeps people from starting a plugin by hand and wondering.
var handshake = plugin.HandshakeConfig{
	ProtocolVersion:  ProtocolVersion,
	MagicCookieKey:   "UNBRAID_PLUGIN",
	MagicCookieValue: "a braid of one-dimensional functions",
}

const (
	pluginName  = "component"
	windowBytes = 4 << 20 // room for a whole batch under way without waiting for the reader
	bufferBytes = 256 << 10
)

// Main is the main function of a plugin: it answers "describe" with what is in
// the executable, as JSON, and "serve KIND/NAME" by serving that component. It
// does not return.
func Main(components ...core.Component) {
	if err := Run(os.Args[1:], components); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
	os.Exit(0)
}

// Run carries out the command that Main was given.
func Run(args []string, components []core.Component) error {
	if len(args) == 1 && args[0] == "describe" {
		return describe(os.Stdout, components)
	}
	if len(args) == 2 && args[0] == "serve" {
		for i := range components {
			if components[i].ID() == args[1] {
				Serve(&components[i], components)
				return nil
			}
		}
		return fmt.Errorf("there is no %s in this executable, which holds %s", args[1], list(components))
	}
	return fmt.Errorf("this is an unbraid plugin with %s; name it in an experiment file, under [plugins], and let unbraid start it. It answers \"describe\" and \"serve KIND/NAME\"", list(components))
}

func list(components []core.Component) string {
	ids := make([]string, len(components))
	for i := range components {
		ids[i] = components[i].ID()
	}
	return strings.Join(ids, ", ")
}

// catalogue is what "describe" prints on a line of its own.
type catalogue struct {
	Protocol   int                `json:"unbraid_protocol"`
	Components []core.Description `json:"components"`
}

func describe(w io.Writer, components []core.Component) error {
	c := catalogue{Protocol: ProtocolVersion}
	for i := range components {
		d := components[i].Description
		d.Params = slices.Clone(d.Params)
		for j := range d.Params {
			d.Params[j].Default = jsonParams(d.Params[j].Default)
		}
		c.Components = append(c.Components, d)
	}
	b, err := json.Marshal(c)
	if err == nil {
		// A new line first, in case something was printed before.
		_, err = fmt.Fprintf(w, "\n%s\n", b)
	}
	return err
}

// Serve serves one component to the runner that started this process and
// returns when the runner is done with it. When the runner dies, so does this
// process. A solver that runs others finds them among siblings.
func Serve(c *core.Component, siblings []core.Component) {
	slog.SetDefault(slog.New(logHandler(os.Stderr)))
	go dieWithRunner(os.Stdin)
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake,
		Plugins:         plugin.PluginSet{pluginName: &grpcPlugin{server: &server{component: c, siblings: siblings}}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, serverOptions()...)...)
		},
		Logger: quietLogger(),
	})
}

func serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(math.MaxInt32), grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.InitialWindowSize(windowBytes), grpc.InitialConnWindowSize(windowBytes),
		grpc.ReadBufferSize(bufferBytes), grpc.WriteBufferSize(bufferBytes),
	}
}

// dieWithRunner ends the process when its standard input ends: the runner
// holds the other end of that pipe as long as it lives, however it dies.
func dieWithRunner(stdin io.Reader) {
	_, _ = io.Copy(io.Discard, stdin)
	os.Exit(0)
}

// grpcPlugin joins our service with go-plugin, on both sides.
type grpcPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	server *server // nil in the runner
}

var _ plugin.GRPCPlugin = (*grpcPlugin)(nil)

func (p *grpcPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	wire.RegisterComponentServer(s, p.server)
	return nil
}

func (p *grpcPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return wire.NewComponentClient(c), nil
}
