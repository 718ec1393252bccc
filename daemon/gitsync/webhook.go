package gitsync

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/assayd/assayd/daemon/api"
)

// maxEvent bounds a webhook's body, in bytes; GitHub sends no more.
const maxEvent = 25 << 20

// Webhook takes the events of a Git host. One that is signed with the secret, as GitHub and
// Gitea sign (X-Hub-Signature-256), or that carries it, as GitLab's do (X-Gitlab-Token),
// calls nudge and is answered with 202; a ping is only answered. What an event says is not
// read: whether anything is new is asked of the repository itself. Without a secret every
// event is refused.
func Webhook(secret string, nudge func()) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			api.Refuse(w, http.StatusMethodNotAllowed, api.Invalid, "events are posted")
			return
		}
		signed, body := hmac.New(sha256.New, []byte(secret)), http.MaxBytesReader(w, q.Body, maxEvent)
		if _, err := io.Copy(signed, body); err != nil {
			if _, large := errors.AsType[*http.MaxBytesError](err); large {
				api.Refuse(w, http.StatusRequestEntityTooLarge, api.TooLarge, "the event is too large")
				return
			}
			api.Refuse(w, http.StatusBadRequest, api.Invalid, "the event did not arrive whole")
			return
		}
		if secret == "" || !signedBy(q.Header.Get("X-Hub-Signature-256"), signed.Sum(nil)) && !carries(q.Header.Get("X-Gitlab-Token"), secret) {
			api.Refuse(w, http.StatusUnauthorized, api.Unauthorized, "the event is not signed with the secret")
			return
		}
		if q.Header.Get("X-GitHub-Event") == "ping" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		nudge()
		w.WriteHeader(http.StatusAccepted)
	})
}

func signedBy(header string, want []byte) bool {
	text, ok := strings.CutPrefix(header, "sha256=")
	got, err := hex.DecodeString(text)
	return ok && err == nil && hmac.Equal(got, want)
}

// carries compares hashes, so that the time it takes tells nothing, not even a length.
func carries(header, secret string) bool {
	got, want := sha256.Sum256([]byte(header)), sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}
