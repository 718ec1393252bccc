package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// overTest is a client of a judge that answers as it is told.
func overTest(t *testing.T, answer http.HandlerFunc) *Judge {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(answer)
	_ = server.Listener.Close() // another one takes its place
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	d := &Judge{Client: OverSocket(path)}
	t.Cleanup(d.CloseIdleConnections)
	return d
}

func TestASubmissionIsJudged(t *testing.T) {
	d := overTest(t, func(w http.ResponseWriter, q *http.Request) {
		switch {
		case strings.HasSuffix(q.URL.Path, "/submit"):
			_, _ = w.Write([]byte(`{"submission_id":"s1","round_id":"r1"}`))
		case strings.HasSuffix(q.URL.Path, "/result/s1"):
			_, _ = w.Write([]byte(`{"status":"completed","report":{"valid":true}}`))
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	if err := d.Judged(t.Context(), 1); err != nil {
		t.Error(err)
	}
	if d.Opens(t.Context()) {
		t.Error("there is a history")
	}
	if err := d.Refused(t.Context()); err == nil {
		t.Error("what is no archive was accepted, and that is no error")
	}
}

func TestWhatIsNoArchiveIsRefused(t *testing.T) {
	code := http.StatusBadRequest
	d := overTest(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	if err := d.Refused(t.Context()); err != nil {
		t.Error(err)
	}
	code = http.StatusInternalServerError
	if err := d.Refused(t.Context()); err == nil {
		t.Error("a broken judge passes for one that refuses")
	}
}

func TestWaitsHaveABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		if err := Until(t.Context(), "it holds", time.Second, func() (bool, error) { tries++; return tries == 3, nil }); err != nil || tries != 3 {
			t.Errorf("%v after %d tries", err, tries)
		}
		begun := time.Now()
		if err := UntilWithin(t.Context(), time.Minute, "it holds", time.Second, func() (bool, error) { return false, nil }); err == nil {
			t.Error("it never holds, and that is no error")
		}
		if took := time.Since(begun); took < time.Minute || took > 2*time.Minute {
			t.Errorf("it was waited for %v", took)
		}
		failed := errors.New("it cannot")
		if err := Until(t.Context(), "it holds", time.Second, func() (bool, error) { return false, failed }); !errors.Is(err, failed) {
			t.Error(err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Until(ended, "it holds", time.Second, func() (bool, error) { return false, nil }); err == nil {
			t.Error("whoever waits has gone, and that is no error")
		}
	})
}
