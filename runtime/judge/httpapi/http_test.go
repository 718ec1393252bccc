package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/assayd/assayd/runtime/judge/judgetest"
	"github.com/assayd/assayd/runtime/judge/round"
	"github.com/assayd/assayd/runtime/task"
)

// part is one part of a form.
type part struct{ name, value string }

// upload makes a request with parts in their order.
func upload(t *testing.T, token string, parts ...part) *http.Request {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for _, p := range parts {
		w, err := form.CreateFormFile(p.name, p.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, p.value); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, submitPath, &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// api answers for a trial whose submissions are accepted as they come.
func api(t *testing.T, session func() (Session, bool), got *string) http.Handler {
	t.Helper()
	return New(Options{
		Trial: "t", Session: session, Ledger: judgetest.NewLedger(), Log: slog.New(slog.DiscardHandler),
		Listen: func(string) (<-chan struct{}, func()) { return nil, func() {} },
		Submit: func(_ context.Context, r round.SubmitRequest) (round.Submission, error) {
			content, err := io.ReadAll(r.Archive)
			*got = string(content)
			return round.Submission{ID: "0123456789abcdef", Trial: "t", Try: 1, Round: "agent-1", Kind: r.Kind}, err
		},
	})
}

func TestAnUploadIsCheckedBeforeAndAfterItsArchive(t *testing.T) {
	open := func() (Session, bool) {
		s := Session{Looks: make(chan struct{}, 1)}
		s.Session = round.Session{Trial: "t", Try: 1, Token: "secret", Task: task.Task{Name: "sums"}}
		return s, true
	}
	for name, tc := range map[string]struct {
		session func() (Session, bool)
		token   string
		parts   []part
		code    int
		says    string
	}{
		"an archive":             {open, "secret", []part{{"archive", "content"}}, 200, `"round_id":"agent-1"`},
		"a token in the form":    {open, "", []part{{"token", "secret"}, {"archive", "content"}}, 200, "agent-1"},
		"no session":             {func() (Session, bool) { return Session{}, false }, "secret", []part{{"archive", "content"}}, 503, "does not know this trial"},
		"another token":          {open, "guess", []part{{"archive", "content"}}, 401, "token"},
		"a wrong token behind":   {open, "secret", []part{{"archive", "content"}, {"token", "guess"}}, 401, "token"},
		"a round of the daemon":  {open, "secret", []part{{"kind", "auto"}, {"archive", "content"}}, 403, "auto"},
		"no archive":             {open, "secret", []part{{"kind", "agent"}}, 400, "no archive"},
		"two archives":           {open, "secret", []part{{"archive", "content"}, {"archive", "more"}}, 400, "two archives"},
		"much beside an archive": {open, "secret", []part{{"note", strings.Repeat("x", MaxFields)}, {"archive", "content"}}, 413, "beside its archive"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			w := httptest.NewRecorder()
			api(t, tc.session, &got).ServeHTTP(w, upload(t, tc.token, tc.parts...))
			if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("%d %s, want %d and %q", w.Code, w.Body, tc.code, tc.says)
			}
			if tc.code == 200 && got != "content" {
				t.Errorf("%q was submitted", got)
			}
			if !json.Valid(w.Body.Bytes()) {
				t.Errorf("the answer is no JSON: %s", w.Body)
			}
		})
	}
}
