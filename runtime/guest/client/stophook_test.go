//go:build linux

package client

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/assayd/assayd/runtime/guest/protocol"
)

// answering is a server on loopback that answers every request with v, or with 503 for nil.
func answering(t *testing.T, v any) (addr string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if v == nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(v)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// What the hook of an agent's program says: its exit code and its words are what the program
// goes by.
func TestTheStopHookTellsWhatTheGuestDecides(t *testing.T) {
	deadline := time.Now().Add(90 * time.Minute).UTC().Format(time.RFC3339)
	for _, tt := range []struct {
		name     string
		guest    any // nil = it does not answer
		left     any // nil = the daemon is away
		deadline string
		code     int
		says     []string
		silent   []string
	}{
		{"time is left", protocol.StopAnswer{Seconds: 3661}, protocol.Left{Seconds: 3661}, deadline, exitBlock, []string{"Do not stop", "1h1m1s", "assay-submit"}, []string{"spend"}},
		{"so is a budget", protocol.StopAnswer{Seconds: 60}, protocol.Left{USD: 1.5, Tokens: 70}, deadline, exitBlock, []string{"1m0s", "1.50 USD and 70 tokens"}, nil},
		{"it may stop", protocol.StopAnswer{Stop: true}, nil, deadline, 0, nil, []string{"stop"}},
		{"nobody answers", nil, nil, deadline, exitBlock, []string{"Do not stop", "1h"}, []string{"spend"}},
		{"nobody answers or knows the time", nil, nil, "", exitBlock, []string{"Do not stop"}, []string{"are left"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := map[string]string{"ASSAYD_DEADLINE": tt.deadline, "ASSAYD_JUDGE_URL": "http://" + answering(t, tt.left)}
			var said bytes.Buffer
			code := stopHook(t.Context(), answering(t, tt.guest), func(name string) string { return env[name] }, strings.NewReader(`{"stop_hook_active":true}`), &said)
			if code != tt.code {
				t.Errorf("it ends with %d, want %d", code, tt.code)
			}
			for _, text := range tt.says {
				if !strings.Contains(said.String(), text) {
					t.Errorf("it does not say %q: %s", text, &said)
				}
			}
			for _, text := range tt.silent {
				if strings.Contains(said.String(), text) {
					t.Errorf("it says %q: %s", text, &said)
				}
			}
		})
	}
}
