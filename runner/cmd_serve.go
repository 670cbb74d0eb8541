package main

import (
	"github.com/spf13/cobra"
	"github.com/unbraid/unbraid/sdk"
)

// newPluginProcessCommands returns the commands with which every executable
// that carries components answers the runner; this program starts itself with
// them to put a built-in component into its own process.
func newPluginProcessCommands() []*cobra.Command {
	answer := func(cmd *cobra.Command, args []string) error {
		return sdk.Run(append([]string{cmd.Name()}, args...), builtins())
	}
	return []*cobra.Command{
		{Use: "describe", Short: "Describe the built-in components as JSON", Hidden: true, Args: cobra.NoArgs, RunE: answer},
		{Use: "serve KIND/NAME", Short: "Serve a built-in component", Hidden: true, Args: cobra.ExactArgs(1), RunE: answer},
	}
}
