package gitsync

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestWebhook(t *testing.T) {
	t.Parallel()
	const secret = "webhook-secret"
	sign := func(key, body string) string {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(body))
		return "sha256=" + hex.EncodeToString(mac.Sum(nil))
	}
	push := `{"ref":"refs/heads/main"}`
	large := string(bytes.Repeat([]byte("x"), maxEvent+1))
	for name, tt := range map[string]struct {
		secret, method, body string
		header               map[string]string
		want                 int
		nudged               bool
	}{
		"a push of GitHub's":         {secret, "POST", push, map[string]string{"X-Hub-Signature-256": sign(secret, push), "X-GitHub-Event": "push"}, 202, true},
		"a push to another ref":      {secret, "POST", `{"ref":"refs/heads/x"}`, map[string]string{"X-Hub-Signature-256": sign(secret, `{"ref":"refs/heads/x"}`)}, 202, true},
		"a form":                     {secret, "POST", "payload=%7B%7D", map[string]string{"X-Hub-Signature-256": sign(secret, "payload=%7B%7D")}, 202, true},
		"a push of GitLab's":         {secret, "POST", push, map[string]string{"X-Gitlab-Token": secret, "X-Gitlab-Event": "Push Hook"}, 202, true},
		"a ping":                     {secret, "POST", "{}", map[string]string{"X-Hub-Signature-256": sign(secret, "{}"), "X-GitHub-Event": "ping"}, 204, false},
		"no signature":               {secret, "POST", push, nil, 401, false},
		"another secret":             {secret, "POST", push, map[string]string{"X-Hub-Signature-256": sign("other", push)}, 401, false},
		"another body":               {secret, "POST", push + " ", map[string]string{"X-Hub-Signature-256": sign(secret, push)}, 401, false},
		"the old kind of signature":  {secret, "POST", push, map[string]string{"X-Hub-Signature": "sha1=00"}, 401, false},
		"half a signature":           {secret, "POST", push, map[string]string{"X-Hub-Signature-256": sign(secret, push)[:30]}, 401, false},
		"no hex":                     {secret, "POST", push, map[string]string{"X-Hub-Signature-256": "sha256=zz"}, 401, false},
		"an empty token":             {secret, "POST", push, map[string]string{"X-Gitlab-Token": ""}, 401, false},
		"another token":              {secret, "POST", push, map[string]string{"X-Gitlab-Token": secret + "x"}, 401, false},
		"no secret is set":           {"", "POST", push, map[string]string{"X-Hub-Signature-256": sign("", push), "X-Gitlab-Token": ""}, 401, false},
		"too large, although signed": {secret, "POST", large, map[string]string{"X-Hub-Signature-256": sign(secret, large)}, 413, false},
		"nothing is posted":          {secret, "GET", "", nil, 405, false},
	} {
		nudges := 0
		server := httptest.NewServer(Webhook(tt.secret, func() { nudges++ }))
		q, err := http.NewRequestWithContext(t.Context(), tt.method, server.URL, bytes.NewReader([]byte(tt.body)))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range tt.header {
			q.Header.Set(k, v)
		}
		a, err := server.Client().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		a.Body.Close()
		server.Close()
		if a.StatusCode != tt.want || (nudges == 1) != tt.nudged {
			t.Errorf("%s: answered %d (%s) with %d nudges, want %d", name, a.StatusCode, bytes.TrimSpace(text), nudges, tt.want)
		}
	}
}

func TestNudgesNeverBlock(t *testing.T) {
	t.Parallel()
	s := &Syncer{nudged: make(chan struct{}, 1)}
	for range 1000 {
		s.Nudge()
	}
	if len(s.nudged) != 1 {
		t.Errorf("%d nudges wait", len(s.nudged))
	}
}
