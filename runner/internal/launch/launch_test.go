package launch

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/rs/zerolog"
	"github.com/unbraid/unbraid/core"
	"github.com/unbraid/unbraid/sdk"
)

// What plugins say arrives with their name and at their level; go-plugin's own
// remarks do not disturb.
func TestPluginLog(t *testing.T) {
	for _, c := range []struct {
		say          func(host, plugin hclog.Logger)
		level, text  string // "" for nothing
		plugin, more string
	}{
		{func(_, p hclog.Logger) { p.Warn("low on memory", "timestamp", "now", "free", 3) }, "warn", "low on memory", "solver/mine", `"free":3`},
		{func(_, p hclog.Logger) { p.Error("[ERROR] broken") }, "error", "broken", "solver/mine", ""},
		{func(_, p hclog.Logger) { p.Debug("a plain line on stderr") }, "info", "a plain line on stderr", "solver/mine", ""},
		{func(_, p hclog.Logger) { p.Debug("meant for debugging", "timestamp", "now") }, "", "", "", ""},
		{func(_, p hclog.Logger) { p.Debug("[DEBUG] tagged") }, "", "", "", ""},
		{func(h, _ hclog.Logger) { h.Error("plugin process exited") }, "", "", "", ""},
	} {
		var out bytes.Buffer
		host := PluginLog(zerolog.New(&out).Level(zerolog.InfoLevel)).Named("solver/mine")
		c.say(host, host.Named(sdk.SaidByPlugin))
		if c.text == "" {
			if out.Len() > 0 {
				t.Errorf("unexpected: %s", out.String())
			}
			continue
		}
		var got map[string]any
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%q: %v", out.String(), err)
		}
		if got["level"] != c.level || got["message"] != c.text || got["plugin"] != c.plugin || !strings.Contains(out.String(), c.more) {
			t.Errorf("got %s", out.String())
		}
	}
}

func testCatalogue() *Catalogue {
	noise := core.NewNoise("quiet", "None.", core.None{}, func(core.None, *core.Env) (core.Noise, error) { return nil, nil })
	solver := core.NewSolver("cbo", "Some.", core.None{}, func(core.None, *core.Env) (core.Solver, error) { return nil, nil })
	c := NewCatalogue([]core.Component{noise, solver})
	for _, name := range []string{"alpha", "beta"} {
		c.entries = append(c.entries, &Entry{Description: core.Description{Kind: core.KindSolver, Name: name}, plugin: "theirs", executable: &sdk.Executable{}})
	}
	c.entries = append(c.entries, &Entry{Description: core.Description{Kind: core.KindObjective, Name: "sim"}, plugin: "theirs", executable: &sdk.Executable{}})
	return c
}

func TestGet(t *testing.T) {
	c := testCatalogue()
	for _, ok := range []struct {
		kind       core.Kind
		name, want string
	}{
		{core.KindSolver, "cbo", "solver/cbo"},
		{core.KindObjective, "sim", "objective/sim"},
		{core.KindObjective, "theirs", "objective/sim"}, // the plugin's name, as it has one of the kind
	} {
		if e, err := c.Get(ok.kind, ok.name); err != nil || e.ID() != ok.want {
			t.Errorf("%v: %v, %v", ok, e, err)
		}
	}
	for _, bad := range []struct {
		kind       core.Kind
		name, want string
	}{
		{core.KindSolver, "coo", `did you mean "cbo"?`},
		{core.KindSolver, "quiet", "but there is noise/quiet"},
		{core.KindSolver, "theirs", "there are: alpha, beta, cbo"}, // it has two
		{core.KindEstimator, "anything", "there is no estimator"},
	} {
		if _, err := c.Get(bad.kind, bad.name); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func TestParseID(t *testing.T) {
	if kind, name, err := ParseID("solver/cbo"); kind != core.KindSolver || name != "cbo" || err != nil {
		t.Error(kind, name, err)
	}
	for _, bad := range []string{"cbo", "solver/", "solvers/cbo", ""} {
		if _, _, err := ParseID(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
