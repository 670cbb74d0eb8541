package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/objectives/mix"
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
		Use:     "describe KIND/NAME | mix",
		Short:   "Explain a component and its parameters, or the mix in front of an objective",
		Example: "  unbraid plugins describe solver/cbo\n  unbraid plugins describe mix",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := newCatalogue(cmd.Context(), cmd.ErrOrStderr(), extra)
			if err != nil {
				return err
			}
			if args[0] == "mix" {
				return describeMix(cmd.OutOrStdout())
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
	fmt.Fprintln(t, "\nunbraid plugins describe KIND/NAME tells more about one of them, and\nunbraid plugins describe mix about the matrix in front of an objective.")
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
	describeParams(w, e.Params)
	_, err := fmt.Fprintf(w, "\nIn an experiment file:\n  %s = { plugin = %q%s }\nEvery component also takes timeout = \"30s\": how long its process may take to answer\na request, which for an objective is a whole batch of points.\n",
		e.Kind, e.Name, exampleParam(e.Params))
	return err
}

// exampleParam shows the first parameter that has a default worth showing.
func exampleParam(params []core.Param) string {
	for _, p := range params {
		if v := tomlValue(p.Default); v != "[]" && v != "{}" && v != `""` {
			return ", " + p.Name + " = " + v
		}
	}
	return ""
}

func describeParams(w io.Writer, params []core.Param) {
	fmt.Fprintln(w, "\nParameters, with their defaults:")
	for i := range params {
		p := &params[i]
		text := p.Doc
		if r := p.Range(); r != "" {
			text += " (" + r + ")"
		}
		fmt.Fprintf(w, "  %s = %s\n      %s: %s\n", p.Name, tomlValue(p.Default), p.Type, text)
	}
}

func describeMix(w io.Writer) error {
	fmt.Fprintln(w, "mix: the matrix W in front of an objective g, so that the problem is f(x) = g(Wx).\nIts rows have length one. It is drawn from the trial's seed.")
	describeParams(w, core.DescribeParams("mix", mix.Defaults()).Params)
	_, err := fmt.Fprintln(w, "\nIn an experiment file, under [[problem]]:\n  mix = { kind = \"orthogonal\" }\n  mix = { file = \"W.csv\" }\n  mix = false      # not even the one that the objective brings, as microring does")
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
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, key+" = "+tomlValue(v[key]))
		}
		if parts == nil {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case []string:
		return strings.ReplaceAll(fmt.Sprintf("%q", v), " ", ", ")
	case []float64, []int64, []any:
		return strings.ReplaceAll(fmt.Sprint(v), " ", ", ")
	}
	return fmt.Sprint(v)
}
