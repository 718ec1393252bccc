package web

import (
	"net/http"
	"strings"
	"testing"
)

// Numbers are for who may look; whether the daemon is fit anybody is told, and why not who may look.
func TestMonitoringNeedsTheRightToLook(t *testing.T) {
	f := newFixture(t, 0)
	for _, tt := range []struct {
		name, path string
		headers    []string
		code       int
		text       string
	}{
		{"nobody", "/metrics", nil, 401, "Authorization"},
		{"a wrong token", "/metrics", []string{"Authorization", "Bearer wrong"}, 401, ""},
		{"a viewer", "/metrics", []string{"Authorization", "Bearer " + viewerToken}, 200, "numbers"},
		{"an operator", "/metrics", []string{"Authorization", "Bearer " + operatorToken}, 200, "numbers"},
		{"the whole token", "/metrics", []string{"Authorization", "Bearer " + wholeToken}, 200, "numbers"},
		{"nobody", "/readyz", nil, 200, "details: false"},
		{"a wrong token", "/readyz", []string{"Authorization", "Bearer wrong"}, 200, "details: false"},
		{"a viewer", "/readyz", []string{"Authorization", "Bearer " + viewerToken}, 200, "details: true"},
	} {
		if a, text := f.do(http.MethodGet, tt.path, nil, tt.headers...); a.StatusCode != tt.code || !strings.Contains(text, tt.text) {
			t.Errorf("%s asks for %s: %d %q", tt.name, tt.path, a.StatusCode, text)
		}
	}
	if a, _ := f.do(http.MethodPost, "/metrics", nil, "Authorization", "Bearer "+viewerToken); a.StatusCode == 200 {
		t.Error("numbers are told to who sends some")
	}
	f.login(Viewer)
	if a, text := f.do(http.MethodGet, "/metrics", nil); a.StatusCode != 200 || text != "numbers" {
		t.Errorf("with a session: %d %q", a.StatusCode, text)
	}
}
