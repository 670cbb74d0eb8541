package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/runner/internal/launch"
	"github.com/unbraid/unbraid/sdk"
)

func newPluginsCommand() *cobra.Command {
	var extra []string
	cmd := &cobra.Command{
		Use:   "plugins",
		Short: "List every component, by kind",
		Long: `List every component that an experiment can use, by kind, with where it comes
from: built in, or an executable called unbraid-plugin-* in one of the folders
of UNBRAID_PLUGIN_PATH or in the folder unbraid/plugins of your configuration
folder. Executables named in an experiment file need not be in either.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := newCatalogue(cmd.Context(), cmd.ErrOrStderr(), extra)
			if err != nil {
				return err
			}
			return listComponents(cmd.OutOrStdout(), c)
		},
	}
	addPluginFlag(cmd, &extra)
	describe := &cobra.Command{
		Use:     "describe KIND/NAME",
		Short:   "Explain a component and its parameters",
		Example: "  unbraid plugins describe solver/cbo",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newCatalogue(cmd.Context(), cmd.ErrOrStderr(), extra)
			if err != nil {
				return err
			}
			kind, name, err := launch.ParseID(args[0])
			if err != nil {
				return err
			}
			e, err := c.Get(kind, name)
			if err != nil {
				return err
			}
			return describeComponent(cmd.OutOrStdout(), e)
		},
	}
	addPluginFlag(describe, &extra)
	cmd.AddCommand(describe)
	return cmd
}

func addPluginFlag(cmd *cobra.Command, extra *[]string) {
	cmd.Flags().StringArrayVar(extra, "plugin", nil, "an executable with components, to be used too (may be repeated)")
}

// newCatalogue returns all components: built in, discovered, and in the extra
// executables.
func newCatalogue(ctx context.Context, warnings io.Writer, extra []string) (*launch.Catalogue, error) {
	c := launch.NewCatalogue(builtins())
	for _, path := range extra {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		if err := c.Add(ctx, sdk.Executable{Name: filepath.Base(path), Command: []string{abs}}); err != nil {
			return nil, err
		}
	}
	c.Discover(ctx)
	for _, w := range c.Warnings {
		fmt.Fprintln(warnings, "warning:", w)
	}
	return c, nil
}

func listComponents(w io.Writer, c *launch.Catalogue) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, kind := range core.Kinds {
		entries := c.Entries(kind)
		if len(entries) == 0 {
			continue
		}
		if i > 0 {
			fmt.Fprintln(t)
		}
		for _, e := range entries {
			line := fmt.Sprintf("%s\t%s", e.ID(), firstSentence(e.Doc))
			if e.Origin != "built-in" {
				line += " [" + e.Origin + "]"
			}
			fmt.Fprintln(t, line)
		}
	}
	fmt.Fprintln(t, "\nunbraid plugins describe KIND/NAME tells more about one of them.")
	return t.Flush()
}

func firstSentence(doc string) string {
	first, _, _ := strings.Cut(doc, "\n")
	return first
}

func describeComponent(w io.Writer, e *launch.Entry) error {
	fmt.Fprintf(w, "%s (%s)\n\n%s\n", e.ID(), e.Origin, strings.TrimSpace(e.Doc))
	if len(e.Params) == 0 {
		_, err := fmt.Fprintln(w, "\nIt has no parameters.")
		return err
	}
	fmt.Fprintln(w, "\nParameters:")
	for i := range e.Params {
		p := &e.Params[i]
		text := p.Doc
		if r := p.Range(); r != "" {
			text += " (" + r + ")"
		}
		fmt.Fprintf(w, "  %s = %s\n      %s: %s\n", p.Name, tomlValue(p.Default), p.Type, text)
	}
	_, err := fmt.Fprintf(w, "\nIn an experiment file:\n  %s = { plugin = %q, %s = %s }\nEvery component also takes timeout = \"30s\": how long its process may take for an answer.\n",
		e.Kind, e.Name, e.Params[0].Name, tomlValue(e.Params[0].Default))
	return err
}

// tomlValue writes a value as it would stand in an experiment file.
func tomlValue(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case float64:
		s := fmt.Sprint(v)
		if !strings.ContainsAny(s, ".einEIN") {
			s += ".0"
		}
		return s
	case map[string]any:
		return "{}"
	case []string:
		return strings.ReplaceAll(fmt.Sprintf("%q", v), " ", ", ")
	case []float64, []int64, []any:
		return strings.ReplaceAll(fmt.Sprint(v), " ", ", ")
	}
	return fmt.Sprint(v)
}
