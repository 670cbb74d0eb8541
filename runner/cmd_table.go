package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/unbraid/unbraid/runner/internal/results"
)

func newTableCommand() *cobra.Command {
	var format string
	var certificates bool
	cmd := &cobra.Command{
		Use:   "table DIR",
		Short: "Sum up the results in a folder",
		Long: `Sum up the results in a folder: success rates, the median gap to the minimum, and
the median number of queries to success (a dash where fewer than half succeed).

Formats: text has a line for each problem and method; markdown and latex have
methods as rows and problems as columns, with the share of recovered directions
in brackets; csv and json have every figure.

--certificates shows instead, for every trial with an estimator, how far its
estimate can be trusted: the verdict, the rank and the singular values it was
read from, the residual on fresh points relative to the diagonal, the condition
number, and the rows that are not determined or hang together.`,
		Example: "  unbraid table results/quick-start\n  unbraid table results/quick-start --format markdown",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if certificates && cmd.Flags().Changed("format") {
				return errors.New("--certificates is text only; the certificates are in trials.jsonl, too")
			}
			if certificates {
				return results.WriteCertificates(cmd.OutOrStdout(), args[0])
			}
			s, err := results.Summarise(args[0])
			if err != nil {
				return err
			}
			return s.Write(cmd.OutOrStdout(), format)
		},
	}
	cmd.Flags().BoolVar(&certificates, "certificates", false, "show the certificates of the estimates instead")
	cmd.Flags().StringVar(&format, "format", "text", strings.Join(results.Formats, ", "))
	return cmd
}
