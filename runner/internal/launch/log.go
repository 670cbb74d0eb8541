package launch

import (
	"fmt"
	"io"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/rs/zerolog"
	"github.com/unbraid/unbraid/sdk"
)

// PluginLog returns a logger for sdk.Start that passes what plugins say on to
// a zerolog logger, with the plugin's name and at the level they said it.
func PluginLog(log zerolog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: hostName, Output: io.Discard, Level: hclog.Trace})
	l.RegisterSink(&sink{log: log})
	return l
}

const hostName = "host"

type sink struct{ log zerolog.Logger }

var levels = map[hclog.Level]zerolog.Level{
	hclog.Trace: zerolog.TraceLevel, hclog.Debug: zerolog.DebugLevel, hclog.Info: zerolog.InfoLevel,
	hclog.Warn: zerolog.WarnLevel, hclog.Error: zerolog.ErrorLevel,
}

func (s *sink) Accept(name string, level hclog.Level, msg string, args ...any) {
	plugin, isPlugin := strings.CutSuffix(strings.TrimPrefix(name, hostName+"."), "."+sdk.SaidByPlugin)
	to, known := levels[level]
	switch {
	case !isPlugin:
		// go-plugin takes the end of a process for an error, also where we
		// ended it; what matters is in the trial's record.
		to = zerolog.TraceLevel
	case !known:
		to = zerolog.InfoLevel
	case level == hclog.Debug && !hasKey(args, "timestamp") && !strings.HasPrefix(msg, "[DEBUG]"):
		to = zerolog.InfoLevel // a plain line on stderr, which has no level
	}
	if to < s.log.GetLevel() {
		return
	}
	event := s.log.WithLevel(to).Str("plugin", plugin)
	for i := 0; i+1 < len(args); i += 2 {
		if key := fmt.Sprint(args[i]); key != "timestamp" {
			event = event.Interface(key, args[i+1])
		}
	}
	for _, tag := range []string{"[TRACE]", "[DEBUG]", "[INFO]", "[WARN]", "[ERROR]"} {
		msg = strings.TrimPrefix(msg, tag)
	}
	event.Msg(strings.TrimSpace(msg))
}

func hasKey(args []any, key string) bool {
	for i := 0; i < len(args); i += 2 {
		if args[i] == key {
			return true
		}
	}
	return false
}
