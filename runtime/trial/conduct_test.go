package trial

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/assayd/assayd/runtime/agent"
)

// A daemon that was started again has no session that knows what the agent asked for: the
// transcript does.
func TestWhatWasAskedOfModelsSurvivesTheDaemon(t *testing.T) {
	m := New(Host{StateDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}, "t1", "run.r")
	s := State{ID: "t1", Spec: "run.r", Try: 1, StartedAt: began, Cell: Cell{Agent: agent.Agent{Name: "a", Model: "m"}}}
	dir := tryDir(m.host.StateDir, s.ID, s.Try)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	lines := `{"n":1,"request":{"protocol":"messages","model":"dear"}}
{"n":1,"response":{"status":200}}
{"n":2,"request":{"protocol":"messages","model":"m"}}
{"n":2,"response":{"status":400,"denied":"the tool web_search"}}
`
	if err := os.WriteFile(filepath.Join(dir, TranscriptFile), []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	var f Finished
	effects := m.conduct(t.Context(), s, &f)
	if want := []string{"cheat:models", "cheat:web_tools"}; !slices.Equal(f.Flags, want) {
		t.Errorf("flags are %v, want %v", f.Flags, want)
	}
	var details []string
	for _, e := range effects {
		details = append(details, e.Fields.(Happened).Detail)
	}
	want := []string{
		"web_tools (exchange 2): asked the provider for the tool web_search, which was refused",
		"models (exchange 1): asked for the model dear",
	}
	if !slices.Equal(details, want) {
		t.Errorf("records say %q, want %q", details, want)
	}
}
