package sdk

import (
	"io"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// logHandler writes records in the form in which the runner understands level
// and message, so that a plugin's slog.Warn arrives as a warning.
func logHandler(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: slog.LevelDebug, // the runner decides what is shown
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) > 0 {
				return a
			}
			switch a.Key {
			case slog.TimeKey:
				return slog.String("@timestamp", a.Value.Time().Format("2006-01-02T15:04:05.000000Z07:00"))
			case slog.LevelKey:
				return slog.String("@level", strings.ToLower(a.Value.String()))
			case slog.MessageKey:
				a.Key = "@message"
			}
			return a
		},
	})
}

// quietLogger is for go-plugin's own remarks in the plugin's process.
func quietLogger() hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Level: hclog.Error, JSONFormat: true})
}
