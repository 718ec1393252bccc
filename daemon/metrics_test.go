//go:build linux

package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/assayd/assayd/daemon/api"
)

// watched asks what monitoring asks, of the control socket where at is "". That is no part of the API.
func (w *fixture) watched(at, path, token string) (code int, text string, err error) {
	w.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	if at == "" {
		at = "http://assayd"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", api.Socket(w.state))
		}
	}
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, at+path, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	a, err := (&http.Client{Transport: transport}).Do(q)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(a.Body)
	return a.StatusCode, string(body), errors.Join(err, a.Body.Close())
}

// A daemon that has done a run tells of it, on the control socket and to a viewer, and no more than it does to
// anybody else: whether it is fit for work.
func TestADaemonTellsOfItsWork(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	const viewer = "viewer viewer viewer viewer viewer viewer"
	w.write("r.hcl", w.benchmark()+w.run("r", []string{`agent "nop" {}`}))
	w.serve("--config", w.settings(fmt.Sprintf("http {\n  listen = \"127.0.0.1:0\"\n  token = %q\n  viewer_token = %q\n}\n", token, viewer)))
	at := w.listener()
	w.settled("run.r", patience)
	var numbers string
	w.until("the trial is counted", func() error {
		code, text, err := w.watched("", "/metrics", "")
		if err == nil && (code != 200 || !strings.Contains(text, "\nassayd_records_total{type=\"run.finished\"} 1\n")) {
			err = fmt.Errorf("%d: %s", code, text)
		}
		numbers = text
		return err
	})
	for _, want := range []string{
		`assayd_trials_finished_total{reason="agent_exit",status="unresolved"} 1`, `assayd_records_total{type="trial.started"} 1`,
		`assayd_submissions_total{kind="final",status="ok"} 1`, `assayd_judge_command_seconds_count 1`, `assayd_trial_setup_seconds_count{stage="create"} 1`,
		`assayd_runs{state="idle"} 1`, `assayd_spec_files{state="ok"} 1`, `assayd_trials{phase="working"} 0`, `assayd_ready 1`,
		`assayd_engine_up{engine="docker"} 1`, `assayd_engine_errors_total{engine="docker",kind="unavailable"} 0`,
	} {
		if !strings.Contains(numbers, "\n"+want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	for _, no := range []string{w.specs, w.state, `spec="run.r"`} {
		if strings.Contains(numbers, no) {
			t.Errorf("the numbers tell of %s", no)
		}
	}
	for _, tt := range []struct {
		at, path, token string
		code            int
		text            string
	}{
		{at, "/metrics", "", 401, "Authorization"},
		{at, "/metrics", viewer, 200, "assayd_build_info{"},
		{at, "/metrics", token, 200, "assayd_build_info{"},
		{at, "/healthz", "", 200, "ok\n"},
		{at, "/readyz", "", 200, "ok\n"},
		{at, "/readyz", viewer, 200, `{"ok":true}`},
		{"", "/healthz", "", 200, `{"ok":true}`},
		{"", "/readyz", "", 200, `{"ok":true}`},
	} {
		if code, text, err := w.watched(tt.at, tt.path, tt.token); err != nil || code != tt.code || !strings.Contains(text, tt.text) {
			t.Errorf("%s%s: %d, %v: %.300s", tt.at, tt.path, code, err, text)
		}
	}
	if _, text, err := w.watched("", "/metrics", ""); err != nil || !strings.Contains(text, `assayd_http_requests_total{code="401",route="GET /metrics"} 1`) {
		t.Errorf("requests are not counted: %v", err)
	}
	w.terminate()
}
